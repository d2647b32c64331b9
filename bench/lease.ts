import { setTimeout as pause } from 'node:timers/promises';
import { openLocalSandbox } from '../src/sandbox/local/local-sandbox.js';
import type { Sandbox } from '../src/sandbox/sandbox.js';
import { SessionPool } from '../src/sandbox/session-pool.js';
import type { Lease } from '../src/sandbox/session-pool.js';
import { measureInTurns } from './measure.js';
import type { Contender, MeasureOptions } from './measure.js';
import { ratio } from './report.js';
import type { Report } from './report.js';

/** What a run leaves behind that a reset has to undo. */
const untidyCode = `
import os, matplotlib.pyplot as plt, pandas as pd
pd.set_option('display.max_rows', 3)
os.environ['LEFT'] = 'behind'
frame = pd.DataFrame({'a': range(1000)})
`;
/** Longer than any reset takes. */
const SETTLE_MS = 1_000;

/** What the pool saves against opening a session for each run. */
export async function measureLease(options: MeasureOptions): Promise<Report> {
  await using sandbox = await openLocalSandbox({
    env: process.env,
    isolation: 'auto',
    allowNetwork: false,
  });
  const fresh = freshSession(sandbox);
  await using warm = warmLease(sandbox);
  await using reset = await resetLease(sandbox);
  const spreads = await measureInTurns([fresh, warm, reset], options);
  return {
    spreads,
    ratios: [
      ratio(spreads, warm, fresh, { goal: 0.01 }),
      ratio(spreads, reset, fresh, { goal: 0.1 }),
    ],
  };
}

function freshSession(sandbox: Sandbox): Contender {
  return {
    name: 'open a session',
    async measure() {
      const started = performance.now();
      const session = await sandbox.openSession();
      const elapsedMs = performance.now() - started;
      await session.close();
      return elapsedMs;
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function warmLease(sandbox: Sandbox): Contender {
  const pool = new SessionPool(sandbox, { size: 1, warmSpares: 1 });
  return {
    name: 'lease a warm session',
    async measure() {
      await pause(SETTLE_MS);
      const started = performance.now();
      const lease = await pool.lease();
      const elapsedMs = performance.now() - started;
      await lease.release();
      return elapsedMs;
    },
    [Symbol.asyncDispose]: () => pool.close(),
  };
}

/** With one session in the pool the next lease has to wait for the reset of the last. */
async function resetLease(sandbox: Sandbox): Promise<Contender> {
  const pool = new SessionPool(sandbox, { size: 1 });
  let lease: Lease = await pool.lease();
  return {
    name: 'reset and lease again',
    async measure() {
      const { name } = lease.session;
      await lease.session.execute(untidyCode, { timeoutMs: 60_000 });
      const started = performance.now();
      await lease.release();
      lease = await pool.lease();
      const elapsedMs = performance.now() - started;
      if (lease.session.name !== name) throw new Error('The session was replaced, not reset.');
      return elapsedMs;
    },
    [Symbol.asyncDispose]: () => pool.close(),
  };
}
