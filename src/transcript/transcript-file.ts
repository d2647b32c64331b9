import { constants } from 'node:fs';
import { access, stat, writeFile } from 'node:fs/promises';
import { dirname, extname, resolve } from 'node:path';
import { placeFile, placeNumbered } from '../agent/place-file.js';
import { recordedRunLine } from '../agent/recorded-run.js';
import type { RecordedRun } from '../agent/recorded-run.js';
import { ColabSolverError, ConfigError } from '../errors.js';
import { notebookOf } from '../parts/notebook.js';

/** Pages are loaded when one is written: Markdown and highlighting take their time. */
const WRITERS: Readonly<Record<string, (run: RecordedRun) => string | Promise<string>>> = {
  '.ipynb': (run) => `${JSON.stringify(notebookOf(run), undefined, 1)}\n`,
  '.md': async (run) => (await import('./markdown-page.js')).markdownPage(run),
  '.html': async (run) => (await import('./html-page.js')).htmlPage(run),
  '.jsonl': recordedRunLine,
};

export interface TranscriptFileOptions {
  /** Whether a file that is there may be replaced. */
  force: boolean;
}

/**
 * Checks, before anything is run, that a transcript can be saved there; the ending of the name decides its form.
 * @throws {ConfigError} `BAD_OPTION` for an ending unknown to us, a folder that is missing or may not be written to, and
 * a file that is there, unless it may be replaced.
 */
export async function checkTranscriptFile(
  path: string,
  { force }: TranscriptFileOptions,
): Promise<void> {
  if (!(extname(path).toLowerCase() in WRITERS)) {
    throw refusal(
      path,
      `its name ends in none of ${Object.keys(WRITERS).join(', ')}`,
      'Name it so.',
    );
  }
  const folder = dirname(resolve(path));
  const isFolder = (await stat(folder).catch(() => undefined))?.isDirectory() === true;
  if (!isFolder) throw refusal(path, `there is no folder ${folder}`, 'Make it, or name another.');
  await access(folder, constants.W_OK).catch((cause: unknown) => {
    throw refusal(path, `the folder ${folder} may not be written to`, 'Name another.', cause);
  });
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isFile()) throw refusal(path, 'it is no file', 'Name another.');
  if (!force) throw refusal(path, 'it is there already', 'Name another, or add --force.');
}

/**
 * Writes the transcript, whole or not at all, in the form that the ending names. Where a file has appeared that may not
 * be replaced, a number is put to the name (`run-2.ipynb`), so that nothing is lost. Returns the path it has.
 * @throws {ConfigError} `BAD_OPTION` where it cannot be written.
 */
export async function saveTranscript(
  run: RecordedRun,
  path: string,
  { force }: TranscriptFileOptions,
): Promise<string> {
  const write = WRITERS[extname(path).toLowerCase()];
  if (write === undefined)
    throw refusal(path, 'the ending of its name is unknown', 'Name another.');
  const target = resolve(path);
  const place = (free: string): Promise<void> =>
    placeFile(free, async (draft) => writeFile(draft, await write(run), { flag: 'wx' }), { force });
  try {
    return await placeNumbered(target, place, { force });
  } catch (error) {
    const cause = error instanceof ColabSolverError ? (error.cause ?? error) : error;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw refusal(path, reason, 'Make room, or name another.', cause);
  }
}

function refusal(path: string, why: string, remedy: string, cause?: unknown): ConfigError {
  return new ConfigError(
    'BAD_OPTION',
    `The transcript cannot be saved as ${path}: ${why}. ${remedy}`,
    {
      cause,
    },
  );
}
