import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BufferedExecution } from '../../../src/sandbox/local/buffered-execution.js';
import { defer } from '../../../src/sandbox/local/deferred.js';
import type { Kernel, KernelReply, OutputListener } from '../../../src/sandbox/local/runtime.js';

/** How a call follows an execution in time; the clock stands still unless a test moves it. */
beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const never = new AbortController().signal;
const reply: KernelReply = { status: 'ok', value: '', executionCount: 1 };

/** An execution under way, with the kernel's hand on it. */
function running(bytes = 1_000): {
  execution: BufferedExecution;
  print: (text: string) => void | Promise<void>;
  end: () => void;
} {
  const execution = new BufferedExecution({
    code: '',
    id: '',
    outputCaps: { bytes, lines: 1_000 },
  });
  let listener: OutputListener = () => undefined;
  const done = defer<KernelReply>();
  const kernel: Kernel = {
    execute(_code, onOutput) {
      listener = onOutput;
      return done.promise;
    },
    interrupt: () => Promise.resolve(),
  };
  void execution.run(kernel);
  return {
    execution,
    print: (text) => listener({ stream: 'stdout', text }),
    end: () => {
      done.resolve(reply);
    },
  };
}

describe('a follower', () => {
  it('gets output that comes after silence at once', async () => {
    const { execution, print } = running();
    using follower = execution.follow();
    const output = follower.output(never);
    const first = output.next();
    await vi.advanceTimersByTimeAsync(1_000);
    void print('a');
    expect(await first).toMatchObject({ value: { text: 'a' } });
  });

  it('gets output that comes in quick succession together', async () => {
    const { execution, print } = running();
    using follower = execution.follow();
    const output = follower.output(never);
    void print('a');
    await output.next();
    const second = output.next();
    void print('b');
    await vi.advanceTimersByTimeAsync(2);
    void print('c');
    await vi.advanceTimersByTimeAsync(5);
    expect(await second).toMatchObject({ value: { text: 'bc' } });
  });

  it('does not wait for more once the execution has ended', async () => {
    const { execution, print, end } = running();
    using follower = execution.follow();
    const output = follower.output(never);
    void print('a');
    await output.next();
    const second = output.next();
    void print('b');
    end();
    expect(await second).toMatchObject({ value: { text: 'b' } });
    expect(await output.next()).toMatchObject({ done: true });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('stops with the reason of its signal and leaves nothing behind', async () => {
    const { execution, print } = running();
    const abort = new AbortController();
    {
      using follower = execution.follow();
      const output = follower.output(abort.signal);
      void print('a');
      await output.next();
      const second = output.next();
      void print('b');
      const reason = new Error('enough');
      abort.abort(reason);
      await expect(second).rejects.toBe(reason);
    }
    expect(execution.isFollowed).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('that reads too slowly holds the kernel back until it has caught up', async () => {
    const { execution, print } = running();
    using follower = execution.follow();
    const output = follower.output(never);
    void print('a');
    await output.next();
    const held = print('x'.repeat(900));
    expect(held).toBeInstanceOf(Promise);
    const read = output.next();
    await vi.advanceTimersByTimeAsync(5);
    await read;
    await held;
    expect(vi.getTimerCount()).toBe(0);
  });

  it('that has left holds nobody back', async () => {
    const { execution, print } = running();
    const follower = execution.follow();
    const output = follower.output(never);
    void print('a');
    await output.next();
    const held = print('x'.repeat(900));
    follower[Symbol.dispose]();
    await held;
    expect(print('x'.repeat(900))).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('that takes nothing at all is waited for only so long, and once', async () => {
    const { execution, print } = running();
    using follower = execution.follow();
    const output = follower.output(never);
    void print('a');
    await output.next();
    const held = print('x'.repeat(900));
    await vi.advanceTimersByTimeAsync(10_000);
    await held;
    expect(print('y'.repeat(900))).toBeUndefined();
  });
});
