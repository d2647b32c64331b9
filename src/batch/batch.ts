import { mkdir } from 'node:fs/promises';
import { attachFiles } from '../agent/attached-file.js';
import type { SessionLease } from '../agent/session-source.js';
import type { Model } from '../agent/model.js';
import { ConfigError } from '../errors.js';
import { batchFiles } from './batch-folder.js';
import { checkBatchOptions, errorsBorne } from './batch-options.js';
import type { BatchOptions } from './batch-options.js';
import { BatchRun } from './batch-run.js';
import type { LazyJob } from './batch-run.js';
import { accuracyOf } from './batch-summary.js';
import type { BatchSummary } from './batch-summary.js';
import { digestsOf, openDataset } from './dataset.js';
import type { Dataset } from './dataset.js';
import { lockFolder } from './folder-lock.js';
import { createGrading } from './grading.js';
import { Journal } from './journal.js';
import { judgeBy } from './model-judge.js';
import {
  productVersions,
  putAside,
  readManifest,
  refuseOrphans,
  requireSame,
  writeManifest,
} from './run-manifest.js';
import type { Manifest } from './run-manifest.js';
import type { SampleLimits, SampleWorkshop } from './run-sample.js';
import type { SampleInput } from './sample.js';
import { selectSamples } from './selection.js';
import { countRecord, emptyTally } from './tally.js';

/** What a batch is run with; a solver gives it. */
export interface BatchWorkshop extends Pick<SampleWorkshop, 'stream' | 'costOf'> {
  model: Model;
  lease: (signal: AbortSignal) => Promise<SessionLease>;
  /** Runs that compute at once. */
  maxSessions: number;
  /** Settings of the solver on which results depend, for the manifest. */
  settings: Readonly<Record<string, unknown>>;
}

/**
 * Runs the samples of a data set and grades their answers. The same call goes on with a batch that was begun.
 * @throws {ConfigError} `BAD_DATASET`, `BATCH_DIFFERS`, `BATCH_IN_USE`, `BAD_JOURNAL`, `BAD_OPTION` before anything runs;
 * {@link ModelError} {@link SandboxError} {@link BatchError} for what would fail every sample; the signal's reason.
 */
export async function runBatch(
  source: string | readonly SampleInput[],
  options: BatchOptions,
  workshop: BatchWorkshop,
): Promise<BatchSummary> {
  const startedAt = performance.now();
  checkBatchOptions(options);
  requirePrice(options, workshop);
  const { out, epochs = 1, signal, onEvent = () => undefined } = options;
  const grading = createGrading({
    custom: options.graders,
    grader: options.grader,
    graderOptions: options.graderOptions,
    lease: workshop.lease,
    judge: judgeBy(workshop.model),
  });
  const files = await attachFiles(options.files ?? []);
  const dataset = await openDataset(source, {
    names: options.fields ?? {},
    check: grading.check,
    signal,
  });
  const places = selectSamples(dataset.ids, options);
  const total = places.length * epochs;
  await makeFolder(out);
  await using _ = await lockFolder(out);
  const onNotice = (text: string): void => {
    onEvent({ type: 'notice', text });
  };
  const manifest = manifestOf(dataset, total, options, workshop);
  if (files.length > 0) manifest.asked['files'] = await digestsOf(files);
  await begin(manifest, options, onNotice);

  const tally = emptyTally();
  const done = new DoneSet(dataset.ids, epochs, out);
  await using journal = await Journal.open(out, {
    onNotice,
    onRecord: (record) => {
      done.add(record.id, record.epoch);
      countRecord(tally, record);
    },
  });
  const resumed = tally.finished;
  onEvent({ type: 'batch-start', total, tally });
  const run = new BatchRun({
    workshop: { ...workshop, grading },
    journal,
    tally,
    concurrency: options.concurrency ?? workshop.maxSessions,
    errorsBorne: errorsBorne(options.failOnError, total),
    maxCost: options.maxCost ?? Infinity,
    graceMs: options.graceMs ?? DEFAULT_GRACE_MS,
    signal,
    onEvent,
  });
  const ending = await run.run(
    jobsOf(dataset, places, {
      epochs,
      done,
      files: files.map(({ path }) => path),
      limits: limitsOf(options),
    }),
  );
  return {
    ...ending,
    out,
    model: workshop.model.id,
    total,
    resumed,
    ...tally,
    accuracy: accuracyOf(tally),
    cost: workshop.costOf(tally.usage) ?? null,
    durationMs: Math.round(performance.now() - startedAt),
  };
}

const DEFAULT_GRACE_MS = 10_000;
const DEFAULT_RETRIES = 1;

/** A limit in money that nobody can watch must not look as if it held. */
function requirePrice(options: BatchOptions, { costOf, model }: BatchWorkshop): void {
  const isLimited = options.maxCost !== undefined || options.maxSampleCost !== undefined;
  if (!isLimited || costOf(NO_USAGE) !== undefined) return;
  throw new ConfigError(
    'BAD_OPTION',
    `The price of ${model.id} is not known, so a limit in dollars cannot hold. Limit tokens or samples instead.`,
  );
}

const NO_USAGE = emptyTally().usage;

async function makeFolder(out: string): Promise<void> {
  try {
    await mkdir(out, { recursive: true });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigError(
      'BAD_OPTION',
      `${out} cannot be the folder of a batch: ${reason}. Name another folder.`,
      { cause },
    );
  }
}

/** Notes what is asked, or makes sure that a batch which is there was asked the same. */
async function begin(
  manifest: Manifest,
  { out, forceNew = false }: BatchOptions,
  onNotice: (text: string) => void,
): Promise<void> {
  if (forceNew) {
    const aside = await putAside(out);
    if (aside !== undefined) onNotice(`What was in ${out} is now in ${aside}.`);
  }
  const before = await readManifest(out);
  if (before !== undefined) {
    requireSame(out, before, manifest);
    return;
  }
  await refuseOrphans(out);
  await writeManifest(out, manifest);
}

function manifestOf(
  dataset: Dataset,
  total: number,
  options: BatchOptions,
  { model, settings }: BatchWorkshop,
): Manifest {
  const { fields, limit, sampleIds, shuffle = false, seed = 0, epochs = 1 } = options;
  const { grader, graderOptions, graders, maxSteps, timeoutMs } = options;
  const { maxSampleTokens, maxSampleCost } = options;
  const asked = {
    dataset: dataset.digest,
    model: model.id,
    ...settings,
    ...(maxSteps !== undefined && { maxSteps }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...{ fields, limit, sampleIds, shuffle, epochs, maxSampleTokens, maxSampleCost },
    ...(shuffle && { seed }),
    ...{ grader, graderOptions, graders: graders?.map(({ name }) => name) },
  };
  return {
    format: 1,
    createdAt: new Date().toISOString(),
    versions: productVersions(),
    dataset: dataset.name,
    total,
    model: model.id,
    seed: shuffle ? seed : null,
    // As it will be read again: without what was not given.
    asked: JSON.parse(JSON.stringify(asked)) as Record<string, unknown>,
  };
}

function limitsOf(options: BatchOptions): SampleLimits {
  const { maxSteps, timeoutMs, maxSampleTokens, maxSampleCost } = options;
  return {
    ...(maxSteps !== undefined && { maxSteps }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(maxSampleTokens !== undefined && { maxTokens: maxSampleTokens }),
    ...(maxSampleCost !== undefined && { maxCost: maxSampleCost }),
    retries: options.retries ?? DEFAULT_RETRIES,
  };
}

interface JobOptions {
  epochs: number;
  done: DoneSet;
  /** For every sample. */
  files: readonly string[];
  limits: SampleLimits;
}

/** All samples once, then all of them again, so that what is there early is of the whole data set. */
function* jobsOf(
  dataset: Dataset,
  places: readonly number[],
  { epochs, done, files, limits }: JobOptions,
): Generator<LazyJob, void, undefined> {
  for (let epoch = 1; epoch <= epochs; epoch += 1) {
    for (const place of places) {
      if (done.hasPlace(place, epoch)) continue;
      yield {
        id: dataset.ids[place] ?? '',
        epoch,
        read: async () => {
          const sample = await dataset.read(place);
          const all = [...files, ...(sample.files ?? [])];
          return { sample: all.length === 0 ? sample : { ...sample, files: all }, epoch, limits };
        },
      };
    }
  }
}

/** Which sample-epochs are finished; a byte each. */
class DoneSet {
  readonly #places: ReadonlyMap<string, number>;
  readonly #epochs: number;
  readonly #out: string;
  readonly #done: Uint8Array;

  constructor(ids: readonly string[], epochs: number, out: string) {
    this.#places = new Map(ids.map((id, place) => [id, place]));
    this.#epochs = epochs;
    this.#out = out;
    this.#done = new Uint8Array(ids.length * epochs);
  }

  /** @throws {ConfigError} `BAD_JOURNAL` for what is no part of the batch, or was there before. */
  add(id: string, epoch: number): void {
    const place = this.#places.get(id);
    const isPart = place !== undefined && epoch <= this.#epochs;
    if (isPart && !this.hasPlace(place, epoch)) {
      this.#done[place * this.#epochs + epoch - 1] = 1;
      return;
    }
    throw new ConfigError(
      'BAD_JOURNAL',
      `${batchFiles.journal} in ${this.#out} holds sample "${id}", epoch ${epoch}, ${isPart ? 'twice' : 'which is no part of this batch'}. ` +
        'Delete that line, or begin anew with --force-new.',
    );
  }

  hasPlace(place: number, epoch: number): boolean {
    return this.#done[place * this.#epochs + epoch - 1] === 1;
  }
}
