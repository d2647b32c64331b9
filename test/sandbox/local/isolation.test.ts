import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { checkBubblewrap } from '../../../src/sandbox/local/isolation.js';
import { startJupyterRuntime } from '../../../src/sandbox/local/jupyter-runtime.js';
import type { JupyterRuntime, RuntimeOptions } from '../../../src/sandbox/local/runtime.js';
import { testPython } from '../../support/python.js';

const holder = fileURLToPath(new URL('../../support/runtime-holder.ts', import.meta.url));
const { isAvailable: hasBubblewrap } = await checkBubblewrap();
const kinds = (['none', 'required'] as const).filter((kind) => kind === 'none' || hasBubblewrap);
const SECRET = 'planted-value-that-must-not-be-seen';

async function start(options: Partial<RuntimeOptions> = {}): Promise<JupyterRuntime> {
  const runtime = await startJupyterRuntime({
    pythonPath: await testPython(),
    isolation: 'none',
    allowNetwork: false,
    ...options,
  });
  onTestFinished(() => runtime.close());
  return runtime;
}

/** The value of the last expression, where the code did not fail. */
async function evaluate(runtime: JupyterRuntime, code: string): Promise<string> {
  const kernel = await runtime.openSession('main');
  const reply = await kernel.execute(code, () => undefined);
  if (reply.status === 'error') throw new Error(reply.traceback.join('\n'));
  return reply.value;
}

/** Everything a script can read about processes, its own included, searched for `needle`. */
function searchProcesses(needle: string): string {
  return `
import glob
found = []
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    try:
        with open(path, "rb") as file:
            if "${needle.slice(0, 10)}" "${needle.slice(10)}" in file.read().decode(errors="replace"):
                found.append(path)
    except OSError:
        pass
found`;
}

describe.runIf(process.platform === 'linux')('secrets of our own environment', () => {
  test.each(kinds)('cannot be seen from a kernel (isolation %s)', async (isolation) => {
    process.env['PLANTED_API_KEY'] = SECRET;
    const holderOfSecret = spawn('sleep', ['600'], { env: { ...process.env, TOKEN: SECRET } });
    onTestFinished(() => {
      delete process.env['PLANTED_API_KEY'];
      holderOfSecret.kill('SIGKILL');
    });
    await once(holderOfSecret, 'spawn');
    const ownView = await readFile(`/proc/${holderOfSecret.pid ?? 0}/environ`, 'utf8');
    expect(ownView).toContain(SECRET);

    const runtime = await start({ isolation });
    expect(await evaluate(runtime, 'import os; "PLANTED_API_KEY" in os.environ')).toBe('False');
    const found = await evaluate(runtime, searchProcesses(SECRET));
    const isHidden = !runtime.isolation.explanation.includes('they can read the environment');
    if (isHidden) expect(found).toBe('[]');
    else expect(found).toContain('environ');
  });

  test('nor can a kernel read or signal what runs outside', async () => {
    const runtime = await start();
    if (runtime.isolation.explanation.includes('they can read')) return;
    const attempt = (action: string): string => `
try:
    ${action}
    outcome = "done"
except OSError as error:
    outcome = type(error).__name__
outcome`;
    const memory = attempt(`open("/proc/${process.pid}/mem", "rb")`);
    expect(await evaluate(runtime, memory)).toBe("'PermissionError'");
    const server = attempt('import os; open(f"/proc/{os.getppid()}/mem", "rb")');
    expect(await evaluate(runtime, server)).toBe("'PermissionError'");
  });

  test('the token of Jupyter is in no command line and no environment', async () => {
    const runtime = await start();
    expect(await evaluate(runtime, searchProcesses(runtime.api.token))).toBe('[]');
  });
});

test.each(kinds)('nothing on disk opens a kernel or Jupyter (isolation %s)', async (isolation) => {
  const runtime = await start({ isolation });
  await runtime.openSession('other');
  const files = 'import os, stat; folder = os.environ["JUPYTER_RUNTIME_DIR"]';
  const regular =
    '[name for name in os.listdir(folder) if stat.S_ISREG(os.stat(f"{folder}/{name}").st_mode)]';
  expect(await evaluate(runtime, `${files}\n${regular}`)).toBe('[]');
});

test.each(kinds)('what a script installs is its own (isolation %s)', async (isolation) => {
  const runtime = await start({ isolation });
  const wheel = `
import subprocess, sys, zipfile
with zipfile.ZipFile("tiny-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("tiny.py", "answer = 42")
    wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
    wheel.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("tiny-1.0.dist-info/RECORD", "")
pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "tiny-1.0-py3-none-any.whl"]
subprocess.run(pip, check=True)
import tiny
tiny.answer, tiny.__file__.startswith(sys.prefix)`;
  expect(await evaluate(runtime, wheel)).toBe('(42, False)');
});

describe.runIf(hasBubblewrap)('bubblewrap', () => {
  test('scripts start in /content, which is the contents API’s content folder', async () => {
    const runtime = await start({ isolation: 'required' });
    expect(runtime.isolation.kind).toBe('bubblewrap');
    expect(runtime.workingDirectory).toBe('/content');
    expect(await evaluate(runtime, 'import os; open("made.txt", "w").close(); os.getcwd()')).toBe(
      "'/content'",
    );
    expect(await evaluate(runtime, 'os.listdir("/content")')).toBe("['made.txt']");
  });

  test('the system is read-only, and files of this machine are out of sight', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'outside-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'private.txt'), 'private');
    const runtime = await start({ isolation: 'required' });
    const look = `import os; os.path.exists("${join(folder, 'private.txt')}"), os.path.exists("/etc/shadow")`;
    expect(await evaluate(runtime, look)).toBe('(False, False)');
    const write = `
refused = []
for folder in ["/usr/bin", "/etc", os.path.dirname(os.__file__)]:
    try:
        open(f"{folder}/written", "w")
    except OSError as error:
        refused.append(type(error).__name__)
len(refused)`;
    expect(await evaluate(runtime, write)).toBe('3');
  });

  test('home, /tmp and worker processes are there', async () => {
    const runtime = await start({ isolation: 'required' });
    const code = `
import multiprocessing, pathlib, socket, tempfile
(pathlib.Path.home() / "note").write_text("x")
tempfile.NamedTemporaryFile().close()
with multiprocessing.Pool(2) as pool:
    squares = pool.map(abs, [-1, -2])
squares, socket.gethostbyname("localhost")`;
    expect(await evaluate(runtime, code)).toBe("([1, 2], '127.0.0.1')");
  });

  test('there is no network unless it is allowed', async () => {
    const server = createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const code = `
import socket
try:
    answer = socket.create_connection(("127.0.0.1", ${port})).recv(5)
except OSError as error:
    answer = type(error).__name__
answer`;
    const closed = await start({ isolation: 'required' });
    expect(await evaluate(closed, code)).toBe("'ConnectionRefusedError'");
    const open = await start({ isolation: 'required', allowNetwork: true });
    expect(await evaluate(open, code)).toBe("b'hello'");
    expect(
      await evaluate(
        open,
        'import ssl; ssl.create_default_context().cert_store_stats()["x509"] > 0',
      ),
    ).toBe('True');
    expect(await evaluate(open, 'open("/etc/resolv.conf").read() != ""')).toBe('True');
  });
});

/** What a start that wants isolation says where programs are looked for in `path` only. */
async function refusal(path: string): Promise<string> {
  const child = spawn(process.execPath, ['--import', 'tsx', holder, 'required'], {
    env: { ...process.env, PATH: path },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return await text(child.stderr);
}

test('where isolation is required and impossible, the start is refused with the remedy', async () => {
  const stderr = await refusal('/nowhere');
  expect(stderr).toContain('ISOLATION_UNAVAILABLE');
  expect(stderr).toContain('--isolation none');
});

test.runIf(process.platform === 'linux').each([
  ['says why', '#!/bin/sh\necho "no namespaces" >&2\nexit 1', '(no namespaces)'],
  ['fails without a word', '#!/bin/sh\nexit 3', '(status 3)'],
])('a bubblewrap that %s is reported as it is', async (_, program, reason) => {
  const folder = await mkdtemp(join(tmpdir(), 'bubblewrap-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'bwrap'), program, { mode: 0o755 });
  expect(await refusal(folder)).toContain(`bubblewrap does not work here ${reason}`);
});

test('without isolation, people are told what that means', async () => {
  const { isolation } = await start();
  expect(isolation.kind).toBe('none');
  expect(isolation.explanation).toContain('scripts can use this user’s files and the network');
});
