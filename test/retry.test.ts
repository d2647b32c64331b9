import { describe, expect, test } from 'vitest';
import { ModelError } from '../src/errors.js';
import { DEFAULT_RETRY_POLICY, delayAfter, retry } from '../src/retry.js';
import type { PauseBeforeRetry, RetryPolicy } from '../src/retry.js';

const passing = new ModelError('OVERLOADED', 'Busy.', { isRetryable: true });
const lasting = new ModelError('API_KEY_INVALID', 'Bad key.');

function asking(retryAfterMs: number): ModelError {
  return new ModelError('RATE_LIMITED', 'Slow down.', { isRetryable: true, retryAfterMs });
}

function watched(overrides: Partial<RetryPolicy> = {}) {
  const pauses: number[] = [];
  const policy: RetryPolicy = {
    ...DEFAULT_RETRY_POLICY,
    random: () => 0.5,
    sleep: (ms) => {
      pauses.push(ms);
      return Promise.resolve();
    },
    ...overrides,
  };
  return { policy, pauses };
}

/** Fails with the errors in turn, then gives its number. */
function failing(...errors: Error[]) {
  return (attempt: number): Promise<number> => {
    const error = errors[attempt - 1];
    return error === undefined ? Promise.resolve(attempt) : Promise.reject(error);
  };
}

describe('retry', () => {
  test('goes on until it works, and says so before each pause', async () => {
    const { policy, pauses } = watched();
    const told: PauseBeforeRetry[] = [];
    const onRetry = (pause: PauseBeforeRetry): void => void told.push(pause);
    expect(await retry(failing(passing, asking(3_000)), { policy, onRetry })).toBe(3);
    expect(pauses).toEqual([500, 3_500]);
    expect(told.map(({ attempt, delayMs }) => [attempt, delayMs])).toEqual([
      [2, 500],
      [3, 3_500],
    ]);
  });

  test('throws the last error when the tries are used up', async () => {
    const { policy, pauses } = watched({ attempts: 2 });
    const last = asking(1);
    await expect(retry(failing(passing, last), { policy })).rejects.toBe(last);
    expect(pauses).toHaveLength(1);
  });

  test('never repeats what does not say that it may pass', async () => {
    const { policy, pauses } = watched();
    await expect(retry(failing(lasting), { policy })).rejects.toBe(lasting);
    const foreign = new Error('ECONNRESET');
    await expect(retry(failing(foreign), { policy })).rejects.toBe(foreign);
    expect(pauses).toEqual([]);
  });

  test('lets the caller decide what may pass', async () => {
    const { policy } = watched();
    const isRetryable = (error: unknown): boolean => error instanceof TypeError;
    expect(await retry(failing(new TypeError()), { policy, isRetryable })).toBe(2);
    await expect(retry(failing(passing), { policy, isRetryable })).rejects.toBe(passing);
  });

  test('cancelled in a pause: ends at once with the reason, without a further try', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const policy = {
      ...DEFAULT_RETRY_POLICY,
      random: () => 1,
      firstDelayMs: 100_000,
      maxDelayMs: 100_000,
    };
    let tries = 0;
    const operation = (): Promise<never> => {
      tries += 1;
      return Promise.reject(passing);
    };
    const onRetry = (): void => {
      queueMicrotask(() => {
        controller.abort(reason);
      });
    };
    const { signal } = controller;
    await expect(retry(operation, { policy, signal, onRetry })).rejects.toBe(reason);
    expect(tries).toBe(1);
  });

  test('cancelled while it runs: the reason, not what the operation failed with', async () => {
    const controller = new AbortController();
    const operation = (): Promise<never> => {
      controller.abort('enough');
      return Promise.reject(passing);
    };
    await expect(retry(operation, { signal: controller.signal })).rejects.toBe('enough');
  });
});

describe('pauses', () => {
  test('double up to the limit, with full jitter', () => {
    const { policy } = watched({ attempts: 20, firstDelayMs: 1_000, maxDelayMs: 30_000 });
    const delays = (random: number): unknown[] =>
      [1, 2, 3, 5, 6, 19].map((attempt) =>
        delayAfter(passing, attempt, { ...policy, random: () => random }),
      );
    expect(delays(1)).toEqual([1_000, 2_000, 4_000, 16_000, 30_000, 30_000]);
    expect(delays(0)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test("never undercut a server's delay, however small the jitter", () => {
    const { policy } = watched({ random: () => 0 });
    expect(delayAfter(asking(36_430), 1, policy)).toBe(36_430);
  });

  test('there is none after the last try, nor where the server wants more than anybody would wait', () => {
    const { policy } = watched({ attempts: 3, maxServerDelayMs: 600_000 });
    expect(delayAfter(passing, 3, policy)).toBeUndefined();
    expect(delayAfter(asking(600_000), 1, policy)).toBe(600_500);
    expect(delayAfter(asking(600_001), 1, policy)).toBeUndefined();
  });
});
