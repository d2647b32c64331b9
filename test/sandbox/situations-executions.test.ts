import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OutputChunk } from '../../src/sandbox/execution.js';
import type { Session } from '../../src/sandbox/sandbox.js';
import { SHAPES } from '../support/fault.js';
import type { FaultyServer } from './faulty-server.js';
import { startFaultyServer } from './faulty-server.js';

const limit = { timeoutMs: 120_000 };
/** Shorter than the slow scripts here. */
const STREAM_MS = 700;
/** Of each output stream the server keeps the end. */
const KEPT_BYTES = 20_000;

let place: FaultyServer;
let session: Session;
/** Looks at what the scripts of `session` did. */
let bystander: Session;

beforeAll(async () => {
  const limits = { streamingDeadlineMs: STREAM_MS, outputBytes: KEPT_BYTES };
  place = await startFaultyServer({ limits });
  session = await place.sandbox.openSession();
  bystander = await place.sandbox.openSession();
});
afterAll(() => place.close());

beforeEach(async () => {
  place.faulty.reset();
  if (await isLost(session)) session = await place.sandbox.openSession();
  place.faulty.reset();
});

async function isLost(tried: Session): Promise<boolean> {
  const [outcome] = await Promise.allSettled([tried.execute('1', limit)]);
  return outcome.status === 'rejected';
}

const LINES = 8;
const PRINTED = Array.from({ length: LINES }, (_, line) => `${line}\n`).join('');

/** Counts itself in a file, then prints lines for longer than a stream lasts, or all at once. */
function counting(file: string, pace: 'slow' | 'fast'): string {
  return `
import time
with open("${file}", "a") as effect: effect.write("x")
for line in range(${LINES}):
    print(line, flush=True)
    time.sleep(${pace === 'slow' ? (1.5 * STREAM_MS) / 1000 / LINES : 0})
`;
}

interface CountedOptions {
  pace?: 'slow' | 'fast';
  onOutput?: (shown: string) => void;
}

/** Runs {@link counting} and gives what was shown, what came of it, and how often it took effect. */
async function countedRun({ pace = 'slow', onOutput }: CountedOptions = {}) {
  const file = `effect-${crypto.randomUUID()}`;
  let shown = '';
  const run = session.execute(counting(file, pace), {
    ...limit,
    onOutput: ({ text }: OutputChunk) => {
      shown += text;
      onOutput?.(shown);
    },
  });
  const [outcome] = await Promise.allSettled([run]);
  const seen = await bystander.execute(
    `import os\nprint(len(open("${file}").read()) if os.path.exists("${file}") else 0)`,
    limit,
  );
  return { outcome, shown, effects: Number(seen.stdout) };
}

const ONCE = {
  outcome: { status: 'fulfilled', value: { status: 'ok', stdout: PRINTED } },
  shown: PRINTED,
  effects: 1,
};

/** The client's own scripts come before and after; these are the calls of one script. */
function attachments(): Record<string, unknown>[] {
  return place.faulty
    .callsOf('execute_code')
    .filter(({ code }) => String(code).includes('effect.write'));
}

describe('situation 10: a script outlives the stream of its call', () => {
  it('and is re-attached by the identical call, its output shown once', async () => {
    expect(await countedRun()).toMatchObject(ONCE);
    const calls = attachments();
    expect(calls.length).toBeGreaterThan(1);
    for (const call of calls) expect(call).toEqual(calls[0]);
  });

  it.each(SHAPES)('told as %s', async (shape) => {
    place.faulty.fault('execute_code', { refuse: 'DEADLINE_EXCEEDED', shape, when: 'while' });
    expect(await countedRun()).toMatchObject(ONCE);
  });

  it('and its own limit is kept over all of its streams', async () => {
    const script = session.execute('import time\nwhile True: time.sleep(0.05)', {
      timeoutMs: 3 * STREAM_MS,
    });
    expect(await script).toMatchObject({ status: 'deadline-exceeded' });
    expect(await session.execute('"on"', limit)).toMatchObject({ value: "'on'" });
  });
});

describe('situation 11: the answer does not come', () => {
  it.each([
    [{ lose: 'hang-up', when: 'before' }],
    [{ lose: 'cut', when: 'before' }],
    [{ lose: 'clean-end', when: 'before' }],
    [{ lose: 'hang-up', when: 'begun' }],
    [{ lose: 'cut', when: 'begun' }],
    [{ lose: 'clean-end', when: 'begun' }],
    [{ lose: 'cut', when: 'while' }],
    [{ lose: 'clean-end', when: 'while' }],
  ] as const)('%j: the script runs once', async (fault) => {
    place.faulty.fault('execute_code', fault);
    expect(await countedRun()).toMatchObject(ONCE);
  });

  it.each(SHAPES)('for UNAVAILABLE as %s: the script runs once', async (shape) => {
    place.faulty.fault(
      'execute_code',
      { refuse: 'UNAVAILABLE', shape },
      { refuse: 'UNAVAILABLE', shape, when: 'while' },
      { refuse: 'UNAVAILABLE', shape, when: 'begun' },
    );
    expect(await countedRun()).toMatchObject(ONCE);
  });

  it('since connections are cut again and again', async () => {
    const before = place.faulty.cuts;
    const run = await countedRun({
      onOutput: (shown) => {
        if (shown.length % 6 === 0) place.faulty.cut();
      },
    });
    expect(run).toMatchObject(ONCE);
    expect(place.faulty.cuts).toBeGreaterThan(before);
  });

  it('since the MCP session has expired', async () => {
    place.faulty.fault(
      'execute_code',
      { happens: 'mcp-session-expired' },
      { lose: 'cut', when: 'while' },
      { happens: 'mcp-session-expired' },
    );
    expect(await countedRun()).toMatchObject(ONCE);
  });
});

describe('situation 12: a call that names no session or execution id could run twice', () => {
  it('so that every one names both', async () => {
    await session.execute('1', limit);
    const calls = place.faulty.callsOf('execute_code');
    expect(calls.length).toBeGreaterThan(0);
    for (const call of calls) {
      expect(Object.keys(call).sort()).toEqual(['code', 'executionId', 'session']);
      expect(call).toMatchObject({
        executionId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      });
    }
  });
});

describe('situation 13: the server believes the answer delivered, and nobody has it', () => {
  it.each(['hang-up', 'cut', 'clean-end'] as const)(
    '(%s): the repeated call would run the script again, which its kernel refuses',
    async (lose) => {
      place.faulty.fault('execute_code', { lose, when: 'after' }, { lose, when: 'after' });
      const { outcome, effects } = await countedRun({ pace: 'fast' });
      expect(outcome).toMatchObject({ reason: { code: 'EXECUTION_UNKNOWN', isRetryable: false } });
      expect(effects).toBe(1);
      expect(await session.execute('"on"', limit)).toMatchObject({ value: "'on'" });
    },
  );
});

describe('situation 15: the kernel is silently replaced by an empty one', () => {
  it('between two scripts: the second does not begin there, and the session is lost', async () => {
    await session.execute('x = 1', limit);
    place.faulty.fault('execute_code', { happens: 'kernel-replaced' });
    const { outcome, shown, effects } = await countedRun();
    expect(outcome).toMatchObject({ reason: { code: 'SESSION_LOST' } });
    expect([shown, effects]).toEqual(['', 0]);
    await expect(session.execute('1', limit)).rejects.toMatchObject({ code: 'SESSION_LOST' });
  });

  it.each([
    ['just when a script is re-attached', 'slow', { lose: 'cut', when: 'while' }],
    ['when the answer was lost', 'fast', { refuse: 'UNAVAILABLE', shape: 'http', when: 'after' }],
  ] as const)('%s: it does not begin a second time', async (_when, pace, fault) => {
    place.faulty.fault('execute_code', fault, { happens: 'kernel-replaced' });
    const { outcome, effects } = await countedRun({ pace });
    expect(outcome).toMatchObject({ reason: { code: 'SESSION_LOST' } });
    expect(effects).toBe(1);
  });

  it.each([
    ['a magic', '%%capture captured\nprint("hidden")', 'ok'],
    ['a future import', 'from __future__ import annotations\nprint("fine")', 'ok'],
    ['an indented line', '  print("fine")', 'ok'],
    ['a top-level await', 'import asyncio\nawait asyncio.sleep(0)', 'ok'],
    ['nothing', '', 'ok'],
    ['an error in its first line', '1 / 0', 'failed'],
  ])(
    'which is noticed without changing a script that begins with %s',
    async (_what, code, status) => {
      const result = await session.execute(code, limit);
      expect(result.status, JSON.stringify(result)).toBe(status);
      if (result.status !== 'failed') return;
      expect(result.error.traceback.join('\n')).not.toContain('colab_session');
      expect(result.error.traceback.join('\n')).toMatch(/1.*1 \/ 0/);
    },
  );

  it('and is not suspected where a script has only taken our hook away', async () => {
    const hooks = 'get_ipython().input_transformer_manager.cleanup_transforms';
    await session.execute(`del ${hooks}[0]`, limit);
    expect(await session.execute('40 + 2', limit)).toMatchObject({ value: '42' });
  });
});

describe('situation 16: the script raises', () => {
  it('which is its result, and no reason to repeat it', async () => {
    const result = await session.execute('print("so far")\nraise ValueError("no")', limit);
    expect(result).toMatchObject({
      status: 'failed',
      stdout: 'so far\n',
      error: { name: 'ValueError', value: 'no' },
    });
    expect(
      place.faulty.callsOf('execute_code').filter(({ code }) => String(code).includes('raise')),
    ).toHaveLength(1);
  });
});

describe('situation 17: the script prints more than the server keeps', () => {
  /** Blocks far enough apart that a re-attachment misses less than is kept. */
  const printing = `
import time
for block in range(4):
    print("\\n".join(f"{block} {line}" for line in range(1000)), flush=True)
    time.sleep(0.3)
`;
  const lines = Array.from({ length: 4_000 }, (_, n) => `${Math.floor(n / 1_000)} ${n % 1_000}\n`);
  const all = lines.join('');

  it('shows all of it live; the result holds the end and says so', async () => {
    let shown = '';
    const onOutput = ({ text }: OutputChunk): void => {
      shown += text;
    };
    place.faulty.fault('execute_code', { lose: 'cut', when: 'while' });
    const result = await session.execute(printing, { ...limit, onOutput });
    expect(result).toMatchObject({ status: 'ok', outputTruncated: true });
    expect(result.stdout.length).toBeGreaterThan(1_000);
    expect(all.endsWith(result.stdout)).toBe(true);
    expect(shown).toBe(all);
  });
});

describe('situation 18: several scripts for one session at once', () => {
  it('are sent one at a time', async () => {
    let running = 0;
    let most = 0;
    const scripts = [1, 2, 3, 4].map(async (n) => {
      const result = await session.execute(
        `import time\nprint("begin", flush=True)\ntime.sleep(0.1)\n${n}`,
        {
          ...limit,
          onOutput: () => {
            running += 1;
            most = Math.max(most, running);
          },
        },
      );
      running -= 1;
      return result;
    });
    const values = await Promise.all(scripts);
    expect(values).toMatchObject([{ value: '1' }, { value: '2' }, { value: '3' }, { value: '4' }]);
    expect(most).toBe(1);
  });
});

describe('situation 20: cancelling', () => {
  it('reaches a script whose connection was cut: it is interrupted before we say so', async () => {
    const controller = new AbortController();
    const file = `cancelled-${crypto.randomUUID()}`;
    const code = `
import time
print("on", flush=True)
try: time.sleep(600)
finally: open("${file}", "w").write("interrupted")
`;
    const script = session.execute(code, {
      ...limit,
      signal: controller.signal,
      onOutput: () => {
        place.faulty.fault('execute_code', { lose: 'hang-up', when: 'begun' });
        place.faulty.cut();
        controller.abort('enough');
      },
    });
    await expect(script).rejects.toBe('enough');
    expect(Buffer.from(await session.downloadFile(file)).toString()).toBe('interrupted');
    expect(await session.execute('"on"', limit)).toMatchObject({ value: "'on'" });
  });

  it('is said again where the word was lost, and then costs no variables either', async () => {
    await session.execute('kept = 7', limit);
    const controller = new AbortController();
    place.faulty.fault('notifications/cancelled', { lose: 'hang-up', when: 'before' });
    const script = session.execute('print("on", flush=True)\nwhile True: pass', {
      ...limit,
      signal: controller.signal,
      onOutput: () => {
        controller.abort('enough');
      },
    });
    await expect(script).rejects.toBe('enough');
    expect(await session.execute('kept', limit)).toMatchObject({ value: '7' });
  });
});

describe('situation 21: a script that cannot be stopped, or waits for a person', () => {
  it('is ended with its session', async () => {
    const code =
      'import time\nwhile True:\n    try: time.sleep(1)\n    except KeyboardInterrupt: pass';
    expect(await session.execute(code, { timeoutMs: 1_000 })).toMatchObject({
      status: 'deadline-exceeded',
    });
    expect(await place.sessions()).not.toContain(session.name);
  });

  it.each(['input("name? ")', 'import getpass; getpass.getpass()'])(
    'fails at once, saying so: %s',
    async (code) => {
      const result = await session.execute(code, limit);
      expect(result).toMatchObject({
        status: 'failed',
        error: { name: 'StdinNotImplementedError' },
      });
    },
  );
});
