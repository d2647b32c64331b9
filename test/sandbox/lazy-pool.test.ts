import { expect, it } from 'vitest';
import { SandboxError } from '../../src/errors.js';
import { LazyPool } from '../../src/sandbox/lazy-pool.js';
import type { Sandbox } from '../../src/sandbox/sandbox.js';
import { ScriptedSandbox } from '../support/scripted-sandbox.js';

const { signal } = new AbortController();

it('closing gives up an opening that still goes on', async () => {
  let startedWith: AbortSignal | undefined;
  const pool = new LazyPool({
    size: 1,
    ownsSandbox: true,
    open: (stop) =>
      new Promise<Sandbox>((_, reject) => {
        startedWith = stop;
        stop.addEventListener('abort', () => {
          reject(stop.reason as Error);
        });
      }),
  });
  const lease = pool.lease(signal);
  const refused = expect(lease).rejects.toMatchObject({ code: 'CLOSED' });
  await pool.close();
  await refused;
  expect(startedWith?.aborted).toBe(true);
});

it('an opening that failed is tried again by the next lease', async () => {
  const sandbox = new ScriptedSandbox();
  let attempts = 0;
  await using pool = new LazyPool({
    size: 1,
    ownsSandbox: true,
    open: () => {
      attempts += 1;
      return attempts === 1
        ? Promise.reject(new SandboxError('UNAVAILABLE', 'Not now.'))
        : Promise.resolve(sandbox);
    },
  });
  await expect(pool.lease(signal)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  const lease = await pool.lease(signal);
  await lease.release();
  expect(attempts).toBe(2);
});

it('runs that start together share one sandbox', async () => {
  let attempts = 0;
  const sandbox = new ScriptedSandbox();
  await using pool = new LazyPool({
    size: 2,
    ownsSandbox: true,
    open: () => {
      attempts += 1;
      return Promise.resolve(sandbox);
    },
  });
  await Promise.all([pool.lease(signal), pool.lease(signal)]);
  expect(attempts).toBe(1);
});

it('a lease after closing is refused', async () => {
  const pool = new LazyPool({
    size: 1,
    ownsSandbox: true,
    open: () => Promise.resolve(new ScriptedSandbox()),
  });
  await pool.close();
  await expect(pool.lease(signal)).rejects.toMatchObject({ code: 'CLOSED' });
});
