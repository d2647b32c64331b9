import { constants } from 'node:fs';
import { access, mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join, parse, resolve } from 'node:path';
import type { ResultFile } from '../agent/events.js';
import { ConfigError } from '../errors.js';

/** @throws {ConfigError} where `directory` cannot become a folder; nothing is made yet. */
export async function checkOutDirectory(directory: string): Promise<void> {
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

/**
 * Saves a run's files under `directory`, never over a file that is there (`chart-2.png`) and never outside.
 * Returns the absolute paths by file name.
 * @throws {ConfigError} where the folder cannot be written to.
 */
export async function saveFiles(
  files: readonly ResultFile[],
  directory: string,
): Promise<Map<string, string>> {
  const saved = new Map<string, string>();
  for (const file of files) {
    const path = join(resolve(directory), ...safeSegments(file.name));
    const bytes = await file.bytes();
    try {
      await mkdir(dirname(path), { recursive: true });
      saved.set(file.name, await writeNew(path, bytes));
    } catch (error) {
      throw cannotSave(path, error);
    }
  }
  return saved;
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

async function writeNew(path: string, bytes: Uint8Array): Promise<string> {
  const { dir, name, ext } = parse(path);
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? path : join(dir, `${name}-${number}${ext}`);
    try {
      await writeFile(candidate, bytes, { flag: 'wx' });
      return candidate;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
