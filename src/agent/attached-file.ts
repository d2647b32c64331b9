import { access, constants, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { ConfigError } from '../errors.js';

/** A file of the caller's that scripts find in the working directory. */
export interface AttachedFile {
  /** Its name in the working directory. */
  name: string;
  /** On this machine. */
  path: string;
  sizeBytes: number;
}

/** @throws {ConfigError} for a path that is no readable file, or two different files of one name. */
export async function attachFiles(paths: readonly string[]): Promise<AttachedFile[]> {
  const files = new Map<string, AttachedFile>();
  for (const path of paths) {
    const file = await attach(path);
    const twin = files.get(file.name);
    if (twin !== undefined && twin.path !== file.path) {
      throw new ConfigError(
        'UNREADABLE_FILE',
        `Two files are named ${file.name}: ${twin.path} and ${file.path}. Rename one of them.`,
      );
    }
    files.set(file.name, file);
  }
  return [...files.values()];
}

async function attach(path: string): Promise<AttachedFile> {
  try {
    const info = await stat(path);
    if (!info.isFile()) throw new Error('it is not a regular file');
    await access(path, constants.R_OK);
    return { name: basename(path), path: resolve(path), sizeBytes: info.size };
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigError(
      'UNREADABLE_FILE',
      `Cannot read the file ${path}: ${detail}. Check the path and its permissions.`,
      { cause },
    );
  }
}
