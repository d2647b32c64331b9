import { SandboxError } from '../../errors.js';
import type { Entry } from './file-channel.js';

/** Each takes a request; a link that leads back, or a mounted drive, has no end. */
const MAX_FOLDERS = 200;
const MAX_FILES = 10_000;

export interface FoundFile {
  /** Names of the folders on the way, then its own. */
  path: string[];
  entry: Entry;
}

interface Folder {
  path: string[];
  /** What the folders around it hold; one that holds the same is a link to that one. */
  around: ReadonlySet<string>;
}

/**
 * The files below the root, those of the nearest folders first, up to 10,000 in 200 folders. Hidden ones, what cannot
 * be read and what a link back to a folder around it shows again are left out.
 */
export async function walkFolders(
  list: (path: string[]) => Promise<Entry[]>,
): Promise<FoundFile[]> {
  const files: FoundFile[] = [];
  const folders: Folder[] = [{ path: [], around: new Set() }];
  for (const { path, around } of folders) {
    const entries = await readable(list(path), path);
    const content = contentOf(entries);
    if (around.has(content)) continue;
    for (const entry of entries.filter(isWanted)) {
      const found = { path: [...path, entry.name], entry };
      if (entry.type !== 'directory') files.push(found);
      else if (folders.length < MAX_FOLDERS)
        folders.push({ path: found.path, around: new Set([...around, content]) });
    }
    if (files.length >= MAX_FILES) break;
  }
  return files.slice(0, MAX_FILES);
}

/** A script may have taken a folder's rights or the folder itself away; only at the root is that a failure. */
async function readable(listing: Promise<Entry[]>, path: string[]): Promise<Entry[]> {
  try {
    return await listing;
  } catch (error) {
    const isOfFolder = error instanceof SandboxError && UNREADABLE.has(error.code);
    if (path.length > 0 && isOfFolder) return [];
    throw error;
  }
}

const UNREADABLE: ReadonlySet<string> = new Set(['UNKNOWN', 'NOT_FOUND', 'INVALID_ARGUMENT']);

/** Half a character cannot be part of a URL. */
function isWanted({ name }: Entry): boolean {
  return !name.startsWith('.') && !/\p{Surrogate}/u.test(name);
}

function contentOf(entries: Entry[]): string {
  return JSON.stringify(
    entries
      .map(({ name, type, size, last_modified }) => [name, type, size, last_modified])
      .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)),
  );
}
