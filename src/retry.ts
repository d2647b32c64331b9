import { sleep } from './abort.js';
import { ColabSolverError } from './errors.js';

export interface RetryPolicy {
  /** Tries in all, the first included. */
  attempts: number;
  /** Upper bound of the pause before the second try; it doubles with every further one. */
  firstDelayMs: number;
  /** Where that doubling ends. */
  maxDelayMs: number;
  /** The longest pause a server may ask for; when it wants more we give up at once, so that nobody waits unawares. */
  maxServerDelayMs: number;
  /** Uniform in [0, 1); default `Math.random`. */
  random?: () => number;
  /** Default {@link sleep}; a test can look at the pauses without taking them. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  attempts: 6,
  firstDelayMs: 1_000,
  maxDelayMs: 30_000,
  maxServerDelayMs: 600_000,
};

export interface PauseBeforeRetry {
  error: unknown;
  /** Number of the try that comes after the pause: 2 for the first repetition. */
  attempt: number;
  delayMs: number;
}

export interface RetryOptions {
  policy?: RetryPolicy;
  signal?: AbortSignal | undefined;
  /** Which failures may pass; default those of our errors that say so. Asked only where a try is left. */
  isRetryable?: (error: unknown) => boolean;
  /** Called before every pause. */
  onRetry?: (pause: PauseBeforeRetry) => void;
}

/**
 * Calls `operation` until it succeeds, fails for good or the tries are used up; then its last error is thrown.
 * An aborted signal ends it with the signal's reason, in a pause too.
 */
export async function retry<T>(
  operation: (attempt: number) => Promise<T>,
  options: RetryOptions = {},
): Promise<T> {
  const { policy = DEFAULT_RETRY_POLICY, signal, isRetryable = saysRetryable, onRetry } = options;
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    try {
      return await operation(attempt);
    } catch (error) {
      signal?.throwIfAborted();
      const delayMs = delayAfter(error, attempt, policy);
      if (delayMs === undefined || !isRetryable(error)) throw error;
      onRetry?.({ error, attempt: attempt + 1, delayMs });
      await pause(delayMs, policy, signal);
    }
  }
}

/**
 * The pause after try number `attempt` failed with `error`, or undefined where there is no further try.
 * Full jitter keeps many clients from coming back together; a server's own delay is never undercut.
 */
export function delayAfter(
  error: unknown,
  attempt: number,
  policy: RetryPolicy,
): number | undefined {
  if (attempt >= policy.attempts) return undefined;
  const serverDelayMs = error instanceof ColabSolverError ? error.retryAfterMs : undefined;
  if (serverDelayMs !== undefined && serverDelayMs > policy.maxServerDelayMs) return undefined;
  return backOffMs(attempt, policy, serverDelayMs);
}

/** The pause after the failure number `failures` in a row, whatever the policy says of attempts. */
export function backOffMs(failures: number, policy: RetryPolicy, serverDelayMs?: number): number {
  const { firstDelayMs, maxDelayMs, random = Math.random } = policy;
  if (serverDelayMs !== undefined) return Math.round(serverDelayMs + random() * firstDelayMs);
  return Math.round(random() * Math.min(maxDelayMs, firstDelayMs * 2 ** (failures - 1)));
}

/** Waits as the policy says, or rejects with the signal's reason at once. */
export function pause(ms: number, policy: RetryPolicy, signal?: AbortSignal): Promise<void> {
  return (policy.sleep ?? sleep)(ms, signal);
}

/** True for errors of ours that may pass without anybody acting. */
export function saysRetryable(error: unknown): boolean {
  return error instanceof ColabSolverError && error.isRetryable;
}
