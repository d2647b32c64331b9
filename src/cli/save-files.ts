import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join, parse, resolve } from 'node:path';
import type { ResultFile } from '../agent/events.js';
import { ConfigError } from '../errors.js';

/** @throws {ConfigError} where `directory` cannot become a folder; nothing is made yet. */
export async function checkOutDirectory(directory: string): Promise<void> {
  let ancestor = resolve(directory);
  for (;;) {
    const found = await stat(ancestor).catch(() => undefined);
    if (found?.isDirectory()) return;
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
 */
export async function saveFiles(
  files: readonly ResultFile[],
  directory: string,
): Promise<Map<string, string>> {
  const saved = new Map<string, string>();
  for (const file of files) {
    const path = join(resolve(directory), ...safeSegments(file.name));
    await mkdir(dirname(path), { recursive: true });
    saved.set(file.name, await writeNew(path, await file.bytes()));
  }
  return saved;
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
