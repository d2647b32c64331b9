import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Names within a batch folder; people and programs rely on them. */
export const batchFiles = {
  manifest: 'run.json',
  journal: 'results.jsonl',
  transcripts: 'transcripts',
  lock: 'lock',
  /** Where `--force-new` puts what was there. */
  earlier: 'earlier',
} as const;

/** Transcripts stand in one file, in the order of the journal, so that all of them can be replayed at once. */
export const TRANSCRIPT_FILE = `${batchFiles.transcripts}/runs.jsonl`;

/** Writes a file so that the old content or the new one is there, whole and on disk, whatever happens meanwhile. */
export async function replaceFile(folder: string, name: string, content: string): Promise<void> {
  const path = join(folder, name);
  const aside = `${path}.${crypto.randomUUID()}.new`;
  try {
    const file = await open(aside, 'wx');
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
  await syncFolder(folder);
}

/** Puts names on disk, too; some systems cannot, and keep them anyway. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder).catch(() => undefined);
  try {
    await handle?.sync();
  } catch {
    // Windows has no such call.
  } finally {
    await handle?.close();
  }
}
