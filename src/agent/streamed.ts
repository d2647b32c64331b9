import { linkSignal } from '../abort.js';

/**
 * Turns work that reports by callback into a generator of what it reports, ending with what it returns.
 * A consumer that stops early aborts the work and waits until it has ended.
 */
export async function* streamed<Item, Result>(
  start: (emit: (item: Item) => void, signal: AbortSignal) => Promise<Result>,
  signal: AbortSignal,
): AsyncGenerator<Item, Result, undefined> {
  using link = linkSignal(signal);
  let items: Item[] = [];
  let wake: () => void = () => undefined;
  const state = { settled: false };
  const work = start((item) => {
    items.push(item);
    wake();
  }, link.signal);
  const ended = work
    .then(
      () => undefined,
      () => undefined,
    )
    .then(() => {
      state.settled = true;
      wake();
    });
  try {
    for (;;) {
      const batch = items;
      items = [];
      yield* batch;
      if (items.length > 0) continue;
      if (state.settled) return await work;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    if (!state.settled) link.abort(new Error('Nobody waits for this work any more.'));
    await ended;
  }
}
