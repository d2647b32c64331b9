import type { Logger } from '../../logger.js';
import { connectColab } from '../colab/colab-sandbox.js';
import { fixedToken } from '../colab/sign-in.js';
import type { Sandbox } from '../sandbox.js';
import { startColabServer } from './colab-server.js';
import { startJupyterRuntime } from './jupyter-runtime.js';
import { ensurePythonEnvironment } from './python-environment.js';
import type { JupyterRuntime, RuntimeOptions } from './runtime.js';

export interface LocalSandboxOptions extends Pick<RuntimeOptions, 'isolation' | 'allowNetwork'> {
  /** Where the interpreter and the cache folder are looked for; never handed to a kernel. */
  env: NodeJS.ProcessEnv;
  logger?: Logger;
  onNotice?: (text: string) => void;
  signal?: AbortSignal;
}

/**
 * The embedded sandbox: our own Colab server in this process, used through the same client as Google's.
 * @throws {ConfigError} without a usable Python or, where required, isolation; {@link SandboxError} when it cannot start.
 */
export async function openLocalSandbox(options: LocalSandboxOptions): Promise<Sandbox> {
  const { env, isolation, allowNetwork, logger, onNotice, signal } = options;
  const withSignal = signal === undefined ? {} : { signal };
  const pythonPath = await ensurePythonEnvironment({
    env,
    ...(onNotice !== undefined && { onProgress: onNotice }),
    ...withSignal,
  });
  let startFailure: unknown;
  const startRuntime = async (): Promise<JupyterRuntime> => {
    try {
      const runtime = await startJupyterRuntime({ pythonPath, isolation, allowNetwork });
      if (isolation === 'auto') warnOnce(runtime, onNotice);
      return runtime;
    } catch (error) {
      startFailure = error;
      throw error;
    }
  };
  const server = await startColabServer({ startRuntime, ...(logger !== undefined && { logger }) });
  try {
    const sandbox = await connectColab({
      url: server.url,
      signIn: fixedToken(server.token),
      ...withSignal,
    });
    return withServer(sandbox, server);
  } catch (error) {
    await server.close();
    // It came over the wire as a status of Colab's; here the error itself is at hand.
    throw startFailure ?? error;
  }
}

function withServer(sandbox: Sandbox, server: { close(): Promise<void> }): Sandbox {
  const close = async (): Promise<void> => {
    await sandbox.close();
    await server.close();
  };
  return {
    description: sandbox.description,
    openSession: (options) => sandbox.openSession(options),
    close,
    [Symbol.asyncDispose]: close,
  };
}

let hasWarned = false;

/** Said once a process, so that it is read. */
function warnOnce(runtime: JupyterRuntime, onNotice: ((text: string) => void) | undefined): void {
  if (hasWarned || runtime.isolation.kind !== 'none') return;
  hasWarned = true;
  onNotice?.(`Warning: scripts are ${runtime.isolation.explanation}`);
}
