import { setMaxListeners } from 'node:events';

/**
 * Calls `listener` once when the signal fires; dispose to take it back. Any number may wait for one signal: Node's
 * warning at the eleventh is for listeners that nobody takes back.
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): Disposable {
  if (signal !== undefined) {
    setMaxListeners(0, signal);
    signal.addEventListener('abort', listener, { once: true });
  }
  return {
    [Symbol.dispose]() {
      signal?.removeEventListener('abort', listener);
    },
  };
}

/** Resolves after `ms` milliseconds, or rejects with the signal's reason as soon as it fires; leaves no timer or listener. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  try {
    const pause = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await abortable(pause, signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Settles like `promise`, or rejects with the signal's reason first; the listener is removed either way. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const listener = onAbort(signal, () => {
      reject(signal?.reason as Error);
    });
    if (signal?.aborted) reject(signal.reason as Error);
    void promise.then(resolve, reject).finally(() => {
      listener[Symbol.dispose]();
    });
  });
}

/** Why a signal with a limit fired, so that a run that ran out of time is told apart from a cancelled one. */
export class DeadlineReached extends Error {
  readonly limitMs: number;

  constructor(limitMs: number) {
    super(`The limit of ${limitMs / 1000} s was reached.`);
    this.name = 'DeadlineReached';
    this.limitMs = limitMs;
  }
}

/** A signal that fires with the parent's reason, or with {@link DeadlineReached}; dispose it to free the timer and the listener. */
export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal;
  /** Aborts this signal only, not its parent. */
  abort(reason?: unknown): void;
}

/** The longest delay `setTimeout` takes; larger values fire at once. */
export const MAX_TIMER_MS = 2_147_483_647;

export function linkSignal(parent: AbortSignal | undefined, timeoutMs?: number): LinkedSignal {
  const controller = new AbortController();
  const follow = (): void => {
    controller.abort(parent?.reason);
  };
  if (parent?.aborted) follow();
  const parentListener = onAbort(parent, follow);
  const timer =
    timeoutMs === undefined || timeoutMs > MAX_TIMER_MS
      ? undefined
      : setTimeout(() => {
          controller.abort(new DeadlineReached(timeoutMs));
        }, timeoutMs);
  return {
    signal: controller.signal,
    abort(reason) {
      controller.abort(reason);
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      parentListener[Symbol.dispose]();
    },
  };
}
