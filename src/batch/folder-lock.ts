import { createHash } from 'node:crypto';
import { link, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../errors.js';
import { asideOf } from '../replace-file.js';
import { livenessOf, ownIdentity, ProcessIdentitySchema } from '../sandbox/process-identity.js';
import { batchFiles } from './batch-folder.js';

/**
 * Keeps a second process out of a batch folder until disposed. A lock whose process has gone is taken over; of several that
 * want to, one does, since each must first hold a lock on replacing just that one.
 * @throws {ConfigError} `BATCH_IN_USE`.
 */
export async function lockFolder(folder: string): Promise<AsyncDisposable> {
  const path = join(folder, batchFiles.lock);
  const content = `${JSON.stringify({ ...(await ownIdentity()), token: crypto.randomUUID() })}\n`;
  await acquire(path, content, folder);
  await sweep(folder);
  return {
    async [Symbol.asyncDispose]() {
      if ((await contentOf(path)) === content) await rm(path, { force: true });
    },
  };
}

const STRAY_MS = 60_000;

/** Removes what a killed process had begun to write aside. */
async function sweep(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!/\.[0-9a-f-]{36}\.new$/.test(name)) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    // Others may be about to ask for the lock just now.
    if (found !== undefined && Date.now() - found.mtimeMs > STRAY_MS)
      await rm(path, { force: true });
  }
}

/** @throws {ConfigError} `BATCH_IN_USE`. */
async function acquire(path: string, content: string, folder: string): Promise<void> {
  const aside = asideOf(path);
  await writeFile(aside, content, { flag: 'wx' });
  try {
    while (!(await isLinked(aside, path))) {
      const held = await contentOf(path);
      if (held === undefined) continue;
      await refuseLiving(held, path, folder);
      if (await takeOver(path, held, aside, folder)) return;
    }
  } finally {
    await rm(aside, { force: true });
  }
}

/** A link appears with its whole content, or not at all. */
async function isLinked(aside: string, path: string): Promise<boolean> {
  try {
    await link(aside, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** False where another process was first. */
async function takeOver(
  path: string,
  held: string,
  aside: string,
  folder: string,
): Promise<boolean> {
  const claim = `${path}.${createHash('sha256').update(held).digest('hex').slice(0, 12)}`;
  const own = `${JSON.stringify({ ...(await ownIdentity()), token: crypto.randomUUID() })}\n`;
  await acquire(claim, own, folder);
  try {
    if ((await contentOf(path)) !== held) return false;
    await rename(aside, path);
    return true;
  } finally {
    await rm(claim, { force: true });
  }
}

async function contentOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function refuseLiving(held: string, path: string, folder: string): Promise<void> {
  const owner = ownerOf(held);
  const liveness = owner === undefined ? 'elsewhere' : await livenessOf(owner);
  if (liveness === 'gone') return;
  throw new ConfigError(
    'BATCH_IN_USE',
    liveness === 'running'
      ? `Process ${owner?.pid ?? '?'} works in ${folder}. Wait until it has ended, or end it; then run the same command.`
      : `${folder} is locked by a process on another machine or in another container. Where you know that it has ended, ` +
          `delete ${path} and run the same command.`,
  );
}

function ownerOf(content: string) {
  try {
    return ProcessIdentitySchema.safeParse(JSON.parse(content)).data;
  } catch {
    return undefined;
  }
}
