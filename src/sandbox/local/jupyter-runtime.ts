import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import { DeadlineReached, abortable, linkSignal } from '../../abort.js';
import { SandboxError } from '../../errors.js';
import { bubblewrapArgv, chooseIsolation, describeIsolation } from './isolation.js';
import type { IsolationChoice } from './isolation.js';
import { JupyterApi } from './jupyter-api.js';
import { JupyterSessions } from './jupyter-sessions.js';
import {
  certificatePaths,
  kernelEnvironment,
  supervisorEnvironment,
} from './kernel-environment.js';
import { pythonFile, pythonFolder } from './python-folder.js';
import { isolatedFolders, makeRuntimeFolders, socketPath } from './runtime-folders.js';
import type { RuntimeFolders } from './runtime-folders.js';
import type { Isolation, JupyterRuntime, Kernel, RuntimeOptions } from './runtime.js';
import { Supervisor } from './supervisor.js';
import type { Command } from './supervisor.js';

const START_TIMEOUT_MS = 60_000;
const ISOLATED_PATH = '/usr/local/bin:/usr/bin:/bin';
const TOKEN_BYTES = 24;

/**
 * Starts Jupyter Server in a process of its own and waits until it answers.
 * @throws {ConfigError} `ISOLATION_UNAVAILABLE`.
 * @throws {SandboxError} `RUNTIME_START_FAILED`.
 */
export async function startJupyterRuntime(options: RuntimeOptions): Promise<JupyterRuntime> {
  const choice = await chooseIsolation(options.isolation);
  options.signal?.throwIfAborted();
  using deadline = linkSignal(options.signal, START_TIMEOUT_MS);
  const supervisor = new Supervisor(options.pythonPath, supervisorEnvironment(process.env));
  try {
    return await startServer(supervisor, { ...options, ...choice, signal: deadline.signal });
  } catch (error) {
    await supervisor.end();
    if (!(error instanceof DeadlineReached)) throw error;
    const message = `The Jupyter runtime did not start within ${START_TIMEOUT_MS / 1000} s; try again.`;
    throw new SandboxError('RUNTIME_START_FAILED', message, { cause: error, isRetryable: true });
  }
}

interface StartOptions extends RuntimeOptions, IsolationChoice {
  signal: AbortSignal;
}

async function startServer(
  supervisor: Supervisor,
  options: StartOptions,
): Promise<LocalJupyterRuntime> {
  const { isIsolated, signal } = options;
  const { path, pythonPaths } = await abortable(supervisor.folder, signal);
  const outside = await makeRuntimeFolders(path);
  const inside = isIsolated ? isolatedFolders : outside;
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  supervisor.run(serverCommand({ ...options, outside, inside, pythonPaths, token }));
  const { pythonVersion, isHidden } = await abortable(supervisor.ready, signal);
  return new LocalJupyterRuntime({
    supervisor,
    api: new JupyterApi(socketPath(outside), token),
    pythonVersion,
    isolation: describeIsolation({ ...options, isHidden }),
    workingDirectory: inside.content,
  });
}

interface ServerCommandOptions extends StartOptions {
  outside: RuntimeFolders;
  inside: RuntimeFolders;
  pythonPaths: string[];
  token: string;
}

function serverCommand(options: ServerCommandOptions): Command {
  const { pythonPath, isIsolated, outside, inside, token } = options;
  const server = [pythonPath, '-I', '-B', pythonFile('colab_runtime/server.py')];
  const certificates = options.allowNetwork ? certificatePaths(process.env) : [];
  const readOnly = [...options.pythonPaths, pythonFolder, ...certificates].filter(
    (path) => !isSystemPath(path),
  );
  const wrapper = isIsolated
    ? bubblewrapArgv(options.bubblewrapPath, { outside, inside, readOnly }, options.allowNetwork)
    : [];
  return {
    argv: [...wrapper, ...server],
    env: kernelEnvironment(process.env, {
      folders: inside,
      path: [dirname(pythonPath), isIsolated ? ISOLATED_PATH : process.env['PATH']].join(':'),
    }),
    cwd: outside.content,
    // Not in argv or the environment, which kernels could read.
    input: `${JSON.stringify({ token, socketPath: socketPath(inside), rootFolder: inside.root, runFolder: inside.run })}\n`,
  };
}

/** Isolated runtimes have these already. */
function isSystemPath(path: string): boolean {
  return path === '/' || path === '/usr' || path.startsWith('/usr/');
}

interface RuntimeParts {
  supervisor: Supervisor;
  api: JupyterApi;
  pythonVersion: string;
  isolation: Isolation;
  workingDirectory: string;
}

class LocalJupyterRuntime implements JupyterRuntime {
  readonly pythonVersion: string;
  readonly isolation: Isolation;
  readonly workingDirectory: string;
  readonly api: JupyterApi;
  readonly exited: Promise<string>;
  readonly #supervisor: Supervisor;
  readonly #sessions: JupyterSessions;

  constructor(parts: RuntimeParts) {
    this.pythonVersion = parts.pythonVersion;
    this.isolation = parts.isolation;
    this.workingDirectory = parts.workingDirectory;
    this.api = parts.api;
    this.#supervisor = parts.supervisor;
    this.#sessions = new JupyterSessions(parts.api);
    this.exited = parts.supervisor.exited.then(async (how) => {
      await this.#sessions.close(`its runtime has ended: ${how}`);
      this.api[Symbol.dispose]();
      return how;
    });
  }

  openSession(sessionId: string): Promise<Kernel> {
    return this.#sessions.open(sessionId);
  }

  listSessions(): Promise<string[]> {
    return this.#sessions.list();
  }

  deleteSession(sessionId: string): Promise<void> {
    return this.#sessions.delete(sessionId);
  }

  async close(): Promise<void> {
    await this.#supervisor.end();
    await this.exited;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
