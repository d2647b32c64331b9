/** Throws the signal's own reason, untouched, when it has fired. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  signal?.throwIfAborted();
}

/** Resolves after `ms` milliseconds, or rejects with the signal's reason as soon as it fires; leaves no timer or listener. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Settles like `promise`, or rejects with the signal's reason first; the listener is removed either way. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise<T>((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      promise.catch(() => undefined);
      return;
    }
    const onAbort = (): void => {
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', onAbort);
    });
  });
}

/** Why a {@link Deadline} fired, so that a run that ran out of time is told apart from a cancelled one. */
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
  const onParentAbort = (): void => {
    controller.abort(parent?.reason);
  };
  if (parent?.aborted) onParentAbort();
  else parent?.addEventListener('abort', onParentAbort, { once: true });
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
      parent?.removeEventListener('abort', onParentAbort);
    },
  };
}
