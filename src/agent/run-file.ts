import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { ConfigError } from '../errors.js';
import { transcriptOfNotebook } from '../parts/notebook-reading.js';
import { readRecordedRuns } from './recorded-run.js';
import type { RecordedRun } from './recorded-run.js';

export function isNotebook(path: string): boolean {
  return path.toLowerCase().endsWith('.ipynb');
}

/**
 * The runs of a file: of recorded runs (JSONL) one at a time, so that memory does not grow with it; of a notebook
 * (`.ipynb`), written by us or by hand, the one it holds, whose id is the file's name.
 * @throws {ConfigError} `UNREADABLE_FILE`, `BAD_RECORDED_RUN`; the signal's reason when cancelled.
 */
export async function* readRuns(
  path: string,
  options: { signal?: AbortSignal } = {},
): AsyncGenerator<RecordedRun, void, undefined> {
  if (isNotebook(path)) yield await notebookRun(path, options.signal);
  else yield* readRecordedRuns(path, options);
}

async function notebookRun(path: string, signal: AbortSignal | undefined): Promise<RecordedRun> {
  const text = await readFile(path, { encoding: 'utf8', signal }).catch((cause: unknown) => {
    signal?.throwIfAborted();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigError(
      'UNREADABLE_FILE',
      `Cannot read ${path}: ${reason}. Check the path and its permissions.`,
      { cause },
    );
  });
  try {
    const { prompt, contents, metadata } = transcriptOfNotebook(JSON.parse(text));
    return { id: basename(path), prompt, contents: [...contents], metadata: { ...metadata } };
  } catch (cause) {
    throw new ConfigError(
      'BAD_RECORDED_RUN',
      `${path} is no notebook of nbformat 4. Give one that Jupyter or Colab opens, or recorded runs as .jsonl.`,
      { cause },
    );
  }
}
