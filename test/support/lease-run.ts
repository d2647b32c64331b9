import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { connectColab } from '../../src/sandbox/colab/colab-sandbox.js';
import { fixedToken } from '../../src/sandbox/colab/sign-in.js';
import { SessionPool } from '../../src/sandbox/session-pool.js';
import { startEmbeddedColab } from './embedded-colab.js';

export interface LeaseRunOptions {
  leases: number;
  /** Sessions of the pool; twice as many runs compete for them. */
  sessions: number;
  onProgress?: (done: number) => void;
}

export interface LeaseRunReport {
  leases: number;
  /** Sessions that were opened; more than the pool's size where a reset failed. */
  sessionsOpened: number;
  /** Growth of the heap from one half of the run to its end, client and embedded server together, a lease. */
  heapBytesPerLease: number;
  /** Listeners left on the signal that every call was given. */
  listeners: number;
  /** Timers, sockets and the like that were not there before. */
  resources: string[];
  /** Sessions, processes and folders that are there after the end. */
  leftovers: string[];
  durationMs: number;
}

/** Many leases of few sessions, each of which does a little work; then what of them is still there. */
export async function leaseRun(options: LeaseRunOptions): Promise<LeaseRunReport> {
  const { leases, sessions, onProgress } = options;
  const startedAt = performance.now();
  const resourcesBefore = process.getActiveResourcesInfo();
  const server = await startEmbeddedColab();
  const sandbox = await connectColab({ url: server.url, signIn: fixedToken(server.token) });
  const pool = new SessionPool(sandbox, { size: sessions });
  const { signal } = new AbortController();
  const used = new Set<string>();
  let begun = 0;
  let done = 0;
  const once = async (): Promise<void> => {
    await using lease = await pool.lease({ signal });
    used.add(lease.session.name);
    const code = 'import random\nkept = random.random()\nprint(kept)\nkept';
    const result = await lease.session.execute(code, { timeoutMs: 60_000, signal });
    if (result.status !== 'ok') throw new Error(JSON.stringify(result));
    done += 1;
    onProgress?.(done);
  };
  const until = async (end: number): Promise<number> => {
    const worker = async (): Promise<void> => {
      while (begun < end) {
        begun += 1;
        await once();
      }
    };
    await Promise.all(Array.from({ length: 2 * sessions }, worker));
    return heapBytes();
  };
  const half = Math.floor(leases / 2);
  const heapHalfway = await until(half);
  const heapAtEnd = await until(leases);
  await pool.close();
  await sandbox.close();
  await server.close();
  return {
    leases: done,
    sessionsOpened: used.size,
    heapBytesPerLease: Math.round((heapAtEnd - heapHalfway) / (leases - half)),
    listeners: getEventListeners(signal, 'abort').length,
    resources: await newResources(resourcesBefore),
    leftovers: server.leftovers(),
    durationMs: Math.round(performance.now() - startedAt),
  };
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Handles that were closed are gone only some turns of the event loop later. */
const TURNS = 50;

async function newResources(before: readonly string[]): Promise<string[]> {
  let left: string[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    left = process.getActiveResourcesInfo().filter((kind) => kind !== 'Immediate');
    for (const kind of before) {
      const at = left.indexOf(kind);
      if (at !== -1) left.splice(at, 1);
    }
    if (left.length === 0) break;
  }
  return left;
}
