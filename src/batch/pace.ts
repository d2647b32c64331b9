export interface PaceOptions {
  /** Runs at once, at most. */
  most: number;
  /** Milliseconds that only grow; default `performance.now`. */
  now?: () => number;
}

/** Runs at once in the beginning; the model's limits are not known yet. */
const START = 4;
/** A burst of refusals counts as one for this long. */
const MIN_HOLD_MS = 1_000;

/**
 * How many runs may go on at once. It grows by one for each run that ended well, until the model's service asks for a slower
 * pace; then it halves, nothing starts for as long as the service says, and growth is careful from there.
 */
export class Pace {
  readonly #most: number;
  readonly #now: () => number;
  #limit: number;
  #isCareful = false;
  #heldUntil = -Infinity;

  constructor({ most, now = () => performance.now() }: PaceOptions) {
    this.#most = most;
    this.#now = now;
    this.#limit = Math.min(START, most);
  }

  /** A whole number from 1 on. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Milliseconds until the next run may start; 0 for now. */
  get holdMs(): number {
    return Math.max(0, this.#heldUntil - this.#now());
  }

  /** A run ended without a refusal, while `running` went on, itself included. */
  wentWell(running: number): void {
    // Where the limit is not reached, nothing shows that more would be borne.
    if (running < this.limit) return;
    const step = this.#isCareful ? 1 / this.#limit : 1;
    this.#limit = Math.min(this.#most, this.#limit + step);
  }

  /** The service asked for a slower pace. */
  wasRefused(delayMs: number): void {
    const isSameBurst = this.holdMs > 0;
    const until = this.#now() + Math.max(MIN_HOLD_MS, delayMs);
    this.#heldUntil = Math.max(this.#heldUntil, until);
    if (isSameBurst) return;
    this.#isCareful = true;
    this.#limit = Math.max(1, this.limit / 2);
  }
}
