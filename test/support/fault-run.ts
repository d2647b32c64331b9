import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SandboxError } from '../../src/errors.js';
import { connectColab } from '../../src/sandbox/colab/colab-sandbox.js';
import type { Session } from '../../src/sandbox/sandbox.js';
import { SessionPool } from '../../src/sandbox/session-pool.js';
import { startEmbeddedColab } from './embedded-colab.js';
import { FaultyColab } from './faulty-colab.js';
import { seededFaults, seededRandom } from './seeded-faults.js';

export interface FaultRunOptions {
  executions: number;
  seed: number;
  /** Sessions at once; two runs more than that compete for them. */
  sessions: number;
  /** Share of all calls that a fault strikes. */
  share: number;
  onProgress?: (done: number) => void;
}

export interface FaultRunReport {
  executions: number;
  calls: number;
  /** Faults that struck, by kind. */
  faults: Record<string, number>;
  /** How executions ended: status of the result, code of the error, or `cancelled`. */
  endings: Record<string, number>;
  /** Leases that could not be had, by code. */
  refusedLeases: Record<string, number>;
  sessionsUsed: number;
  /** What must not be: effects lost or doubled, output lost or doubled. */
  violations: string[];
  /** Sessions, runtimes too many, processes and folders that are there after the end. */
  leftovers: string[];
  durationMs: number;
}

/** Short pauses, so that a run with hundreds of faults ends within minutes. */
const POLICY = { attempts: 8, firstDelayMs: 1, maxDelayMs: 20, maxServerDelayMs: 1_000 };
const LONG_MS = 120_000;
/** Long enough for a script to have begun. */
const ENDLESS_MS = 1_000;
/** Shorter than slow scripts, so that these outlive several streams. */
const STREAM_MS = 250;

type Kind = 'plain' | 'slow' | 'raising' | 'endless' | 'cancelled' | 'deadly';

const KINDS: readonly (readonly [share: number, kind: Kind])[] = [
  [0.7, 'plain'],
  [0.16, 'slow'],
  [0.05, 'raising'],
  [0.04, 'cancelled'],
  [0.03, 'endless'],
  [0.02, 'deadly'],
];

/** Many scripts with a side effect each, under faults: each must take effect once, or own up that nobody can know. */
export async function faultRun(options: FaultRunOptions): Promise<FaultRunReport> {
  const folder = await mkdtemp(join(tmpdir(), 'fault-run-'));
  try {
    return await faultRunIn(folder, options);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function faultRunIn(folder: string, options: FaultRunOptions): Promise<FaultRunReport> {
  const startedAt = performance.now();
  const server = await startEmbeddedColab({ limits: { streamingDeadlineMs: STREAM_MS } });
  const plan = seededFaults(options.seed, options.share);
  const faulty = await FaultyColab.start(server, { plan });
  const run = new FaultRun(options, join(folder, 'effects'));
  let left: string[];
  let sessionsUsed: number;
  try {
    const sandbox = await connectColab({
      url: faulty.url,
      signIn: { accessToken: () => Promise.resolve(server.token), refresh: () => undefined },
      policy: POLICY,
      settleMs: 5_000,
    });
    const pool = new SessionPool(sandbox, { size: options.sessions, warmSpares: 1 });
    await run.work(pool);
    await pool.close();
    await sandbox.close();
    const runtimes = await faulty.runtimesBehind();
    // The one in use stays for the next run; any further one was made twice for one wish.
    left = [...(await faulty.sessionsBehind()), ...runtimes.slice(1)];
    sessionsUsed = new Set(faulty.callsOf('create_session').map((args) => args['sessionId'])).size;
  } finally {
    await faulty[Symbol.asyncDispose]();
    await server.close();
  }
  const violations = await run.violations();
  return {
    executions: options.executions,
    calls: faulty.calls.length,
    faults: sorted(faulty.struck),
    endings: sorted(run.endings),
    refusedLeases: sorted(run.refusedLeases),
    sessionsUsed,
    violations,
    leftovers: [...left, ...server.leftovers()],
    durationMs: Math.round(performance.now() - startedAt),
  };
}

interface Attempt {
  number: number;
  kind: Kind;
  ending: string;
  shown: { stdout: string; stderr: string };
  /** Of the result, where there is one. */
  told?: { stdout: string; stderr: string };
}

class FaultRun {
  readonly endings = new Map<string, number>();
  readonly refusedLeases = new Map<string, number>();
  readonly #options: FaultRunOptions;
  readonly #effects: string;
  readonly #attempts: Attempt[] = [];
  #next = 0;

  constructor(options: FaultRunOptions, effects: string) {
    this.#options = options;
    this.#effects = effects;
  }

  async work(pool: SessionPool): Promise<void> {
    const workers = Array.from({ length: this.#options.sessions + 2 }, () => this.#worker(pool));
    await Promise.all(workers);
  }

  async #worker(pool: SessionPool): Promise<void> {
    while (this.#next < this.#options.executions) {
      try {
        await this.#useLease(pool);
      } catch (error) {
        if (!(error instanceof SandboxError)) throw error;
        count(this.refusedLeases, error.code);
      }
    }
  }

  async #useLease(pool: SessionPool): Promise<void> {
    await using lease = await pool.lease();
    await this.#useSession(lease.session);
  }

  /** A few scripts, until one costs the session. */
  async #useSession(session: Session): Promise<void> {
    for (let scripts = 0; scripts < 4 && this.#next < this.#options.executions; scripts++) {
      const attempt = await this.#attempt(session, this.#next++);
      this.#attempts.push(attempt);
      count(this.endings, attempt.ending);
      this.#options.onProgress?.(this.#attempts.length);
      if (ENDS_SESSION.has(attempt.ending)) return;
    }
  }

  async #attempt(session: Session, number: number): Promise<Attempt> {
    const kind = kindOf(`${this.#options.seed} ${number}`);
    const shown = { stdout: '', stderr: '' };
    const controller = new AbortController();
    try {
      const result = await session.execute(scriptOf(kind, number, this.#effects), {
        timeoutMs: kind === 'endless' ? ENDLESS_MS : LONG_MS,
        signal: controller.signal,
        onOutput: ({ stream, text }) => {
          shown[stream] += text;
          if (kind === 'cancelled') controller.abort();
        },
      });
      const { stdout, stderr, status } = result;
      return { number, kind, ending: status, shown, told: { stdout, stderr } };
    } catch (error) {
      if (error === controller.signal.reason) return { number, kind, ending: 'cancelled', shown };
      if (!(error instanceof SandboxError)) throw error;
      return { number, kind, ending: error.code, shown };
    }
  }

  async violations(): Promise<string[]> {
    const lines = (await readFile(this.#effects, 'utf8')).split('\n').slice(0, -1);
    const effects = new Map<string, number>();
    for (const line of lines) count(effects, line);
    return this.#attempts.flatMap((attempt) => {
      const times = effects.get(String(attempt.number)) ?? 0;
      return [...effectProblems(attempt, times), ...outputProblems(attempt)].map(
        (problem) => `script ${attempt.number} (${attempt.kind}, ${attempt.ending}): ${problem}`,
      );
    });
  }
}

const ENDS_SESSION: ReadonlySet<string> = new Set([
  'SESSION_LOST',
  'RUNTIME_LOST',
  'EXECUTION_UNKNOWN',
  'CLOSED',
]);
/** The script was under way when something ended it, or nobody knows. */
const AT_MOST_ONCE: ReadonlySet<string> = new Set([
  ...ENDS_SESSION,
  'cancelled',
  'deadline-exceeded',
]);

function effectProblems({ ending, kind }: Attempt, times: number): string[] {
  const hasRun = ending === 'ok' || ending === 'failed';
  const isRight = hasRun ? times === 1 : AT_MOST_ONCE.has(ending) ? times <= 1 : times === 0;
  const expected = kind === 'raising' ? 'failed' : 'ok';
  return [
    ...(isRight ? [] : [`took effect ${times} times`]),
    ...(hasRun && ending !== expected ? [`should have ended as ${expected}`] : []),
  ];
}

function outputProblems({ number, kind, ending, shown, told }: Attempt): string[] {
  const expected = outputOf(kind, number);
  return (['stdout', 'stderr'] as const).flatMap((stream) => {
    const isWhole = ending === 'ok' || ending === 'failed';
    const problem = (what: string, text: string): string[] => {
      const isRight = isWhole ? text === expected[stream] : expected[stream].startsWith(text);
      return isRight ? [] : [`${what} on ${stream} ${JSON.stringify(text)}`];
    };
    return [
      ...problem('showed', shown[stream]),
      ...(told === undefined ? [] : problem('told', told[stream])),
    ];
  });
}

function kindOf(seed: string): Kind {
  let rest = seededRandom(`kind ${seed}`)();
  return KINDS.find(([share]) => (rest -= share) < 0)?.[1] ?? 'plain';
}

const LINES: Record<Kind, number> = {
  plain: 2,
  slow: 8,
  raising: 2,
  endless: 2,
  cancelled: 8,
  deadly: 2,
};

function scriptOf(kind: Kind, number: number, effects: string): string {
  const pause = kind === 'slow' || kind === 'cancelled' ? 0.08 : 0;
  const ending = {
    plain: 'pass',
    slow: 'pass',
    cancelled: 'pass',
    raising: 'raise ValueError("on purpose")',
    endless: 'while True: time.sleep(0.01)',
    deadly: 'import os; os._exit(1)',
  }[kind];
  return `
import sys, time
with open(${JSON.stringify(effects)}, "a") as effects: effects.write("${number}\\n")
for line in range(${LINES[kind]}):
    print("${number}:", line, flush=True)
    time.sleep(${pause})
print("${number}!", file=sys.stderr, flush=True)
${ending}
`;
}

function outputOf(kind: Kind, number: number): { stdout: string; stderr: string } {
  const lines = Array.from({ length: LINES[kind] }, (_, line) => `${number}: ${line}\n`);
  return { stdout: lines.join(''), stderr: `${number}!\n` };
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function sorted(counts: Map<string, number>): Record<string, number> {
  return Object.fromEntries([...counts].sort(([, a], [, b]) => b - a));
}
