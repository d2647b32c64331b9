import { open, rename, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

/** Ends the name of every file that is not whole yet; an old one was left by a process that was killed. */
export const ASIDE = '.new';

/** A name beside the path for a file that is not whole yet. */
export function asideOf(path: string): string {
  return `${path}.${crypto.randomUUID()}${ASIDE}`;
}

/** Writes a file so that the old content or the new one is there, whole and on disk, whatever happens meanwhile. */
export async function replaceFile(
  path: string,
  content: string | ((file: FileHandle) => Promise<void>),
  mode?: number,
): Promise<void> {
  const aside = asideOf(path);
  try {
    const file = await open(aside, 'wx', mode);
    try {
      if (typeof content === 'string') await file.writeFile(content);
      else await content(file);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
}
