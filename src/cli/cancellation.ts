/** The user asked to stop; the reason of the run's signal. */
export class Cancelled extends Error {
  constructor(why: string) {
    super(`Cancelled (${why}).`);
    this.name = 'Cancelled';
  }
}

/** Standard output takes no more: nobody reads it, as in `| head`, or there is no space. */
export class OutputClosed extends Error {
  constructor() {
    super('Standard output was closed.');
    this.name = 'OutputClosed';
  }
}

/** Ctrl-C for a part of the work: while somebody takes it, it ends nothing else. */
export interface Interrupts {
  take(onInterrupt: () => void): Disposable;
}

export interface Cancellation extends Disposable {
  readonly interrupts: Interrupts;
  readonly signal: AbortSignal;
  abort(reason: Error): void;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** `npm start` delivers one Ctrl-C twice; a person needs longer for a second one. */
const REPEAT_MS = 500;

/** The first signal aborts, save for a Ctrl-C that somebody takes; one that comes more than half a second after the last calls `onInsist`. */
export function cancelOnSignals({ onInsist }: { onInsist: () => void }): Cancellation {
  const controller = new AbortController();
  const takers: (() => void)[] = [];
  let lastAt = -Infinity;
  const onSignal = (name: NodeJS.Signals): void => {
    const now = performance.now();
    const isRepeat = now - lastAt < REPEAT_MS;
    lastAt = now;
    if (isRepeat) return;
    const taker = name === 'SIGINT' ? takers.at(-1) : undefined;
    if (taker !== undefined && !controller.signal.aborted) taker();
    else if (controller.signal.aborted) onInsist();
    else controller.abort(new Cancelled(name));
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  return {
    signal: controller.signal,
    interrupts: {
      take(onInterrupt) {
        takers.push(onInterrupt);
        return {
          [Symbol.dispose]() {
            takers.splice(takers.indexOf(onInterrupt), 1);
          },
        };
      },
    },
    abort(reason) {
      controller.abort(reason);
    },
    [Symbol.dispose]() {
      for (const name of SIGNALS) process.off(name, onSignal);
    },
  };
}
