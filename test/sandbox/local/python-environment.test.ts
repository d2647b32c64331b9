import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cacheFolder } from '../../../src/sandbox/local/cache-folder.js';
import {
  ensurePythonEnvironment,
  inspectPythonEnvironment,
} from '../../../src/sandbox/local/python-environment.js';
import { findInterpreter } from '../../../src/sandbox/local/python-interpreter.js';
import { HANGING_UV, QUICK_UV, fakePython, writeProgram } from '../../support/fake-programs.js';
import { childrenOf, processesNaming, uniqueSeconds, until } from '../../support/processes.js';

const holder = fileURLToPath(new URL('../../support/environment-holder.ts', import.meta.url));
const { path: realPython } = await findInterpreter({ env: process.env });

let folder: string;
let programs: string;
let requirementsPath: string;
let env: NodeJS.ProcessEnv;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'environment-'));
  programs = await mkdtemp(join(folder, 'bin-'));
  requirementsPath = join(folder, 'requirements.txt');
  await writeFile(requirementsPath, '# nothing\n');
  await symlink(realPython, join(programs, 'python3'));
  env = {
    HOME: folder,
    XDG_CACHE_HOME: join(folder, 'cache'),
    PATH: `${programs}:/usr/bin:/bin`,
    SLEEP_SECONDS: uniqueSeconds(),
  };
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function ensure(signal?: AbortSignal): Promise<string> {
  return ensurePythonEnvironment({ env, requirementsPath, ...(signal && { signal }) });
}

/** Folders of environments, complete or not. */
async function environments(): Promise<string[]> {
  const names = await readdir(cacheFolder(env)).catch(() => []);
  return names.filter((name) => !name.endsWith('.lock'));
}

function startHolder(): ChildProcessByStdio<null, Readable, null> {
  return spawn(process.execPath, ['--import', 'tsx', holder, requirementsPath], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

/** Waits for the step that hangs, which has a process of its own. */
async function untilHanging(): Promise<void> {
  await until(() => processesNaming(`sleep ${env['SLEEP_SECONDS'] ?? ''}`).length > 0);
}

describe('an environment', () => {
  test('is made by venv and pip where uv fails, and works', async () => {
    await writeProgram(programs, 'uv', 'exit 2');
    const python = await ensure();
    const version = spawn(python, ['-m', 'pip', '--version'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    expect(await text(version.stdout)).toContain(dirname(dirname(python)));
  });

  test('is found again without starting a Python', async () => {
    await writeProgram(programs, 'uv', QUICK_UV);
    const lines: string[] = [];
    const onProgress = (line: string): void => void lines.push(line);
    const first = await ensurePythonEnvironment({ env, requirementsPath, onProgress });
    expect(lines[0]).toContain('Making the Python environment');
    env['PATH'] = '/nowhere';
    lines.length = 0;
    expect(await ensurePythonEnvironment({ env, requirementsPath, onProgress })).toBe(first);
    expect(lines).toEqual([]);
  });

  test('belongs to its requirements', async () => {
    await writeProgram(programs, 'uv', QUICK_UV);
    const first = await ensure();
    await writeFile(requirementsPath, '# something else\n');
    expect(await ensure()).not.toBe(first);
  });

  test('is made anew when its interpreter is gone', async () => {
    await writeProgram(programs, 'uv', QUICK_UV);
    const python = await ensure();
    await rm(python);
    await symlink('/gone/python', python);
    expect(await inspectPythonEnvironment({ env, requirementsPath })).toMatchObject({
      status: 'to-be-made',
    });
    expect(await ensure()).toBe(python);
    expect(existsSync(python)).toBe(true);
  });

  test('is made once by two processes that want it at the same time', async () => {
    await writeProgram(programs, 'uv', QUICK_UV);
    const outputs = await Promise.all(
      [startHolder(), startHolder()].map((one) => text(one.stdout)),
    );
    const made = outputs.map((output) => /^made: .*$/m.exec(output)?.[0]);
    expect(made[0]).toBeDefined();
    expect(made[0]).toBe(made[1]);
    expect(outputs.join('').match(/progress: Making the Python environment/g)).toHaveLength(1);
  });

  test('is not begun by looking', async () => {
    expect(await inspectPythonEnvironment({ env, requirementsPath })).toMatchObject({
      status: 'to-be-made',
    });
    expect(existsSync(cacheFolder(env))).toBe(false);
  });
});

describe('a half-made environment', () => {
  beforeEach(() => writeProgram(programs, 'uv', HANGING_UV));

  async function expectNothingLeft(): Promise<void> {
    await until(() => processesNaming(folder).length === 0);
    expect(await environments()).toEqual([]);
    expect(processesNaming(`sleep ${env['SLEEP_SECONDS'] ?? ''}`)).toEqual([]);
  }

  test('is removed when the caller gives up', async () => {
    const cancelled = new AbortController();
    const reason = new Error('Never mind.');
    const making = expect(ensure(cancelled.signal)).rejects.toBe(reason);
    await untilHanging();
    cancelled.abort(reason);
    await making;
    await expectNothingLeft();
  });

  test('is removed when the caller is killed', async () => {
    const caller = startHolder();
    await untilHanging();
    caller.kill('SIGKILL');
    await expectNothingLeft();
  });

  test('never counts, even when the builder itself is killed, and the next call starts over', async () => {
    const caller = startHolder();
    await untilHanging();
    const [builder = 0] = childrenOf(caller.pid ?? 0, 'make_environment');
    process.kill(builder, 'SIGKILL');
    await once(caller, 'exit');
    await until(() => processesNaming(`sleep ${env['SLEEP_SECONDS'] ?? ''}`).length === 0);
    expect(await environments()).toHaveLength(1);
    await writeProgram(programs, 'uv', QUICK_UV);
    const python = await ensure();
    expect(existsSync(join(dirname(dirname(python)), 'complete'))).toBe(true);
  });
});

describe('a failure', () => {
  test('of the installer shows the end of what it said and leaves nothing', async () => {
    await writeFile(requirementsPath, `no-such-package==1.0 --hash=sha256:${'0'.repeat(64)}\n`);
    env['PIP_NO_INDEX'] = '1';
    await expect(ensure()).rejects.toMatchObject({
      code: 'PYTHON_SETUP_FAILED',
      message: expect.stringMatching(/Check the network[^]*no-such-package/) as string,
    });
    expect(await environments()).toEqual([]);
  });

  test('for lack of space says so', async () => {
    await writeProgram(
      programs,
      'uv',
      'echo "error: No space left on device (os error 28)"; exit 2',
    );
    await expect(ensure()).rejects.toMatchObject({
      code: 'DISK_FULL',
      message: expect.stringContaining('XDG_CACHE_HOME') as string,
    });
    expect(await environments()).toEqual([]);
  });

  test('to write the cache folder is a clear error', async () => {
    env['XDG_CACHE_HOME'] = requirementsPath;
    await expect(ensure()).rejects.toMatchObject({
      code: 'PYTHON_SETUP_FAILED',
      message: expect.stringContaining(`${requirementsPath}/colab-solver/python-3.`) as string,
    });
    await expect(ensure()).rejects.toThrow('cannot be written. Set XDG_CACHE_HOME');
  });
});

test('installers get their own settings, and no secret that is none of theirs', async () => {
  await writeProgram(programs, 'uv', `env > "${folder}/seen"\n${QUICK_UV}`);
  Object.assign(env, {
    GEMINI_API_KEY: 'secret',
    COLAB_ACCESS_TOKEN: 'secret',
    PIP_INDEX_URL: 'https://mirror.example/simple',
    HTTPS_PROXY: 'http://proxy.example:3128',
  });
  await ensure();
  const seen = await readFile(join(folder, 'seen'), 'utf8');
  expect(seen).not.toContain('secret');
  expect(seen).toContain('PIP_INDEX_URL=https://mirror.example/simple');
  expect(seen).toContain('HTTPS_PROXY=http://proxy.example:3128');
});

describe('without a usable Python', () => {
  beforeEach(() => {
    env['PATH'] = programs;
  });

  test.each([
    ['none', undefined, 'none is in PATH'],
    ['too old', fakePython({ version: '3.8.18' }), '3.8.18, too old'],
    ['too new', fakePython({ version: '3.99.0' }), '3.99.0, too new'],
    ['without venv', fakePython({ version: '3.11.2', missing: ['ensurepip'] }), 'python3-venv'],
    ['broken', 'exit 1', 'does not run'],
  ])('(%s) the error says what was found and what to do', async (_name, program, message) => {
    await rm(join(programs, 'python3'));
    if (program !== undefined) await writeProgram(programs, 'python3', program);
    const error = expect.objectContaining({
      code: 'PYTHON_NOT_FOUND',
      message: expect.stringContaining(message) as string,
    }) as Error;
    await expect(ensure()).rejects.toEqual(error);
    await expect(ensure()).rejects.toThrow(/Install Python 3\.10/);
    expect(await inspectPythonEnvironment({ env, requirementsPath })).toEqual({
      status: 'unusable',
      error,
    });
  });

  test('a numbered one is taken in place of an old python3', async () => {
    await rm(join(programs, 'python3'));
    await writeProgram(programs, 'python3', fakePython({ version: '3.6.15' }));
    await symlink(realPython, join(programs, 'python3.12'));
    expect(await inspectPythonEnvironment({ env, requirementsPath })).toMatchObject({
      status: 'to-be-made',
    });
  });
});

describe('COLAB_SOLVER_PYTHON', () => {
  test('is used as it is where it has the packages', async () => {
    await writeProgram(programs, 'mine', fakePython({ version: '3.12.0' }));
    env['COLAB_SOLVER_PYTHON'] = join(programs, 'mine');
    expect(await ensure()).toBe(join(programs, 'mine'));
  });

  test('is refused with the names of what is missing', async () => {
    await writeProgram(
      programs,
      'mine',
      fakePython({ version: '3.12.0', missing: ['jupyter_server', 'sympy'] }),
    );
    env['COLAB_SOLVER_PYTHON'] = join(programs, 'mine');
    await expect(ensure()).rejects.toMatchObject({
      code: 'PYTHON_NOT_FOUND',
      message: expect.stringMatching(/lacks jupyter_server, sympy.*pip install/) as string,
    });
  });

  test('is refused where it does not run', async () => {
    env['COLAB_SOLVER_PYTHON'] = '/nowhere/python';
    await expect(ensure()).rejects.toMatchObject({
      code: 'PYTHON_NOT_FOUND',
      message: expect.stringContaining('/nowhere/python') as string,
    });
  });
});

test('the cache folder is the one of the platform unless one is named', () => {
  expect(cacheFolder({ HOME: '/home/a' }, 'linux')).toBe('/home/a/.cache/colab-solver');
  expect(cacheFolder({ HOME: '/Users/a' }, 'darwin')).toBe('/Users/a/Library/Caches/colab-solver');
  expect(cacheFolder({ HOME: '/home/a', XDG_CACHE_HOME: '/x' }, 'darwin')).toBe('/x/colab-solver');
  expect(cacheFolder({ HOME: '/home/a', XDG_CACHE_HOME: 'relative' }, 'linux')).toBe(
    '/home/a/.cache/colab-solver',
  );
});
