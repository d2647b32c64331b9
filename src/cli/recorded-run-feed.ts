import type { RecordedRun } from '../agent/recorded-run.js';
import { readRuns } from '../agent/run-file.js';
import { ConfigError } from '../errors.js';

export interface FeedOptions {
  /** The first runs only; default all. */
  limit: number | undefined;
  signal: AbortSignal;
}

/** Hands out the runs of a file, in order, to several takers; reads no further than they have come. */
export class RecordedRunFeed implements AsyncDisposable {
  readonly #runs: AsyncGenerator<RecordedRun, void, undefined>;
  readonly #limit: number;
  #first: RecordedRun | undefined;
  #taken = 0;

  private constructor(
    runs: AsyncGenerator<RecordedRun, void, undefined>,
    first: RecordedRun,
    limit: number,
  ) {
    this.#runs = runs;
    this.#first = first;
    this.#limit = limit;
  }

  /** @throws {ConfigError} where the file cannot be read, its first line is no run, or there is none. */
  static async open(path: string, { limit, signal }: FeedOptions): Promise<RecordedRunFeed> {
    const runs = readRuns(path, { signal });
    const first = await runs.next();
    if (first.done === true) {
      throw new ConfigError(
        'BAD_RECORDED_RUN',
        `${path} holds no recorded runs. Each line must be {"id", "prompt", "contents", …}.`,
      );
    }
    return new RecordedRunFeed(runs, first.value, limit ?? Infinity);
  }

  /** The next run and its place in the file, from 0; undefined at the end. */
  async take(): Promise<{ index: number; run: RecordedRun } | undefined> {
    const index = this.#taken;
    if (index >= this.#limit) return undefined;
    this.#taken += 1;
    const first = this.#first;
    if (first !== undefined) {
      this.#first = undefined;
      return { index, run: first };
    }
    const next = await this.#runs.next();
    return next.done === true ? undefined : { index, run: next.value };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#runs.return();
  }
}
