import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectColab } from '../../../src/sandbox/colab/colab-sandbox.js';
import { fixedToken } from '../../../src/sandbox/colab/sign-in.js';
import type { Sandbox, Session } from '../../../src/sandbox/sandbox.js';
import type { EmbeddedColab } from '../../support/embedded-colab.js';
import { startEmbeddedColab } from '../../support/embedded-colab.js';
import { FaultyColab } from '../../support/faulty-colab.js';
import { LONG_MS, quickly } from './connected.js';

/** Short, so that a script of a second outlives several streams. */
const STREAM_MS = 400;
const limit = { timeoutMs: LONG_MS };

let server: EmbeddedColab;
let proxy: FaultyColab;
let sandbox: Sandbox;
let session: Session;

beforeAll(async () => {
  server = await startEmbeddedColab({ limits: { streamingDeadlineMs: STREAM_MS } });
  proxy = await FaultyColab.start(server);
  sandbox = await connectColab({
    url: proxy.url,
    signIn: fixedToken(server.token),
    policy: quickly,
    settleMs: 2_000,
  });
  session = await sandbox.openSession();
});

afterAll(async () => {
  await sandbox.close();
  await proxy[Symbol.asyncDispose]();
  await server.close();
});

/** Counts itself in a file, then prints a line every tenth of a second. */
function counting(file: string, lines: number): string {
  return `
import time
with open(${JSON.stringify(file)}, "a") as effect: effect.write("x")
for line in range(${lines}):
    print(line, flush=True)
    time.sleep(0.1)
`;
}

const lines = (count: number): string => Array.from({ length: count }, (_, n) => `${n}\n`).join('');

async function effects(file: string): Promise<number> {
  return (await session.downloadFile(file)).length;
}

describe('a script that outlives its connections runs once, its output shown once:', () => {
  it('streams that end at their deadline', async () => {
    let shown = '';
    const result = await session.execute(counting('deadlines', 15), {
      ...limit,
      onOutput: ({ text }) => (shown += text),
    });
    expect(result).toMatchObject({ status: 'ok', stdout: lines(15) });
    expect(shown).toBe(lines(15));
    expect(await effects('deadlines')).toBe(1);
  });

  it('connections cut again and again', async () => {
    let shown = '';
    const before = proxy.cuts;
    const result = await session.execute(counting('cuts', 15), {
      ...limit,
      onOutput: ({ text }) => {
        shown += text;
        if (shown.length % 6 === 0) proxy.cut();
      },
    });
    expect(proxy.cuts).toBeGreaterThan(before);
    expect(result).toMatchObject({ status: 'ok', stdout: lines(15) });
    expect(shown).toBe(lines(15));
    expect(await effects('cuts')).toBe(1);
  });

  it('an answer that the server delivered and nobody received: unknown, but not run again', async () => {
    proxy.fault('execute_code', { lose: 'cut', when: 'after' });
    await expect(session.execute(counting('swallowed', 1), limit)).rejects.toMatchObject({
      code: 'EXECUTION_UNKNOWN',
    });
    expect(await effects('swallowed')).toBe(1);
    expect(await session.execute('"on"', limit)).toMatchObject({ value: "'on'" });
  });

  it('the same script twice over runs twice', async () => {
    const code = counting('twice', 1);
    await session.execute(code, limit);
    await session.execute(code, limit);
    await session.execute(code, limit);
    expect(await effects('twice')).toBe(3);
  });
});

describe('interrupting a real kernel', () => {
  it('at the limit returns what was printed and keeps the variables', async () => {
    await session.execute('kept = 7', limit);
    const result = await session.execute('print("so far", flush=True)\nwhile True: pass', {
      timeoutMs: 1_000,
    });
    expect(result).toMatchObject({
      status: 'deadline-exceeded',
      limitMs: 1_000,
      stdout: 'so far\n',
    });
    expect(await session.execute('kept', limit)).toMatchObject({ value: '7' });
  });

  it('when cancelled ends the work before it rejects', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const script = session.execute(
      'import time\nprint("on", flush=True)\ntry: time.sleep(60)\nfinally: ended = True',
      {
        ...limit,
        signal: controller.signal,
        onOutput: () => {
          controller.abort(reason);
        },
      },
    );
    await expect(script).rejects.toBe(reason);
    expect(await session.execute('ended', limit)).toMatchObject({ value: 'True' });
  });

  it('of a script that will not end costs its session, and no other', async () => {
    const stubborn = await sandbox.openSession();
    const result = await stubborn.execute(
      'import time\nwhile True:\n    try: time.sleep(1)\n    except KeyboardInterrupt: print("no", flush=True)',
      { timeoutMs: 500 },
    );
    expect(result).toMatchObject({ status: 'deadline-exceeded' });
    await expect(stubborn.execute('1', limit)).rejects.toMatchObject({ code: 'SESSION_LOST' });
    expect(await session.execute('kept', limit)).toMatchObject({ value: '7' });
  });

  it('does not reach a script of another session', async () => {
    const other = await sandbox.openSession();
    const controller = new AbortController();
    const unharmed = other.execute('import time\ntime.sleep(1)\n"whole"', limit);
    const script = session.execute('print(1, flush=True)\nwhile True: pass', {
      ...limit,
      signal: controller.signal,
      onOutput: () => {
        controller.abort('stop');
      },
    });
    await expect(script).rejects.toBe('stop');
    expect(await unharmed).toMatchObject({ status: 'ok', value: "'whole'" });
    await other.close();
  });
});

describe('a kernel that dies', () => {
  it('is a lost session: the script is not run again in a new one', async () => {
    const doomed = await sandbox.openSession();
    await expect(
      doomed.execute('open("doomed", "a").write("x")\nimport os\nos._exit(1)', limit),
    ).rejects.toMatchObject({ code: 'SESSION_LOST' });
    expect(await effects('doomed')).toBe(1);
    await expect(doomed.execute('1', limit)).rejects.toMatchObject({ code: 'SESSION_LOST' });
    await doomed.close();
  });
});

describe('files', () => {
  it('go in and out whole, under names of any kind', async () => {
    const content = new Uint8Array(20_000_000).map((_, index) => (index * 31) % 256);
    const path = `folder with "quotes"/ü'% #?/data.bin`;
    await session.uploadFile(path, content);
    const seen = await session.execute(
      `import hashlib\nprint(len(open(${JSON.stringify(path)}, "rb").read()))`,
      limit,
    );
    expect(seen.stdout).toBe('20000000\n');
    const back = await session.downloadFile(path);
    expect(Buffer.compare(Buffer.from(back), Buffer.from(content))).toBe(0);
    const listed = await session.listFiles();
    expect(listed.find((file) => file.path === path)?.sizeBytes).toBe(20_000_000);
  });
});
