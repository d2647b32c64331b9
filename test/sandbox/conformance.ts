import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OutputChunk } from '../../src/sandbox/execution.js';
import type { Sandbox, Session } from '../../src/sandbox/sandbox.js';

/** For what has to work on a slow network too. */
const LONG_MS = 120_000;
const limit = { timeoutMs: LONG_MS };

/** Prints, then does not end by itself. */
const ENDLESS = 'print("so far", flush=True)\nwhile True: pass';
/** Catches its interrupts. */
const STUBBORN = `
import time
print("on", flush=True)
while True:
    try: time.sleep(1)
    except KeyboardInterrupt: pass
`;

/** What the port promises, whoever keeps it. `open` gives a sandbox that is closed at the end. */
export function describeSandbox(name: string, open: () => Promise<Sandbox>): void {
  describe(name, { timeout: 3 * LONG_MS }, () => {
    let sandbox: Sandbox;
    let session: Session;

    beforeAll(async () => {
      sandbox = await open();
      session = await sandbox.openSession();
    }, LONG_MS);

    afterAll(() => sandbox.close(), LONG_MS);

    const run = (code: string) => session.execute(code, limit);
    const unique = (prefix: string): string => `${prefix}-${crypto.randomUUID()}`;

    describe('state', () => {
      it('lasts from script to script: names, imports, functions', async () => {
        await run('import math\nkept = [1, 2]\ndef double(n): return 2 * n');
        await run('kept.append(double(21))');
        expect(await run('kept, math.floor(2.5)')).toMatchObject({
          status: 'ok',
          value: '([1, 2, 42], 2)',
        });
      });

      it('is each session’s own, the working directory their common one', async () => {
        const other = await sandbox.openSession();
        const file = unique('shared');
        await run(`own = 1\nopen("${file}", "w").write("from the first")`);
        const seen = await other.execute(
          `print("own" in globals(), open("${file}").read())`,
          limit,
        );
        expect(seen.stdout).toBe('False from the first\n');
        await other.close();
        expect(await run('own')).toMatchObject({ value: '1' });
      });

      it('is not touched by the same script twice over: it runs twice', async () => {
        await run('times = 0');
        await run('times += 1');
        await run('times += 1');
        await run('times += 1');
        expect(await run('times')).toMatchObject({ value: '3' });
      });
    });

    describe('output', () => {
      it('is shown while the script still runs', async () => {
        const file = unique('go');
        const code = `
import os, time
print("ready", flush=True)
while not os.path.exists("${file}"): time.sleep(0.05)
`;
        let answered: Promise<void> | undefined;
        const result = await session.execute(code, {
          ...limit,
          onOutput: () => {
            answered ??= session.uploadFile(file, new Uint8Array());
          },
        });
        await answered;
        expect(result).toMatchObject({ status: 'ok', stdout: 'ready\n' });
      });

      it('comes whole, each line once: live as well as in the result, which tells its streams apart', async () => {
        let shown = '';
        const onOutput = ({ text }: OutputChunk): void => {
          shown += text;
        };
        const code = `
import sys
for line in range(200): print(line, "žluťoučký 🐎", flush=True)
print("grüße", file=sys.stderr, flush=True)
`;
        const result = await session.execute(code, { ...limit, onOutput });
        const lines = Array.from({ length: 200 }, (_, line) => `${line} žluťoučký 🐎\n`).join('');
        expect(result).toMatchObject({ status: 'ok', stdout: lines, stderr: 'grüße\n' });
        // Not every server says of live output which stream it is.
        expect(shown).toBe(`${lines}grüße\n`);
      });

      it('is nothing where nothing is printed', async () => {
        expect(await run('silent = True')).toMatchObject({
          status: 'ok',
          stdout: '',
          stderr: '',
          value: '',
          outputTruncated: false,
        });
      });
    });

    describe('a failing script', () => {
      it.each([
        ['raise ValueError("no\\nreally")', 'ValueError', 'no\nreally'],
        ['1 +', 'SyntaxError', expect.any(String) as string],
        ['undefined_name', 'NameError', expect.stringContaining('undefined_name') as string],
      ])('is a value: %j', async (code, errorName, value) => {
        const result = await run(`print("before")\n${code}`);
        expect(result).toMatchObject({ status: 'failed', error: { name: errorName, value } });
        if (result.status === 'failed') expect(result.error.traceback.length).toBeGreaterThan(0);
        expect(await run('"on"')).toMatchObject({ value: "'on'" });
      });
    });

    describe('the limit of a script', () => {
      it('interrupts it, gives what was printed and keeps the variables', async () => {
        await run('kept = 7');
        expect(await session.execute(ENDLESS, { timeoutMs: 3_000 })).toMatchObject({
          status: 'deadline-exceeded',
          limitMs: 3_000,
          stdout: 'so far\n',
        });
        expect(await run('kept')).toMatchObject({ value: '7' });
      });

      it('costs a script that will not end its session, and no other one theirs', async () => {
        const doomed = await sandbox.openSession();
        await run('kept = 8');
        expect(await doomed.execute(STUBBORN, { timeoutMs: 3_000 })).toMatchObject({
          status: 'deadline-exceeded',
          stdout: 'on\n',
        });
        await expect(doomed.execute('1', limit)).rejects.toMatchObject({ code: 'SESSION_LOST' });
        expect(await run('kept')).toMatchObject({ value: '8' });
      });
    });

    describe('cancelling', () => {
      it('ends the work, then rejects with the reason itself', async () => {
        const controller = new AbortController();
        const reason = new Error('enough');
        const code =
          'import time\nprint("on", flush=True)\ntry: time.sleep(600)\nfinally: ended = True';
        const script = session.execute(code, {
          ...limit,
          signal: controller.signal,
          onOutput: () => {
            controller.abort(reason);
          },
        });
        await expect(script).rejects.toBe(reason);
        expect(await run('ended')).toMatchObject({ value: 'True' });
      });

      it('beforehand keeps a script from running', async () => {
        await run('ran = False');
        const signal = AbortSignal.abort('not at all');
        await expect(session.execute('ran = True', { ...limit, signal })).rejects.toBe(
          'not at all',
        );
        expect(await run('ran')).toMatchObject({ value: 'False' });
      });

      it('a script that waits its turn leaves the running one alone', async () => {
        const file = unique('finish');
        const waiting = new AbortController();
        const first = session.execute(
          `import os, time\nprint("on", flush=True)\nwhile not os.path.exists("${file}"): time.sleep(0.05)\n"whole"`,
          {
            ...limit,
            onOutput: () => {
              waiting.abort('no longer needed');
            },
          },
        );
        const second = session.execute('second = 1', { ...limit, signal: waiting.signal });
        await expect(second).rejects.toBe('no longer needed');
        await session.uploadFile(file, new Uint8Array());
        expect(await first).toMatchObject({ status: 'ok', value: "'whole'" });
        expect(await run('"second" in globals()')).toMatchObject({ value: 'False' });
      });

      it('reaches no script of another session', async () => {
        const other = await sandbox.openSession();
        const file = unique('other');
        const unharmed = other.execute(
          `import os, time\nwhile not os.path.exists("${file}"): time.sleep(0.05)\n"whole"`,
          limit,
        );
        const controller = new AbortController();
        const script = session.execute(ENDLESS, {
          ...limit,
          signal: controller.signal,
          onOutput: () => {
            controller.abort('stop');
          },
        });
        await expect(script).rejects.toBe('stop');
        await session.uploadFile(file, new Uint8Array());
        expect(await unharmed).toMatchObject({ status: 'ok', value: "'whole'" });
        await other.close();
      });
    });

    describe('scripts of one session', () => {
      it('run one after the other, in the order of the calls', async () => {
        await run('order = []');
        const scripts = [3, 1, 2].map((tenths) =>
          run(`import time; time.sleep(${tenths / 10}); order.append(${tenths})`),
        );
        await Promise.all(scripts);
        expect(await run('order')).toMatchObject({ value: '[3, 1, 2]' });
      });
    });

    describe('a kernel that dies', () => {
      it('is a lost session whose script does not run again', async () => {
        const doomed = await sandbox.openSession();
        const file = unique('effect');
        const code = `open("${file}", "a").write("x")\nimport os\nos._exit(1)`;
        await expect(doomed.execute(code, limit)).rejects.toMatchObject({ code: 'SESSION_LOST' });
        await expect(doomed.execute('1', limit)).rejects.toMatchObject({ code: 'SESSION_LOST' });
        await doomed.close();
        expect((await session.downloadFile(file)).length).toBe(1);
      });
    });

    describe('a closed session', () => {
      it('refuses scripts, and minds no second close', async () => {
        const closed = await sandbox.openSession();
        await closed.close();
        await closed.close();
        await expect(closed.execute('1', limit)).rejects.toMatchObject({ code: 'CLOSED' });
      });
    });

    describe('files', () => {
      it('go in and out whole, under names of any kind', async () => {
        const content = new Uint8Array(9_000_000).map((_, index) => (index * 31) % 256);
        const path = `${unique('folder with "quotes"')}/ü'% #?/data.bin`;
        await session.uploadFile(path, content);
        const seen = await run(`print(len(open(${JSON.stringify(path)}, "rb").read()))`);
        expect(seen.stdout).toBe('9000000\n');
        const back = await session.downloadFile(path);
        expect(Buffer.compare(Buffer.from(back), Buffer.from(content))).toBe(0);
        const listed = await session.listFiles();
        expect(listed.find((file) => file.path === path)?.sizeBytes).toBe(9_000_000);
      });

      it('that scripts write are listed and come out, empty ones too', async () => {
        const file = unique('written');
        await run(`open("${file}", "w").close()`);
        expect((await session.listFiles()).find(({ path }) => path === file)?.sizeBytes).toBe(0);
        expect(await session.downloadFile(file)).toHaveLength(0);
      });

      it('that are not there are NOT_FOUND; paths that lead out are refused', async () => {
        await expect(session.downloadFile(unique('nowhere'))).rejects.toMatchObject({
          code: 'NOT_FOUND',
        });
        await expect(session.downloadFile('../etc/passwd')).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
        });
      });
    });
  });
}
