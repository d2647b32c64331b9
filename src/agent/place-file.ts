import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, link, lstat, rename, rm } from 'node:fs/promises';
import { dirname, join, parse, resolve } from 'node:path';
import { ColabSolverError, ConfigError, SandboxError } from '../errors.js';

export interface PlaceOptions {
  /** Replaces a file that is there. Default false. */
  force?: boolean;
}

/**
 * Has `write` make the file `target`, which appears when it is whole: a full disk, or our end, leaves no part of it there.
 * @throws {ConfigError} `FILE_EXISTS`, `BAD_OPTION` where it cannot be written; {@link SandboxError} `DISK_FULL`.
 */
export async function placeFile(
  target: string,
  write: (unfinished: string) => Promise<void>,
  { force = false }: PlaceOptions = {},
): Promise<void> {
  const whole = resolve(target);
  const unfinished = join(dirname(whole), `.${randomUUID()}.part`);
  try {
    await write(unfinished);
    if (force) await rename(unfinished, whole);
    else await appear(unfinished, whole);
  } catch (error) {
    throw error instanceof ColabSolverError ? error : cannotWrite(target, error);
  } finally {
    await rm(unfinished, { force: true });
  }
}

/**
 * Has `place` put a file at `target` or, where one is there that may not be replaced, under the next name that is free
 * (`run-2.ipynb`). Returns the path it has.
 */
export async function placeNumbered(
  target: string,
  place: (path: string) => Promise<void>,
  { force = false }: PlaceOptions = {},
): Promise<string> {
  const { dir, name, ext } = parse(target);
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? target : join(dir, `${name}-${number}${ext}`);
    const isFree = force || (await lstat(candidate).catch(() => undefined)) === undefined;
    if (!isFree) continue;
    try {
      await place(candidate);
      return candidate;
    } catch (error) {
      if (!(error instanceof ConfigError) || error.code !== 'FILE_EXISTS') throw error;
    }
  }
}

/** Two that ask for the same name at the same time do not both get it. */
async function appear(unfinished: string, whole: string): Promise<void> {
  try {
    await link(unfinished, whole);
  } catch (error) {
    if (!WITHOUT_LINKS.has(codeOf(error))) throw error;
    await copyFile(unfinished, whole, constants.COPYFILE_EXCL);
  }
}

/** What a file system says that knows no second name for a file. */
const WITHOUT_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

function cannotWrite(target: string, cause: unknown): Error {
  const detail = cause instanceof Error ? cause.message : String(cause);
  switch (codeOf(cause)) {
    case 'EEXIST':
      return new ConfigError(
        'FILE_EXISTS',
        `${target} is there already and was left alone. Name another file, or allow it to be replaced.`,
        { cause },
      );
    case 'ENOSPC':
    case 'EDQUOT':
      return new SandboxError(
        'DISK_FULL',
        `No space left for ${target}. Make room and try again.`,
        { cause },
      );
    default:
      return new ConfigError(
        'BAD_OPTION',
        `Cannot write ${target}: ${detail}. Name a place you may write to.`,
        { cause },
      );
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error ? String((error as NodeJS.ErrnoException).code) : '';
}
