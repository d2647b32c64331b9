import { realpath, stat } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import type { AttachedFile } from '../agent/attached-file.js';
import type { RecordedRun } from '../agent/recorded-run.js';
import { ConfigError } from '../errors.js';
import { runDetails } from '../parts/run-details.js';

/**
 * The files that a run needs: those given, and of those it was recorded with the others, which must lie beside the
 * recording. Nothing outside that folder is taken, since the recording may be somebody else's and its scripts see the files.
 * @throws {ConfigError} `UNREADABLE_FILE` where one is missing.
 */
export async function filesOfRun(
  run: RecordedRun,
  { path, files }: { path: string; files: readonly AttachedFile[] },
): Promise<AttachedFile[]> {
  const given = new Set(files.map(({ name }) => name));
  const { files: recorded = [] } = runDetails(run.metadata);
  const beside: AttachedFile[] = [];
  for (const { name } of recorded) {
    if (!given.has(name)) beside.push(await fileBeside(path, name, run.id));
  }
  return [...files, ...beside];
}

async function fileBeside(path: string, name: string, id: string): Promise<AttachedFile> {
  try {
    const folder = await realpath(dirname(resolve(path)));
    const file = await realpath(resolve(folder, name));
    const info = await stat(file);
    if (!file.startsWith(folder + sep) || !info.isFile()) throw new Error('it is no file there');
    return { name, path: file, sizeBytes: info.size };
  } catch (cause) {
    throw new ConfigError(
      'UNREADABLE_FILE',
      `The run ${id} needs the file ${name}, which does not lie beside ${path}. Put it there, or name it with --file.`,
      { cause },
    );
  }
}
