import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { abortable, DeadlineReached, linkSignal, onAbort, sleep } from '../src/abort.js';

const never = (): Promise<never> => new Promise<never>(() => undefined);

function listenersOf(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length;
}

describe('what waits under a signal', () => {
  it.each([
    ['a pause', (signal: AbortSignal) => sleep(60_000, signal)],
    ['a promise', (signal: AbortSignal) => abortable(never(), signal)],
  ])('%s is left at once with the reason untouched, and no listener stays', async (_, wait) => {
    const controller = new AbortController();
    const reason = { own: 'reason' };
    const waiting = wait(controller.signal);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(listenersOf(controller.signal)).toBe(0);
  });

  it.each([
    ['a pause', (signal: AbortSignal) => sleep(60_000, signal)],
    ['a promise', (signal: AbortSignal) => abortable(never(), signal)],
  ])('%s is refused by a signal that fired before', async (_, wait) => {
    await expect(wait(AbortSignal.abort('before'))).rejects.toBe('before');
  });

  it('leaves no listener when it ends by itself', async () => {
    const { signal } = new AbortController();
    await sleep(1, signal);
    await abortable(Promise.resolve(1), signal);
    await abortable(Promise.reject(new Error('own')), signal).catch(() => undefined);
    expect(listenersOf(signal)).toBe(0);
  });

  it('in great number brings no warning of Node', async () => {
    const warnings: Error[] = [];
    const keep = (warning: Error): void => {
      warnings.push(warning);
    };
    process.on('warning', keep);
    const { signal } = new AbortController();
    const listeners = Array.from({ length: 50 }, () => onAbort(signal, () => undefined));
    // Warnings are emitted on the next turn.
    await new Promise(setImmediate);
    process.off('warning', keep);
    for (const listener of listeners) listener[Symbol.dispose]();
    expect(warnings).toEqual([]);
    expect(listenersOf(signal)).toBe(0);
  });
});

describe('a linked signal', () => {
  it('fires with the reason of its parent, before or after it was made', () => {
    const parent = new AbortController();
    using early = linkSignal(parent.signal);
    parent.abort('why');
    using late = linkSignal(parent.signal);
    expect(early.signal.reason).toBe('why');
    expect(late.signal.reason).toBe('why');
  });

  it('says when it was its limit that fired', async () => {
    using link = linkSignal(undefined, 5);
    await expect(abortable(never(), link.signal)).rejects.toEqual(new DeadlineReached(5));
  });

  it('with a limit beyond what a timer can hold does not fire at once', async () => {
    using link = linkSignal(undefined, 2 ** 40);
    await new Promise(setImmediate);
    expect(link.signal.aborted).toBe(false);
  });

  it('leaves its parent alone, and no listener there', () => {
    const parent = new AbortController();
    {
      using link = linkSignal(parent.signal, 60_000);
      link.abort('own');
      expect(link.signal.reason).toBe('own');
    }
    expect(parent.signal.aborted).toBe(false);
    expect(listenersOf(parent.signal)).toBe(0);
  });
});
