import { describe, expect, it } from 'vitest';
import { abortable } from '../../../src/abort.js';
import { fixedToken } from '../../../src/sandbox/colab/sign-in.js';
import { McpConnection } from '../../../src/sandbox/colab/mcp-connection.js';
import { limiterFor, RateLimiter } from '../../../src/sandbox/colab/rate-limiter.js';
import { ToolRefusal } from '../../../src/sandbox/failure.js';
import { ScriptedColab } from '../../support/scripted-colab.js';
import { connect, LONG_MS, ok, quickly } from './connected.js';

/** A clock that stands still but for the sleeps of whoever waits, which end when it has been moved on that far. */
class Clock {
  nowMs = 0;
  #sleepers: { untilMs: number; wake: () => void; signal: AbortSignal | undefined }[] = [];

  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    abortable(
      new Promise((wake) => {
        this.#sleepers.push({ untilMs: this.nowMs + ms, wake, signal });
      }),
      signal,
    );

  /** Moves on to `toMs`, waking everybody on the way at their own time. */
  async moveTo(toMs: number): Promise<void> {
    for (;;) {
      await settled();
      const next = this.#sleepers
        .filter(({ signal }) => signal?.aborted !== true)
        .sort((a, b) => a.untilMs - b.untilMs)[0];
      if (next === undefined || next.untilMs > toMs) break;
      this.#sleepers = this.#sleepers.filter((sleeper) => sleeper !== next);
      this.nowMs = next.untilMs;
      next.wake();
    }
    this.nowMs = toMs;
    await settled();
  }
}

/** Lets everything run that waits for nothing but its turn. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** How a server says that a call comes too soon. */
function refusal(retryDelay?: string): ToolRefusal {
  const details = retryDelay === undefined ? [] : [{ retryDelay }];
  return new ToolRefusal('slow', { structuredContent: { code: 8, message: 'slow', details } });
}

const policy = { attempts: 9, firstDelayMs: 1_000, maxDelayMs: 30_000, maxServerDelayMs: 600_000 };

function limited(random = 1) {
  const clock = new Clock();
  const limiter = new RateLimiter({
    policy: { ...policy, random: () => random, sleep: clock.sleep },
    now: () => clock.nowMs,
  });
  const startedAtMs: number[] = [];
  const call = (outcome: 'ok' | 'refused' | Promise<void> = 'ok', retryDelay?: string) =>
    limiter.run(async () => {
      startedAtMs.push(clock.nowMs);
      if (outcome !== 'refused') {
        await outcome;
        return;
      }
      throw refusal(retryDelay);
    });
  const refused = async (retryDelay?: string): Promise<void> => {
    await expect(call('refused', retryDelay)).rejects.toThrow('slow');
  };
  return { clock, limiter, startedAtMs, call, refused };
}

describe('while all goes well', () => {
  it('no call waits, however many there are', async () => {
    const { call, startedAtMs } = limited();
    const calls = Array.from({ length: 1_000 }, () => call());
    expect(startedAtMs).toHaveLength(1_000);
    await Promise.all(calls);
  });
});

describe('a refusal for the rate', () => {
  it('makes the calls of everybody wait, and lets them follow one by one, ever faster', async () => {
    const { clock, call, refused, startedAtMs } = limited();
    await refused();
    const calls = Array.from({ length: 40 }, () => call());
    await clock.moveTo(999);
    expect(startedAtMs).toEqual([0]);
    await clock.moveTo(1_000);
    expect(startedAtMs).toEqual([0, 1_000]);
    await clock.moveTo(20_000);
    await Promise.all(calls);
    const gaps = startedAtMs.slice(2).map((at, index) => at - (startedAtMs[index + 1] ?? 0));
    expect(gaps[0]).toBeGreaterThan(500);
    expect(gaps.every((gap, index) => gap <= (gaps[index - 1] ?? Infinity))).toBe(true);
    expect(gaps.at(-1)).toBe(0);
    expect(startedAtMs.at(-1)).toBeLessThan(6_000);
  });

  it('waits as long as the server asks', async () => {
    const { clock, call, refused, startedAtMs } = limited(0);
    await refused('7.5s');
    const next = call();
    await clock.moveTo(7_499);
    expect(startedAtMs).toEqual([0]);
    await clock.moveTo(7_500);
    await next;
    expect(startedAtMs).toEqual([0, 7_500]);
  });

  it.each([
    [1, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]],
    [0.25, [250, 500, 1_000, 2_000, 4_000, 7_500, 7_500]],
  ])('after a refusal makes the pauses grow, with full jitter (%d)', async (random, expected) => {
    const { clock, refused, startedAtMs } = limited(random);
    for (let time = 0; time <= expected.length; time++) {
      const next = refused();
      await clock.moveTo(clock.nowMs + 30_000);
      await next;
      clock.nowMs = startedAtMs.at(-1) ?? 0;
    }
    const pauses = startedAtMs.slice(1).map((at, index) => at - (startedAtMs[index] ?? 0));
    expect(pauses).toEqual(expected);
  });

  it('of many calls that were under way together counts once', async () => {
    const { clock, call, refused, startedAtMs } = limited();
    await Promise.all(Array.from({ length: 8 }, () => refused()));
    const next = call();
    await clock.moveTo(1_000);
    await next;
    expect(startedAtMs.at(-1)).toBe(1_000);
  });

  it('moves on those who wait already', async () => {
    const { clock, call, refused, startedAtMs } = limited(0);
    let fail = (): void => undefined;
    const underWay = new Promise<void>((_resolve, reject) => {
      fail = () => {
        reject(refusal('60s'));
      };
    });
    const slow = call(underWay);
    await refused('10s');
    const next = call();
    await clock.moveTo(5_000);
    fail();
    await expect(slow).rejects.toThrow('slow');
    await clock.moveTo(64_999);
    expect(startedAtMs).toHaveLength(2);
    await clock.moveTo(65_000);
    await next;
  });

  it('that asks for longer than anybody should wait unawares makes nobody wait', async () => {
    const { call, refused, startedAtMs } = limited();
    await refused('3600s');
    await call();
    expect(startedAtMs).toEqual([0, 0]);
  });

  it('is waited out by nobody who was cancelled, and those behind lose no time by it', async () => {
    const { clock, limiter, call, refused, startedAtMs } = limited();
    await refused();
    const controller = new AbortController();
    const cancelled = limiter.run(
      () => Promise.reject(new Error('must not run')),
      controller.signal,
    );
    const next = call();
    controller.abort(new Error('enough'));
    await expect(cancelled).rejects.toThrow('enough');
    await clock.moveTo(1_000);
    await next;
    expect(startedAtMs).toEqual([0, 1_000]);
  });

  it('other failures make nobody wait', async () => {
    const { limiter, call, startedAtMs } = limited();
    await expect(limiter.run(() => Promise.reject(new Error('UNAVAILABLE')))).rejects.toThrow();
    await call();
    expect(startedAtMs).toEqual([0]);
  });
});

describe('the budget of retries', () => {
  it('ends a storm, and comes back with calls and with time', async () => {
    const { clock, limiter, call } = limited();
    const taken = (): number => {
      let count = 0;
      while (limiter.takeRetry()) count += 1;
      return count;
    };
    expect(taken()).toBe(20);
    for (let time = 0; time < 40; time++) await call();
    expect(taken()).toBe(10);
    await clock.moveTo(60_000);
    expect(taken()).toBe(6);
    await clock.moveTo(3_600_000);
    expect(taken()).toBe(20);
  });

  it('is one for all that call an endpoint', () => {
    const url = new URL('https://colab.example/mcp');
    const signIn = fixedToken('t');
    const first = new McpConnection({ url, signIn, headers: {} });
    const second = new McpConnection({ url, signIn, headers: {} });
    expect(first.limiter).toBe(second.limiter);
    expect(limiterFor(new URL('https://other.example/mcp'))).not.toBe(first.limiter);
  });

  it('keeps a server that is down from being hammered by many', async () => {
    await using server = await ScriptedColab.start();
    const sandbox = await connect(server);
    const failures = Array.from(
      { length: 400 },
      () => (call: { toolError(text: string): void }) => {
        call.toolError('UNAVAILABLE: down');
      },
    );
    server.answer('create_session', ...failures);
    const opened = await Promise.allSettled(
      Array.from({ length: 60 }, () => sandbox.openSession()),
    );
    expect(opened.every(({ status }) => status === 'rejected')).toBe(true);
    // Without a budget it would be four tries each.
    expect(server.callsOf('create_session').length).toBeLessThan(60 + 20 + 60);
    server.answer('create_session');
    await sandbox.close();
  });
});

describe('scripts and the rate', () => {
  it('a script that was refused waits and runs once', async () => {
    await using server = await ScriptedColab.start();
    const sandbox = await connect(server);
    const session = await sandbox.openSession();
    server.answer(
      'execute_code',
      (call) => {
        call.toolError('RESOURCE_EXHAUSTED: too many');
      },
      ok(server, { result: '1' }),
    );
    expect(await session.execute('1', { timeoutMs: LONG_MS })).toMatchObject({ value: '1' });
    await sandbox.close();
  });

  it('cancelled in a pause it was never sent: the kernel is left alone and the session stays', async () => {
    await using server = await ScriptedColab.start();
    const cancelling = new AbortController();
    const sleep = (_ms: number, signal?: AbortSignal): Promise<void> => {
      cancelling.abort(new Error('enough'));
      return abortable(new Promise(() => undefined), signal);
    };
    const sandbox = await connect(server, { policy: { ...quickly, sleep } });
    const session = await sandbox.openSession();
    const refused = limiterFor(new URL(server.url)).run(() => Promise.reject(refusal('1s')));
    await expect(refused).rejects.toThrow('slow');
    const script = session.execute('2', { timeoutMs: LONG_MS, signal: cancelling.signal });
    await expect(script).rejects.toThrow('enough');
    expect(server.callsOf('execute_code')).toEqual([]);
    expect(server.others).not.toContain('notifications/cancelled');
    expect(server.callsOf('delete_session')).toEqual([]);
  });
});
