import { constants } from 'node:fs';
import { access, mkdir, realpath, stat, statfs } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import type { ResultFile } from '../agent/events.js';
import { placeNumbered } from '../agent/place-file.js';
import { ColabSolverError, ConfigError, SandboxError } from '../errors.js';

/** @throws {ConfigError} where `directory` cannot become a folder; nothing is made yet. */
export async function checkOutDirectory(directory: string): Promise<void> {
  if (directory.trim() === '') {
    throw new ConfigError(
      'BAD_OPTION',
      '--out-dir names no folder. Write a path, or . for this one.',
    );
  }
  let ancestor = resolve(directory);
  for (;;) {
    const found = await stat(ancestor).catch(() => undefined);
    if (found?.isDirectory() === true) {
      await access(ancestor, constants.W_OK).catch((error: unknown) => {
        throw cannotSave(directory, error);
      });
      return;
    }
    if (found !== undefined || dirname(ancestor) === ancestor) {
      throw new ConfigError(
        'BAD_OPTION',
        `--out-dir ${directory} cannot be a folder: ${ancestor} is a file. Name another folder.`,
      );
    }
    ancestor = dirname(ancestor);
  }
}

export interface SaveOptions {
  /** Replaces files that are there; else a new one gets a number (`chart-2.png`). */
  force?: boolean;
  signal?: AbortSignal;
  /** Filled with the absolute paths by file name, also where one fails. */
  saved?: Map<string, string>;
}

/**
 * Saves a run's files under `directory`, never outside, each when it is whole. One that cannot be saved keeps no other from it.
 * Returns the absolute paths by file name.
 * @throws the first failure, when all have been tried.
 */
export async function saveFiles(
  files: readonly ResultFile[],
  directory: string,
  { force = false, signal, saved = new Map() }: SaveOptions = {},
): Promise<Map<string, string>> {
  const failures: unknown[] = [];
  for (const file of files) {
    try {
      const segments = safeSegments(file.name);
      const folder = await makeFolder(directory, segments.slice(0, -1));
      await requireRoom(folder, file);
      const path = join(folder, segments.at(-1) ?? '');
      const options = { force, ...(signal && { signal }) };
      const place = (free: string): Promise<void> => file.saveTo(free, options);
      saved.set(file.name, await placeNumbered(path, place, options));
    } catch (error) {
      signal?.throwIfAborted();
      failures.push(error instanceof ColabSolverError ? error : cannotSave(directory, error));
    }
  }
  if (failures.length > 0) throw failures[0];
  return saved;
}

/** A link below the directory may lead out of it. */
async function makeFolder(directory: string, segments: readonly string[]): Promise<string> {
  let folder = resolve(directory);
  await mkdir(folder, { recursive: true });
  const inside = `${await realpath(folder)}${sep}`;
  for (const segment of segments) {
    folder = join(folder, segment);
    await mkdir(folder).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
    if (!(await realpath(folder)).startsWith(inside)) {
      throw new ConfigError(
        'BAD_OPTION',
        `${folder} leads out of ${directory}, so nothing is saved there. Name another folder with --out-dir.`,
      );
    }
  }
  return folder;
}

/** A script can make a file larger than any disk in no time. */
async function requireRoom(folder: string, { name, sizeBytes }: ResultFile): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (sizeBytes <= bavail * bsize) return;
  throw new SandboxError(
    'DISK_FULL',
    `No space for ${name} (${sizeBytes} bytes) in ${folder}. Make room, or name another folder with --out-dir.`,
  );
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

function cannotSave(path: string, cause: unknown): ConfigError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ConfigError(
    'BAD_OPTION',
    `Cannot save files in ${path}: ${reason}. Name another folder with --out-dir.`,
    { cause },
  );
}

/** Names come from the place where scripts ran, so they are not trusted. */
function safeSegments(name: string): string[] {
  const segments = name
    .split('/')
    .map((segment) => segment.replace(/[\u0000-\u001F\u007F\\]/g, '_'))
    .filter((segment) => !['', '.', '..'].includes(segment));
  return segments.length === 0 ? ['unnamed'] : segments;
}
