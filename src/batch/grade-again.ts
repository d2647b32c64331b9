import { link, mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../errors.js';
import { asideOf } from '../replace-file.js';
import { batchFiles, syncFolder } from './batch-folder.js';
import { accuracyOf } from './batch-summary.js';
import type { Accuracy } from './batch-summary.js';
import { lockFolder } from './folder-lock.js';
import type { Graded, Grading } from './grading.js';
import { readResults, readTranscript } from './journal-reading.js';
import { readManifest } from './run-manifest.js';
import type { Manifest } from './run-manifest.js';
import { errorOf, stopsAll } from './run-sample.js';
import { readSample } from './sample.js';
import type { Sample } from './sample.js';
import { recordLine } from './sample-record.js';
import type { SampleRecord } from './sample-record.js';
import { countRecord, emptyTally } from './tally.js';
import type { Tally } from './tally.js';

export interface GradeAgainOptions {
  grading: Grading;
  /** Whether graders or their options are not those of the batch, which then has to be complete. */
  isOther: boolean;
  signal: AbortSignal;
  onRecord?: ((record: SampleRecord, tally: Readonly<Tally>) => void) | undefined;
}

export interface GradeAgainSummary extends Tally {
  out: string;
  model: string;
  /** Sample-epochs of the batch; more than `finished` where it is not complete. */
  total: number;
  /** Verdicts that are not what they were. */
  changed: number;
  /** Where the old verdicts are. */
  kept: string;
  accuracy: Accuracy | null;
}

/** Answers that are graded at once; their order stays. */
const AT_ONCE = 16;

/**
 * Grades the answers of a batch folder again; nothing that was run is run again. The new verdicts take the place of the old
 * ones in one go when all are there, and the old ones are kept beside.
 * @throws {ConfigError} where the folder holds no batch, is in use, or an answer cannot be graded so.
 */
export async function gradeAgain(
  folder: string,
  options: GradeAgainOptions,
): Promise<GradeAgainSummary> {
  const manifest = await manifestOf(folder);
  await using _ = await lockFolder(folder);
  const aside = asideOf(join(folder, batchFiles.journal));
  try {
    const { tally, changed } = await writeVerdicts(folder, aside, manifest, options);
    const kept = await replaceJournal(folder, aside);
    const { model, total } = manifest;
    const accuracy = accuracyOf(tally);
    return { out: folder, model, total, ...tally, changed, kept, accuracy };
  } finally {
    await rm(aside, { force: true });
  }
}

async function manifestOf(folder: string): Promise<Manifest> {
  const manifest = await readManifest(folder);
  if (manifest !== undefined) return manifest;
  throw new ConfigError(
    'UNREADABLE_FILE',
    `${folder} holds no batch: there is no ${batchFiles.manifest}. Name the folder given to batch with --out.`,
  );
}

async function writeVerdicts(
  folder: string,
  aside: string,
  { total }: Manifest,
  options: GradeAgainOptions,
): Promise<{ tally: Tally; changed: number }> {
  const tally = emptyTally();
  let changed = 0;
  const file = await open(aside, 'wx');
  try {
    for await (const group of inGroups(readResults(folder, options), AT_ONCE)) {
      const records = await Promise.all(group.map((record) => regraded(folder, record, options)));
      for (const [index, record] of records.entries()) {
        if (record.correct !== group[index]?.correct) changed += 1;
        countRecord(tally, record);
        options.onRecord?.(record, tally);
      }
      await file.appendFile(records.map(recordLine).join(''));
    }
    await file.sync();
  } finally {
    await file.close();
  }
  if (options.isOther && tally.finished < total) {
    throw new ConfigError(
      'BATCH_DIFFERS',
      `${folder} has ${tally.finished} of ${total} results. Complete the batch before another grader judges it, or part of it would be judged by either.`,
    );
  }
  return { tally, changed };
}

async function regraded(
  folder: string,
  record: SampleRecord,
  { grading, signal }: GradeAgainOptions,
): Promise<SampleRecord> {
  signal.throwIfAborted();
  // A run that failed, or ended without an answer, is what it is.
  const hasAnswer = record.status === 'answered' || record.error?.during === 'grading';
  if (!hasAnswer) return record;
  const run = await readTranscript(folder, record);
  const reading = readSample(run, { names: {}, place: 0, isText: false });
  const text = run['text'];
  if (!('sample' in reading) || typeof text !== 'string') {
    throw new ConfigError(
      'BAD_JOURNAL',
      `The transcript of "${record.id}" in ${folder} holds no answer, so it cannot be graded.`,
    );
  }
  requireGradable(reading.sample, grading, folder);
  const { error: _, gradingUsage: _usage, ...rest } = record;
  try {
    const { usage, ...graded }: Graded = await grading.grade(reading.sample, text, { signal });
    return {
      ...rest,
      ...graded,
      status: 'answered',
      ...(usage !== undefined && { gradingUsage: usage }),
    };
  } catch (error) {
    signal.throwIfAborted();
    if (stopsAll(error)) throw error;
    const failure = errorOf(error, 'grading');
    const nothing = { answer: null, correct: null, grader: null };
    return { ...rest, ...nothing, status: 'error', explanation: failure.message, error: failure };
  }
}

function requireGradable(sample: Sample, grading: Grading, folder: string): void {
  const fault = grading.check(sample);
  if (fault === undefined) return;
  throw new ConfigError(
    'BAD_DATASET',
    `Sample "${sample.id}" of ${folder} cannot be graded so: ${fault.field} ${fault.problem}. The verdicts are as they were.`,
  );
}

/** The old verdicts get a second name before the first one goes over to the new ones. */
async function replaceJournal(folder: string, aside: string): Promise<string> {
  const stamp = new Date().toISOString().replaceAll(':', '-');
  const kept = join(folder, batchFiles.earlier, `results-${stamp}.jsonl`);
  await mkdir(join(folder, batchFiles.earlier), { recursive: true });
  await link(join(folder, batchFiles.journal), kept);
  await rename(aside, join(folder, batchFiles.journal));
  await syncFolder(folder);
  return kept;
}

async function* inGroups<Item>(items: AsyncIterable<Item>, size: number): AsyncGenerator<Item[]> {
  let group: Item[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
