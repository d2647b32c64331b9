import { mkdir, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ConfigError } from '../errors.js';
import { packageVersion } from '../package-version.js';
import { replaceFile } from '../replace-file.js';
import { batchFiles, syncFolder } from './batch-folder.js';

/** What a batch was asked: everything that its results depend on. Stands in `run.json`. */
export const ManifestSchema = z.looseObject({
  /** Of this file and the journal. */
  format: z.literal(1),
  createdAt: z.string(),
  /** Of what began it. */
  versions: z.record(z.string(), z.string()),
  /** Where the data set was. */
  dataset: z.string(),
  /** Sample-epochs in all. */
  total: z.int().nonnegative(),
  model: z.string(),
  seed: z.number().nullable(),
  /** What must be the same to go on, by names that people know. */
  asked: z.record(z.string(), z.unknown()),
});

export type Manifest = z.infer<typeof ManifestSchema>;

/** What runs here. */
export function productVersions(): Record<string, string> {
  return { 'colab-solver': packageVersion(), node: process.versions.node };
}

/** @throws {ConfigError} `BAD_JOURNAL` where it cannot be read; undefined where there is none. */
export async function readManifest(folder: string): Promise<Manifest | undefined> {
  const path = join(folder, batchFiles.manifest);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unreadable(path, error);
  }
  try {
    return ManifestSchema.parse(JSON.parse(text));
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** Notes what is asked in a new folder. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const path = join(folder, batchFiles.manifest);
  await replaceFile(path, `${JSON.stringify(manifest, undefined, 2)}\n`);
  await syncFolder(folder);
}

/** @throws {ConfigError} `BATCH_DIFFERS` naming each thing that is not as it was. */
export function requireSame(folder: string, before: Manifest, now: Manifest): void {
  const names = new Set([...Object.keys(before.asked), ...Object.keys(now.asked)]);
  const differences = [...names].flatMap((name) => {
    const [was, is] = [before.asked[name], now.asked[name]].map((value) => JSON.stringify(value));
    if (was === is) return [];
    if (name === 'dataset')
      return [`the data set ${now.dataset}, or a file that it attaches, has changed`];
    return [`${name} was ${was ?? 'not given'} and is ${is ?? 'not given'}`];
  });
  if (differences.length === 0) return;
  throw new ConfigError(
    'BATCH_DIFFERS',
    `${folder} was begun otherwise: ${differences.join('; ')}. Take it back, name another folder, or give --force-new, ` +
      `which puts what is there into ${batchFiles.earlier}/.`,
  );
}

/** The report comes with the results; the manifest goes last, so that what is half-way is still refused as begun. */
const MOVED = [
  batchFiles.journal,
  batchFiles.transcripts,
  'report.md',
  'report.html',
  batchFiles.manifest,
] as const;

/** Puts an earlier batch aside within the folder; nothing is deleted. Returns where, or undefined where nothing was there. */
export async function putAside(folder: string): Promise<string | undefined> {
  const stamp = new Date().toISOString().replaceAll(':', '-');
  const aside = join(folder, batchFiles.earlier, stamp);
  let hasMoved = false;
  for (const name of MOVED) {
    if ((await stat(join(folder, name)).catch(() => undefined)) === undefined) continue;
    await mkdir(aside, { recursive: true });
    await rename(join(folder, name), join(aside, name));
    hasMoved = true;
  }
  await syncFolder(folder);
  return hasMoved ? aside : undefined;
}

/** @throws {ConfigError} where results are there, but not what was asked. */
export async function refuseOrphans(folder: string): Promise<void> {
  const found = await stat(join(folder, batchFiles.journal)).catch(() => undefined);
  if (found === undefined) return;
  throw new ConfigError(
    'BAD_JOURNAL',
    `${folder} holds ${batchFiles.journal} but no ${batchFiles.manifest}, so nobody knows what it belongs to. Name another ` +
      'folder, or give --force-new.',
  );
}

function unreadable(path: string, cause: unknown): ConfigError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ConfigError(
    'BAD_JOURNAL',
    `${path} cannot be read: ${reason}. Put a copy back, name another folder, or give --force-new.`,
    { cause },
  );
}
