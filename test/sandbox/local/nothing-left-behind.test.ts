import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { checkBubblewrap } from '../../../src/sandbox/local/isolation.js';
import { startJupyterRuntime } from '../../../src/sandbox/local/jupyter-runtime.js';
import { findInterpreter } from '../../../src/sandbox/local/python-interpreter.js';
import type { JupyterRuntime } from '../../../src/sandbox/local/runtime.js';
import {
  childrenOf,
  processesNaming,
  stubbornScript,
  uniqueSeconds,
  until,
} from '../../support/processes.js';
import { testPython } from '../../support/python.js';

const holder = fileURLToPath(new URL('../../support/runtime-holder.ts', import.meta.url));
const { isAvailable: hasBubblewrap } = await checkBubblewrap();
const isLinux = process.platform === 'linux';

interface Stubborn {
  runtime: JupyterRuntime;
  folder: string;
  seconds: string;
}

async function startStubborn(isolation: 'none' | 'required'): Promise<Stubborn> {
  const pythonPath = await testPython();
  const runtime = await startJupyterRuntime({ pythonPath, isolation, allowNetwork: false });
  const kernel = await runtime.openSession('stubborn');
  const seconds = uniqueSeconds();
  await kernel.execute(stubbornScript(seconds), () => undefined);
  await until(() => processesNaming(seconds).length >= 3);
  return { runtime, folder: dirname(dirname(runtime.api.socketPath)), seconds };
}

function isClean({ folder, seconds }: { folder: string; seconds: string }): boolean {
  return (
    !existsSync(folder) &&
    processesNaming(folder).length === 0 &&
    processesNaming(seconds).length === 0
  );
}

const kinds = (['none', 'required'] as const).filter((kind) => kind === 'none' || hasBubblewrap);

test.each(kinds)('closing a runtime (isolation %s) ends all it started', async (isolation) => {
  const stubborn = await startStubborn(isolation);
  expect(isClean(stubborn)).toBe(false);
  await Promise.all([stubborn.runtime.close(), stubborn.runtime.close()]);
  expect(isClean(stubborn)).toBe(true);
  expect(await stubborn.runtime.exited).toBe('it was closed');
});

test.each(kinds)('SIGKILL of the parent (isolation %s) ends all it started', async (isolation) => {
  const seconds = uniqueSeconds();
  const parent = spawn(process.execPath, ['--import', 'tsx', holder, isolation, seconds], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface(parent.stdout);
  const [line] = (await once(lines, 'line')) as [string];
  const { folder } = JSON.parse(line) as { folder: string };
  expect(isClean({ folder, seconds })).toBe(false);
  parent.kill('SIGKILL');
  await until(() => isClean({ folder, seconds }));
});

// Elsewhere orphans cannot be found again.
test.runIf(isLinux).each([
  ['first half', (guard: number) => guard],
  ['second half', (guard: number) => childrenOf(guard)[0] ?? 0],
])('SIGKILL of the %s of the supervisor is noticed and ends all', async (_half, victim) => {
  const stubborn = await startStubborn('none');
  process.kill(victim(supervisorPid()), 'SIGKILL');
  await stubborn.runtime.exited;
  expect(isClean(stubborn)).toBe(true);
  await expect(stubborn.runtime.openSession('next')).rejects.toMatchObject({
    code: 'RUNTIME_LOST',
  });
  await stubborn.runtime.close();
});

test.runIf(hasBubblewrap)('SIGKILL of the whole supervisor ends an isolated runtime', async () => {
  const stubborn = await startStubborn('required');
  const guard = supervisorPid();
  for (const pid of [guard, ...childrenOf(guard)]) process.kill(pid, 'SIGKILL');
  await until(() => isClean(stubborn));
  await stubborn.runtime.close();
});

test('the death of Jupyter itself is told with its cause', async () => {
  const stubborn = await startStubborn('none');
  const [server] = childrenOf(childrenOf(supervisorPid())[0] ?? 0, 'server.py');
  process.kill(server ?? 0, 'SIGKILL');
  expect(await stubborn.runtime.exited).toContain('-9');
  expect(isClean(stubborn)).toBe(true);
});

test('an aborted start leaves nothing', async () => {
  const pythonPath = await testPython();
  // Other test files run runtimes of their own meanwhile.
  const before = childrenOf(process.pid, 'colab_runtime');
  const cancelled = new AbortController();
  const reason = new Error('Never mind.');
  const start = startJupyterRuntime({
    pythonPath,
    isolation: 'none',
    allowNetwork: false,
    signal: cancelled.signal,
  });
  cancelled.abort(reason);
  await expect(start).rejects.toBe(reason);
  expect(childrenOf(process.pid, 'colab_runtime')).toEqual(before);
});

test('an interpreter that is none is a clear error', async () => {
  const start = startJupyterRuntime({
    pythonPath: '/nowhere/python',
    isolation: 'none',
    allowNetwork: false,
  });
  await expect(start).rejects.toMatchObject({
    code: 'RUNTIME_START_FAILED',
    message: expect.stringContaining('/nowhere/python') as string,
  });
});

test('an interpreter without Jupyter is a clear error', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bare-python-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { path } = await findInterpreter({ env: process.env });
  await promisify(execFile)(path, ['-m', 'venv', '--without-pip', folder]);
  const start = startJupyterRuntime({
    pythonPath: join(folder, 'bin', 'python'),
    isolation: 'none',
    allowNetwork: false,
  });
  await expect(start).rejects.toMatchObject({
    code: 'RUNTIME_START_FAILED',
    message: expect.stringContaining('No module named') as string,
  });
});

test('a folder whose owner was killed is removed by the next runtime, one in use is not', async () => {
  const first = await startStubborn('none');
  const stale = await oldFolder(dirname(first.folder), ['runtime.lock']);
  const empty = await oldFolder(dirname(first.folder), []);
  const second = await startStubborn('none');
  expect(existsSync(stale)).toBe(false);
  expect(existsSync(empty)).toBe(false);
  expect(existsSync(first.folder)).toBe(true);
  await Promise.all([first.runtime.close(), second.runtime.close()]);
});

test('a folder of somebody else with a name like ours stays, whatever its age', async () => {
  const first = await startStubborn('none');
  const theirs = await oldFolder(dirname(first.folder), ['lock', 'answer.txt']);
  const second = await startStubborn('none');
  expect(existsSync(join(theirs, 'answer.txt'))).toBe(true);
  await rm(theirs, { recursive: true });
  await Promise.all([first.runtime.close(), second.runtime.close()]);
});

async function oldFolder(parent: string, files: string[]): Promise<string> {
  const folder = await mkdtemp(join(parent, 'colab-solver-'));
  for (const name of files) await writeFile(join(folder, name), '');
  const anHourAgo = Date.now() / 1000 - 3600;
  await utimes(folder, anHourAgo, anHourAgo);
  return folder;
}

/** The one supervisor that runs below this process. */
function supervisorPid(): number {
  return childrenOf(process.pid, 'supervisor.py')[0] ?? 0;
}

const DEEP_FOLDERS = `
import os
here = os.getcwd()
for _ in range(3000):
    os.mkdir('d')
    os.chdir('d')
os.chmod('.', 0)
os.chdir(here)
`;

test.each(kinds)(
  'folders without end (isolation %s) are removed with the rest',
  async (isolation) => {
    const pythonPath = await testPython();
    const runtime = await startJupyterRuntime({ pythonPath, isolation, allowNetwork: false });
    const kernel = await runtime.openSession('deep');
    const reply = await kernel.execute(DEEP_FOLDERS, () => undefined);
    expect(reply.status).toBe('ok');
    await runtime.close();
    expect(existsSync(dirname(dirname(runtime.api.socketPath)))).toBe(false);
  },
);
