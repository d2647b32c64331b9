import { open } from 'node:fs/promises';

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
