import { expect, it } from 'vitest';
import { streamed } from '../../src/agent/streamed.js';

const live = (): AbortSignal => new AbortController().signal;

async function drain<Item, Result>(
  events: AsyncGenerator<Item, Result>,
): Promise<{ items: Item[]; result: Result }> {
  const items: Item[] = [];
  for (;;) {
    const next = await events.next();
    if (next.done === true) return { items, result: next.value };
    items.push(next.value);
  }
}

it('what is reported comes in order and before the result', async () => {
  const work = streamed<number, string>(async (emit) => {
    emit(1);
    emit(2);
    await Promise.resolve();
    emit(3);
    return 'done';
  }, live());
  expect(await drain(work)).toEqual({ items: [1, 2, 3], result: 'done' });
});

it('what was reported before a failure is not lost', async () => {
  const seen: number[] = [];
  const work = streamed<number, never>((emit) => {
    emit(1);
    return Promise.reject(new Error('broken'));
  }, live());
  await expect(
    (async () => {
      for await (const item of work) seen.push(item);
    })(),
  ).rejects.toThrow('broken');
  expect(seen).toEqual([1]);
});

it('a consumer that leaves early aborts the work and waits for its end', async () => {
  let ended = false;
  const work = streamed<number, string>(
    (emit, signal) =>
      new Promise((resolve) => {
        emit(1);
        signal.addEventListener('abort', () => {
          setImmediate(() => {
            ended = true;
            resolve('stopped');
          });
        });
      }),
    live(),
  );
  for await (const item of work) {
    expect(item).toBe(1);
    break;
  }
  expect(ended).toBe(true);
});

it('work that ended is not aborted afterwards', async () => {
  let aborted = false;
  const work = streamed<number, string>((_, signal) => {
    signal.addEventListener('abort', () => {
      aborted = true;
    });
    return Promise.resolve('done');
  }, live());
  await drain(work);
  expect(aborted).toBe(false);
});
