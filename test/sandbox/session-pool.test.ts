import { getEventListeners, setMaxListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { SandboxError } from '../../src/errors.js';
import type { ExecutionResult } from '../../src/sandbox/execution.js';
import type { ExecuteOptions, Sandbox, Session } from '../../src/sandbox/sandbox.js';
import { SessionPool } from '../../src/sandbox/session-pool.js';

type Reset = 'clean' | 'dirty' | 'lost' | 'too slow';

const RESET = /\.restore\(\)/;
const BASELINE = /session reset/;

/** Sessions in memory that count what is done to them; `nextReset` says how the next resets end. */
class CountingSandbox implements Sandbox {
  readonly description = 'counting';
  opened = 0;
  closed: string[] = [];
  resets = 0;
  nextReset: Reset[] = [];
  nextOpen: (Error | Promise<void>)[] = [];
  run: (code: string, options: ExecuteOptions) => Promise<void> = () => Promise.resolve();

  async openSession(): Promise<Session> {
    const gate = this.nextOpen.shift();
    if (gate instanceof Error) throw gate;
    await gate;
    const name = `s${++this.opened}`;
    return {
      name,
      execute: (code, options) => this.#execute(code, options),
      uploadFile: () => Promise.resolve(),
      listFiles: () => Promise.resolve([]),
      downloadFile: () => Promise.resolve(new Uint8Array()),
      saveFile: () => Promise.resolve(),
      close: () => {
        this.closed.push(name);
        return Promise.resolve();
      },
    };
  }

  async #execute(code: string, options: ExecuteOptions): Promise<ExecutionResult> {
    const base = { stderr: '', outputTruncated: false, richOutputs: [], durationMs: 1 };
    if (BASELINE.test(code)) return { ...base, status: 'ok', stdout: '', value: '' };
    if (!RESET.test(code)) {
      await this.run(code, options);
      return { ...base, status: 'ok', stdout: '', value: '' };
    }
    this.resets += 1;
    const ending = this.nextReset.shift() ?? 'clean';
    if (ending === 'lost') throw new SandboxError('SESSION_LOST', 'gone');
    if (ending === 'too slow') {
      return { ...base, status: 'deadline-exceeded', stdout: '', limitMs: 1 };
    }
    const problems = ending === 'clean' ? [] : ['threads'];
    return { ...base, status: 'ok', stdout: `${JSON.stringify({ problems })}\n`, value: '' };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe('leases', () => {
  it('are exclusive: no more at a time than sessions', async () => {
    const sandbox = new CountingSandbox();
    await using pool = new SessionPool(sandbox, { size: 2 });
    const inUse = new Set<string>();
    let most = 0;
    const use = async (): Promise<void> => {
      await using lease = await pool.lease();
      const { name } = lease.session;
      expect(inUse.has(name)).toBe(false);
      inUse.add(name);
      most = Math.max(most, inUse.size);
      await lease.session.execute('x', { timeoutMs: 1 });
      inUse.delete(name);
    };
    await Promise.all(Array.from({ length: 20 }, use));
    expect(most).toBe(2);
    expect(sandbox.opened).toBe(2);
  });

  it('are fair: first come, first served, also where one gives up', async () => {
    const sandbox = new CountingSandbox();
    await using pool = new SessionPool(sandbox, { size: 1 });
    const first = await pool.lease();
    const order: string[] = [];
    const controller = new AbortController();
    const take = async (name: string, signal?: AbortSignal): Promise<void> => {
      await using lease = await pool.lease({ signal });
      order.push(`${name} ${lease.session.name}`);
    };
    const takes = [take('b'), take('c', controller.signal), take('d')];
    const reason = new Error('no longer');
    controller.abort(reason);
    await expect(takes[1]).rejects.toBe(reason);
    await first.release();
    await Promise.all([takes[0], takes[2]]);
    expect(order).toEqual(['b s1', 'd s1']);
  });

  it('do not start for a caller that has given up', async () => {
    const sandbox = new CountingSandbox();
    await using pool = new SessionPool(sandbox, { size: 1 });
    await expect(pool.lease({ signal: AbortSignal.abort('gone') })).rejects.toBe('gone');
    expect(sandbox.opened).toBe(0);
  });

  it('that have ended refuse every call and end once', async () => {
    const sandbox = new CountingSandbox();
    await using pool = new SessionPool(sandbox, { size: 1 });
    const lease = await pool.lease();
    await Promise.all([lease.release(), lease.release(), lease.discard()]);
    await expect(lease.session.execute('x', { timeoutMs: 1 })).rejects.toMatchObject({
      code: 'CLOSED',
    });
    await pool.lease();
    expect(sandbox.opened).toBe(1);
    expect(sandbox.resets).toBe(1);
  });

  it('given back while a script runs are lent again only when it has really ended', async () => {
    const sandbox = new CountingSandbox();
    await using pool = new SessionPool(sandbox, { size: 1 });
    const events: string[] = [];
    const { opened: interrupted, open: interrupt } = gate();
    sandbox.run = async (_code, { signal }) => {
      signal?.addEventListener('abort', interrupt);
      await interrupted;
      events.push('ended');
      signal?.throwIfAborted();
    };
    const lease = await pool.lease();
    const script = lease.session.execute('endless', { timeoutMs: 1 });
    const next = pool.lease().then(() => events.push('lent'));
    await lease.release();
    await expect(script).rejects.toMatchObject({ code: 'CLOSED' });
    await next;
    expect(events).toEqual(['ended', 'lent']);
  });

  it('leave no listener behind, 200 of them on one signal', async () => {
    const sandbox = new CountingSandbox();
    await using pool = new SessionPool(sandbox, { size: 4 });
    const { signal } = new AbortController();
    setMaxListeners(0, signal);
    const use = async (): Promise<void> => {
      await using lease = await pool.lease({ signal });
      await lease.session.execute('x', { timeoutMs: 1, signal });
    };
    await Promise.all(Array.from({ length: 200 }, use));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(sandbox.opened).toBe(4);
  });
});

describe('a session that comes back', () => {
  it('is reset before it is lent again, and giving it back does not wait for that', async () => {
    const sandbox = new CountingSandbox();
    await using pool = new SessionPool(sandbox, { size: 1 });
    const lease = await pool.lease();
    await lease.release();
    expect(sandbox.closed).toEqual([]);
    const again = await pool.lease();
    expect(again.session.name).toBe('s1');
    expect(sandbox.resets).toBe(1);
  });

  it.each<Reset>(['dirty', 'lost', 'too slow'])(
    'is deleted and replaced where its reset is %s',
    async (ending) => {
      const sandbox = new CountingSandbox();
      await using pool = new SessionPool(sandbox, { size: 1 });
      sandbox.nextReset = [ending];
      await (await pool.lease()).release();
      const again = await pool.lease();
      expect(again.session.name).toBe('s2');
      expect(sandbox.closed).toEqual(['s1']);
    },
  );

  it.each(['SESSION_LOST', 'RUNTIME_LOST', 'EXECUTION_UNKNOWN'] as const)(
    'is not reset but replaced after %s',
    async (code) => {
      const sandbox = new CountingSandbox();
      await using pool = new SessionPool(sandbox, { size: 1 });
      sandbox.run = () => Promise.reject(new SandboxError(code, 'x'));
      const lease = await pool.lease();
      await expect(lease.session.execute('x', { timeoutMs: 1 })).rejects.toMatchObject({ code });
      await lease.release();
      expect((await pool.lease()).session.name).toBe('s2');
      expect(sandbox.resets).toBe(0);
    },
  );

  it('as unusable, or closed by its user, is replaced', async () => {
    const sandbox = new CountingSandbox();
    await using pool = new SessionPool(sandbox, { size: 1 });
    await (await pool.lease()).discard();
    const second = await pool.lease();
    await second.session.close();
    await second.release();
    expect((await pool.lease()).session.name).toBe('s3');
    expect(sandbox.resets).toBe(0);
  });
});

describe('opening', () => {
  it('happens when it is wanted, or ahead for as many spares as are asked for', async () => {
    const lazy = new CountingSandbox();
    await new SessionPool(lazy, { size: 3 }).close();
    const eager = new CountingSandbox();
    await using pool = new SessionPool(eager, { size: 3, warmSpares: 1 });
    await using first = await pool.lease();
    await using second = await pool.lease();
    expect([first, second].map(({ session }) => session.name)).toEqual(['s1', 's2']);
    await pool.lease();
    expect(lazy.opened).toBe(0);
    expect(eager.opened).toBe(3);
  });

  it('that fails is told to the one who waited longest, and tried again for the next', async () => {
    const sandbox = new CountingSandbox();
    await using pool = new SessionPool(sandbox, { size: 1 });
    const failure = new SandboxError('RATE_LIMITED', 'slow');
    sandbox.nextOpen = [failure];
    const outcomes = await Promise.allSettled([pool.lease(), pool.lease()]);
    expect(outcomes).toMatchObject([
      { status: 'rejected', reason: failure },
      { status: 'fulfilled', value: { session: { name: 's1' } } },
    ]);
  });

  it('that loses its session or runtime half-way is tried again at once, but not for ever', async () => {
    const sandbox = new CountingSandbox();
    await using pool = new SessionPool(sandbox, { size: 1 });
    const lost = new SandboxError('RUNTIME_LOST', 'x');
    sandbox.nextOpen = [lost, new SandboxError('EXECUTION_UNKNOWN', 'x')];
    expect((await pool.lease()).session.name).toBe('s1');
    const hopeless = new CountingSandbox();
    await using other = new SessionPool(hopeless, { size: 1 });
    hopeless.nextOpen = [lost, lost, lost];
    await expect(other.lease()).rejects.toBe(lost);
  });

  it('that fails for a spare is tried again by the next lease', async () => {
    const sandbox = new CountingSandbox();
    sandbox.nextOpen = [new SandboxError('UNAVAILABLE', 'x')];
    await using pool = new SessionPool(sandbox, { size: 2, warmSpares: 1 });
    await new Promise(setImmediate);
    await using lease = await pool.lease();
    expect(lease.session.name).toBe('s1');
  });

  it.each([0, -1, Number.NaN])('needs room: a size of %d is refused', (size) => {
    expect(() => new SessionPool(new CountingSandbox(), { size })).toThrow('lends nothing');
  });
});

describe('closing', () => {
  it('ends lent, idle and opening sessions and tells those who wait', async () => {
    const sandbox = new CountingSandbox();
    const pool = new SessionPool(sandbox, { size: 3 });
    const lent = await pool.lease();
    await (await pool.lease()).release();
    await (await pool.lease()).release();
    const { opened, open } = gate();
    sandbox.nextOpen = [opened];
    const idle = await pool.lease();
    const opening = pool.lease();
    const waiting = pool.lease();
    const closed = pool.close();
    open();
    await expect(opening).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(waiting).rejects.toMatchObject({ code: 'CLOSED' });
    await closed;
    await pool.close();
    await expect(pool.lease()).rejects.toMatchObject({ code: 'CLOSED' });
    expect(new Set(sandbox.closed).size).toBe(sandbox.opened);
    await Promise.all([lent.release(), idle.release()]);
  });
});
