import { abortable } from '../../abort.js';
import type { RetryPolicy } from '../../retry.js';
import { backOffMs, DEFAULT_RETRY_POLICY, pause } from '../../retry.js';
import { readFailure } from '../failure.js';

export interface RateLimiterOptions {
  /** Length of the pauses; `attempts` does not matter here. Default {@link DEFAULT_RETRY_POLICY}. */
  policy?: RetryPolicy;
  /** Milliseconds of a clock that never goes back; default `performance.now`. */
  now?: () => number;
}

/** Retries that may be made at once; further ones are earned by calls, or come with time. */
const MAX_RETRIES = 20;
const RETRIES_PER_CALL = 0.25;
const RETRIES_PER_MS = 1 / 10_000;

/** By how much the calls after a pause come closer to each other again with every success, until they need no spacing. */
const SPACING_DECAY = 0.7;
const LEAST_SPACING_MS = 5;

/**
 * All calls of this process to one endpoint. A call that is refused for its rate (RESOURCE_EXHAUSTED: it did not run) makes
 * everybody wait; then calls come one after the other, the closer the longer all goes well. Costs nothing until then.
 */
export class RateLimiter {
  readonly #policy: RetryPolicy;
  readonly #now: () => number;
  #opensAtMs = 0;
  #spacingMs = 0;
  #pauses = 0;
  #refusalsInARow = 0;
  #queue: Promise<unknown> = Promise.resolve();
  #queued = 0;
  #retries = MAX_RETRIES;
  #countedAtMs: number;

  constructor({ policy = DEFAULT_RETRY_POLICY, now }: RateLimiterOptions = {}) {
    this.#policy = policy;
    this.#now = now ?? (() => performance.now());
    this.#countedAtMs = this.#now();
  }

  /** Makes the call when its turn has come. Rejects as the call does, or with the signal's reason while waiting. */
  async run<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (!this.#isOpen()) await this.#turn(signal);
    this.#earn(RETRIES_PER_CALL);
    const pausesBefore = this.#pauses;
    try {
      const result = await call();
      if (pausesBefore === this.#pauses) this.#relax();
      return result;
    } catch (error) {
      const { status, retryAfterMs } = readFailure(error);
      if (status === 'RESOURCE_EXHAUSTED') this.#refused(pausesBefore, retryAfterMs);
      throw error;
    }
  }

  /** Takes one from what may be retried; false where retries have become a storm and the failure had better be told. */
  takeRetry(): boolean {
    this.#earn(0);
    if (this.#retries < 1) return false;
    this.#retries -= 1;
    return true;
  }

  #earn(retries: number): void {
    const now = this.#now();
    const withTime = (now - this.#countedAtMs) * RETRIES_PER_MS;
    this.#retries = Math.min(MAX_RETRIES, this.#retries + retries + withTime);
    this.#countedAtMs = now;
  }

  #isOpen(): boolean {
    return this.#spacingMs === 0 && this.#queued === 0 && this.#opensAtMs <= this.#now();
  }

  /** First come, first served; whoever gives up leaves the queue. */
  async #turn(signal: AbortSignal | undefined): Promise<void> {
    this.#queued += 1;
    const turn = this.#queue.then(() => this.#pass(signal));
    this.#queue = turn.catch(() => undefined);
    try {
      await abortable(turn, signal);
    } finally {
      this.#queued -= 1;
    }
  }

  async #pass(signal: AbortSignal | undefined): Promise<void> {
    let reachedMs = this.#now();
    // A refusal that comes in while we wait moves the opening on.
    while (this.#opensAtMs > reachedMs) {
      const opensAtMs = this.#opensAtMs;
      await pause(opensAtMs - reachedMs, this.#policy, signal);
      reachedMs = Math.max(opensAtMs, this.#now());
    }
    signal?.throwIfAborted();
    this.#opensAtMs = reachedMs + this.#spacingMs;
  }

  /** Calls that were under way together and are refused together count once. */
  #refused(pausesBefore: number, serverDelayMs: number | undefined): void {
    // Nobody is made to wait longer than the policy allows; who calls meanwhile hears it from the server.
    if (serverDelayMs !== undefined && serverDelayMs > this.#policy.maxServerDelayMs) return;
    const now = this.#now();
    if (pausesBefore !== this.#pauses) {
      this.#opensAtMs = Math.max(this.#opensAtMs, now + (serverDelayMs ?? 0));
      return;
    }
    const { firstDelayMs, maxDelayMs } = this.#policy;
    this.#pauses += 1;
    this.#refusalsInARow += 1;
    this.#spacingMs = Math.min(maxDelayMs, Math.max(firstDelayMs, 2 * this.#spacingMs));
    this.#opensAtMs = now + backOffMs(this.#refusalsInARow, this.#policy, serverDelayMs);
  }

  #relax(): void {
    this.#refusalsInARow = 0;
    this.#spacingMs *= SPACING_DECAY;
    if (this.#spacingMs < LEAST_SPACING_MS) this.#spacingMs = 0;
  }
}

const limiters = new Map<string, WeakRef<RateLimiter>>();

/** The one limiter of this process for an endpoint; `policy` is that of whoever asks first. */
export function limiterFor(url: URL, policy?: RetryPolicy): RateLimiter {
  const endpoint = url.origin + url.pathname;
  const known = limiters.get(endpoint)?.deref();
  if (known !== undefined) return known;
  for (const [name, limiter] of limiters) if (limiter.deref() === undefined) limiters.delete(name);
  const made = new RateLimiter(policy === undefined ? {} : { policy });
  limiters.set(endpoint, new WeakRef(made));
  return made;
}
