import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startJupyterRuntime } from '../../../src/sandbox/local/jupyter-runtime.js';
import type { JupyterRuntime, Kernel, KernelReply } from '../../../src/sandbox/local/runtime.js';
import { testPython } from '../../support/python.js';

let runtime: JupyterRuntime;
let kernel: Kernel;

beforeAll(async () => {
  const pythonPath = await testPython();
  runtime = await startJupyterRuntime({ pythonPath, isolation: 'none', allowNetwork: false });
  kernel = await runtime.openSession('main');
});

afterAll(async () => {
  await runtime.close();
});

interface Run {
  reply: KernelReply;
  stdout: string;
  stderr: string;
}

async function run(code: string, on: Kernel = kernel): Promise<Run> {
  const text = { stdout: '', stderr: '' };
  const reply = await on.execute(code, (chunk) => {
    text[chunk.stream] += chunk.text;
  });
  return { reply, ...text };
}

function ignore(): void {
  // Not every test cares for output.
}

/** Resolves with the kernel's first output. */
function firstOutput(code: string): { seen: Promise<string>; done: Promise<KernelReply> } {
  let see!: (text: string) => void;
  const seen = new Promise<string>((resolve) => (see = resolve));
  const done = kernel.execute(code, (chunk) => {
    see(chunk.text);
  });
  return { seen, done };
}

test('state lasts between executions, and the last expression is the value', async () => {
  await run('x = 41');
  const { reply } = await run('x + 1');
  expect(reply).toMatchObject({ status: 'ok', value: '42' });
});

test('a statement or None has no value', async () => {
  expect((await run('y = 1')).reply).toMatchObject({ status: 'ok', value: '' });
  expect((await run('None')).reply).toMatchObject({ status: 'ok', value: '' });
});

test('the execution count rises by one for each script', async () => {
  const first = (await run('1')).reply.executionCount;
  expect((await run('1/0')).reply.executionCount).toBe(first + 1);
  expect((await run('1')).reply.executionCount).toBe(first + 2);
});

test('code that raises is a value with name, message and a traceback without colours', async () => {
  const { reply, stdout } = await run('print("before")\n{}["missing"]');
  expect(stdout).toBe('before\n');
  if (reply.status !== 'error') throw new Error('It must fail.');
  expect(reply).toMatchObject({ name: 'KeyError', message: "'missing'" });
  expect(reply.traceback.join('\n')).toContain('{}["missing"]');
  expect(reply.traceback.join('\n')).not.toContain('\u001b');
});

test('a syntax error is a value', async () => {
  expect((await run('def f(:')).reply).toMatchObject({ status: 'error', name: 'SyntaxError' });
});

test.each(['sys.stdout', 'sys.stderr'])('%s arrives while the script runs', async (stream) => {
  const { seen, done } = firstOutput(`
import os, sys, time
print("waiting", file=${stream})
while not os.path.exists("go-${stream}"):
    time.sleep(0.01)
`);
  expect(await seen).toBe('waiting\n');
  await writeFile(join(runtime.workingDirectory, `go-${stream}`), '');
  expect(await done).toMatchObject({ status: 'ok' });
});

test('what child processes print stays in its place', async () => {
  const { stdout, stderr } = await run(`
import os, subprocess, sys
print("a")
subprocess.run(["echo", "b"])
print("c")
subprocess.run(["echo", "d"], stdout=sys.stdout)
os.system("echo e; echo f >&2")
`);
  expect(stdout).toBe('a\nb\nc\nd\ne\n');
  expect(stderr).toBe('f\n');
});

test('no character is torn, from Python or from a child process', async () => {
  const { stdout } = await run(`
import os, subprocess
os.environ["TEXT"] = "é€😀" * 3000
print(os.environ["TEXT"] * 20)
subprocess.run('printf %s "$TEXT"', shell=True)
`);
  expect(stdout === `${'é€😀'.repeat(60_000)}\n${'é€😀'.repeat(3000)}`).toBe(true);
});

test('50 MB arrive whole at a slow reader, in small pieces', { timeout: 120_000 }, async () => {
  let length = 0;
  let longest = 0;
  const before = process.memoryUsage().rss;
  let highest = before;
  const reply = await kernel.execute(
    'for _ in range(50): print("x" * 999_999)',
    async ({ text }) => {
      length += text.length;
      longest = Math.max(longest, text.length);
      highest = Math.max(highest, process.memoryUsage().rss);
      await new Promise(setImmediate);
    },
  );
  expect(reply.status).toBe('ok');
  expect(length).toBe(50_000_000);
  expect(longest).toBeLessThanOrEqual(64 * 1024);
  expect(highest - before).toBeLessThan(100 * 1024 * 1024);
});

test('a reader who makes the kernel wait loses no line', { timeout: 120_000 }, async () => {
  const lines: string[] = [];
  let rest = '';
  await kernel.execute('for i in range(3000): print(i, flush=True)', async ({ text }) => {
    await new Promise(setImmediate);
    const pieces = (rest + text).split('\n');
    rest = pieces.pop() ?? '';
    lines.push(...pieces);
  });
  expect(lines).toEqual(Array.from({ length: 3000 }, (_, index) => String(index)));
});

test('an interrupt ends the script, and variables stay', async () => {
  await run('kept = "still here"');
  const { seen, done } = firstOutput('import time\nprint("on")\nwhile True: time.sleep(0.01)');
  await seen;
  await kernel.interrupt();
  expect(await done).toMatchObject({ status: 'error', name: 'KeyboardInterrupt' });
  expect((await run('kept')).reply).toMatchObject({ value: "'still here'" });
});

test('an interrupt sent right behind the script is not lost', { timeout: 120_000 }, async () => {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const done = kernel.execute('while True: pass', ignore);
    await kernel.interrupt();
    expect(await done).toMatchObject({ status: 'error', name: 'KeyboardInterrupt' });
    expect((await run('1 + 1')).reply).toMatchObject({ status: 'ok', value: '2' });
  }
});

test('an interrupt of an idle kernel does nothing', async () => {
  await kernel.interrupt();
  expect((await run('2')).reply).toMatchObject({ status: 'ok', value: '2' });
});

test.each([
  ['input("name? ")', 'input() is not available'],
  ['import getpass; getpass.getpass()', 'getpass() is not available'],
])('%s fails at once and says why', async (code, message) => {
  const { reply } = await run(code);
  if (reply.status !== 'error') throw new Error('It must fail.');
  expect(reply.message).toContain(message);
});

test('reading standard input finds its end at once', async () => {
  expect((await run('import sys; sys.stdin.read()')).reply).toMatchObject({ value: "''" });
});

test('a chart needs no display and prints no warning', async () => {
  const { reply, stderr } = await run(
    'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()',
  );
  expect(reply.status).toBe('ok');
  expect(stderr).toBe('');
});

test('a kernel that is killed loses its session, and others go on', async () => {
  const doomed = await runtime.openSession('doomed');
  await run('x = 1', doomed);
  const execution = run('import os; print("last words"); os.kill(os.getpid(), 9)', doomed);
  await expect(execution).rejects.toMatchObject({
    code: 'SESSION_LOST',
    message: expect.stringContaining('signal 9 (SIGKILL)') as string,
  });
  await expect(run('1', doomed)).rejects.toMatchObject({ code: 'SESSION_LOST' });
  expect((await run('1 + 1')).reply).toMatchObject({ value: '2' });
  const fresh = await runtime.openSession('doomed');
  expect((await run('x', fresh)).reply).toMatchObject({ status: 'error', name: 'NameError' });
});

test('a death in the midst of a script comes after its output', async () => {
  const doomed = await runtime.openSession('talkative');
  const go = join(runtime.workingDirectory, 'go-die');
  let stdout = '';
  const execution = doomed.execute(
    'import os; print("last words", flush=True)\nwhile not os.path.exists("go-die"): pass\nos._exit(3)',
    async ({ text }) => {
      stdout += text;
      await writeFile(go, '');
    },
  );
  await expect(execution).rejects.toMatchObject({
    code: 'SESSION_LOST',
    message: expect.stringContaining('exit code 3') as string,
  });
  expect(stdout).toBe('last words\n');
});

test('deleting a session ends the script in it', async () => {
  const doomed = await runtime.openSession('deleted');
  let begin!: () => void;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const execution = doomed.execute('print("on", flush=True)\nwhile True: pass', begin);
  const outcome = expect(execution).rejects.toMatchObject({ code: 'SESSION_LOST' });
  await begun;
  await runtime.deleteSession('deleted');
  await outcome;
  expect(await runtime.listSessions()).not.toContain('deleted');
});

test('a listener that throws fails its own script only', async () => {
  const failure = new Error('The reader has gone.');
  const execution = kernel.execute('for i in range(3): print(i, flush=True)', () => {
    throw failure;
  });
  await expect(execution).rejects.toBe(failure);
  expect((await run('print("next")')).stdout).toBe('next\n');
});

test('a second script at once is refused, and the first goes on', async () => {
  const first = run('"first"');
  await expect(run('1')).rejects.toMatchObject({ code: 'INTERNAL' });
  expect((await first).reply).toMatchObject({ value: "'first'" });
});

test('a script can import a module that lies beside it', async () => {
  const { stdout } = await run(
    "open('beside.py', 'w').write('answer = 42')\nimport beside\nprint(beside.answer)",
  );
  expect(stdout).toBe('42\n');
});

test.each([
  ['printed text', String.raw`print("a\ud800b")`, { status: 'ok' }, 'a\\ud800b\n'],
  ['an exception', String.raw`raise ValueError("\udfff")`, { message: '\\udfff' }, ''],
  ['the code itself', 'x = "\ud800"', { status: 'error' }, ''],
])('half a character in %s costs neither the rest nor the session', async (_, code, reply, out) => {
  const { reply: given, stdout } = await run(code);
  expect(given).toMatchObject(reply);
  expect(stdout).toBe(out);
  expect((await run('"alive"')).reply).toMatchObject({ value: "'alive'" });
});

test('an interrupt ends a script that awaits something', async () => {
  const { seen, done } = firstOutput(
    'import asyncio\nprint("on", flush=True)\nawait asyncio.sleep(1e6)',
  );
  await seen;
  await kernel.interrupt();
  expect(await done).toMatchObject({ status: 'error', name: 'CancelledError' });
});

test('a script that forks ends in both processes, and both are heard', async () => {
  const code = `
import os, sys
child = os.fork()
print("child" if child == 0 else "parent")
if child:
    ended, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status))`;
  const { stdout } = await run(code);
  expect(stdout.split('\n').sort()).toEqual(['', '0', 'child', 'parent']);
  const { reply } = await run('os.getpid() == os.getpgid(0)');
  expect(reply).toMatchObject({ value: 'True' });
});

test('of a value too long to be wanted only the beginning leaves the kernel', async () => {
  const { reply } = await run("'v' * 100_000_000");
  expect(reply.status === 'ok' && reply.value.length).toBe(16 * 1024 * 1024);
});

test.runIf(process.platform === 'linux')('where memory runs out, scripts go first', async () => {
  const { reply } = await run('open("/proc/self/oom_score_adj").read()');
  expect(reply).toMatchObject({ value: String.raw`'1000\n'` });
});
