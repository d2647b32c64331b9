import PQueue from 'p-queue';
import { linkSignal, onAbort, sleep } from '../abort.js';
import type { RunEvent } from '../agent/events.js';
import type { BatchEvent, SampleName } from './batch-event.js';
import type { BatchStatus } from './batch-summary.js';
import type { Journal } from './journal.js';
import { Pace } from './pace.js';
import { runSample } from './run-sample.js';
import type { SampleJob, SampleRun, SampleWorkshop } from './run-sample.js';
import type { SampleRecord } from './sample-record.js';
import { countRecord } from './tally.js';
import type { Tally } from './tally.js';

export interface BatchRunOptions {
  workshop: SampleWorkshop;
  journal: Journal;
  /** Counts what is finished; from before, too. */
  tally: Tally;
  /** Runs at once, at most. */
  concurrency: number;
  /** More errors than these end the batch. */
  errorsBorne: number;
  /** US dollars; no further sample begins then. */
  maxCost: number;
  graceMs: number;
  signal: AbortSignal | undefined;
  onEvent: (event: BatchEvent) => void;
}

/** A job that is read when its turn comes. */
export interface LazyJob extends SampleName {
  read(): Promise<SampleJob>;
}

type Stop =
  | { kind: 'fault'; error: unknown }
  | { kind: 'signal' }
  | { kind: Exclude<BatchStatus, 'completed'>; reason: string };

/** Results that wait for the disk hold up further ones beyond this. */
const MAX_BACKLOG_BYTES = 16_000_000;
const REFUSALS: ReadonlySet<string | undefined> = new Set(['RATE_LIMITED', 'OVERLOADED']);

/**
 * Runs jobs, as many at once as the model's service bears, and journals what comes of them. Nothing of a finished sample is
 * kept; of those to come one is read ahead.
 */
export class BatchRun {
  readonly #options: BatchRunOptions;
  readonly #pace: Pace;
  readonly #queue: PQueue;
  readonly #commits = new Set<Promise<void>>();
  readonly #over = new AbortController();
  #stop: Stop | undefined;
  #running = 0;
  /** Jobs that were taken up and are not on disk. */
  #open = 0;

  constructor(options: BatchRunOptions) {
    this.#options = options;
    this.#pace = new Pace({ most: options.concurrency });
    this.#queue = new PQueue({ concurrency: this.#pace.limit });
  }

  /**
   * Resolves when all is on disk that will be.
   * @throws what stops every sample; the signal's reason.
   */
  async run(jobs: Iterable<LazyJob>): Promise<{ status: BatchStatus; reason?: string }> {
    const { signal } = this.#options;
    using _ = onAbort(signal, () => {
      this.#end({ kind: 'signal' });
    });
    if (signal?.aborted) this.#end({ kind: 'signal' });
    this.#checkLimits();
    let isLast = true;
    for (const job of jobs) {
      await this.#queue.onSizeLessThan(1);
      if (this.#stop !== undefined) {
        isLast = false;
        break;
      }
      this.#open += 1;
      // It does not fail: what goes wrong ends the batch.
      void this.#queue.add(() => this.#work(job));
    }
    await this.#queue.onIdle();
    await Promise.all(this.#commits);
    const stop = this.#stop;
    if (stop?.kind === 'fault') throw stop.error;
    // A wish to stop that came too late takes nothing away from a batch that is complete.
    if (stop?.kind === 'signal' && !(isLast && this.#open === 0)) throw signal?.reason;
    if (stop === undefined || stop.kind === 'signal') return { status: 'completed' };
    return { status: stop.kind, reason: stop.reason };
  }

  async #work(lazy: LazyJob): Promise<void> {
    try {
      await this.#hold();
      if (this.#stop !== undefined) return;
      const { id, epoch } = lazy;
      const sample = { id, epoch };
      this.#running += 1;
      try {
        this.#options.onEvent({ type: 'sample-start', sample });
        const run = await this.#runOne(await lazy.read(), sample);
        await this.#commit(run);
      } finally {
        this.#running -= 1;
      }
    } catch (error) {
      // What was cancelled by the end runs again another time.
      if (!this.#over.signal.aborted) this.#end({ kind: 'fault', error });
    }
  }

  async #hold(): Promise<void> {
    while (this.#pace.holdMs > 0 && this.#stop === undefined) {
      await sleep(this.#pace.holdMs, this.#over.signal);
    }
  }

  async #runOne(job: SampleJob, sample: SampleName): Promise<SampleRun> {
    using link = linkSignal(this.#over.signal);
    const refusals = { count: 0 };
    const refused = (delayMs: number): void => {
      refusals.count += 1;
      this.#pace.wasRefused(delayMs);
      this.#setPace();
      const { limit: concurrency, holdMs } = this.#pace;
      this.#options.onEvent({ type: 'slow-down', concurrency, holdMs });
    };
    const onEvent = (event: RunEvent): void => {
      if (event.type === 'retry' && REFUSALS.has(event.code)) refused(event.delayMs);
      this.#options.onEvent({ type: 'sample-event', sample, event });
    };
    const run = await runSample(job, this.#options.workshop, { signal: link.signal, onEvent });
    if (REFUSALS.has(run.record.error?.code)) refused(0);
    if (refusals.count === 0) {
      this.#pace.wentWell(this.#running);
      this.#setPace();
    }
    return run;
  }

  #setPace(): void {
    this.#queue.concurrency = this.#pace.limit;
  }

  /** The next run need not wait for the disk, unless the disk falls behind. */
  async #commit({ record, transcript }: SampleRun): Promise<void> {
    const { journal } = this.#options;
    const commit = journal
      .append(record, transcript)
      .then((placed) => {
        this.#count(placed);
      })
      .catch((error: unknown) => {
        this.#end({ kind: 'fault', error });
      })
      .finally(() => this.#commits.delete(commit));
    this.#commits.add(commit);
    if (journal.backlogBytes > MAX_BACKLOG_BYTES) await commit;
  }

  #count(record: SampleRecord): void {
    const { tally, onEvent } = this.#options;
    this.#open -= 1;
    countRecord(tally, record);
    onEvent({ type: 'sample-end', record, tally });
    this.#checkLimits();
  }

  #checkLimits(): void {
    const { tally, errorsBorne, maxCost, workshop } = this.#options;
    if (tally.errors > errorsBorne) {
      const reason = `${tally.errors} samples failed, which is more than --fail-on-error allows.`;
      this.#end({ kind: 'error-limit', reason });
    }
    const cost = workshop.costOf(tally.usage) ?? 0;
    if (cost >= maxCost) {
      const reason = `The samples cost $${cost.toFixed(2)} so far; --max-cost is $${maxCost}.`;
      this.#end({ kind: 'cost-limit', reason });
    }
  }

  /** A graver reason takes the place of a lesser one. */
  #end(stop: Stop): void {
    if (this.#stop !== undefined && gravity(this.#stop) >= gravity(stop)) return;
    this.#stop = stop;
    if (stop.kind !== 'fault' && stop.kind !== 'signal') return;
    const { graceMs, onEvent, signal } = this.#options;
    const reason: unknown = stop.kind === 'fault' ? stop.error : signal?.reason;
    onEvent({ type: 'stopping', running: this.#running, graceMs });
    if (graceMs === 0) {
      this.#over.abort(reason);
      return;
    }
    const timer = setTimeout(() => {
      this.#over.abort(reason);
    }, graceMs);
    void this.#queue.onIdle().then(() => {
      clearTimeout(timer);
    });
  }
}

function gravity({ kind }: Stop): number {
  if (kind === 'fault') return 3;
  return kind === 'signal' ? 2 : 1;
}
