import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ColabServer, ColabServerOptions } from '../../src/sandbox/local/colab-server.js';
import { startColabServer } from '../../src/sandbox/local/colab-server.js';
import { startJupyterRuntime } from '../../src/sandbox/local/jupyter-runtime.js';
import type { RuntimeOptions } from '../../src/sandbox/local/runtime.js';
import { processesNaming } from './processes.js';
import { testPython } from './python.js';

/** The embedded server over real kernels, with an eye on what it leaves behind. */
export interface EmbeddedColab extends ColabServer {
  /** Folders and processes of its runtimes that are still there. */
  leftovers(): string[];
}

export async function startEmbeddedColab(
  options: Omit<ColabServerOptions, 'startRuntime'> &
    Partial<Pick<RuntimeOptions, 'isolation'>> = {},
): Promise<EmbeddedColab> {
  const { isolation = 'none', ...rest } = options;
  const pythonPath = await testPython();
  const folders: string[] = [];
  const server = await startColabServer({
    ...rest,
    async startRuntime({ signal }) {
      const confinement = { isolation, allowNetwork: false };
      const runtime = await startJupyterRuntime({ pythonPath, ...confinement, signal });
      folders.push(dirname(dirname(runtime.api.socketPath)));
      return runtime;
    },
  });
  const leftovers = (): string[] =>
    folders.flatMap((folder) => [
      ...(existsSync(folder) ? [folder] : []),
      ...processesNaming(folder),
    ]);
  return { ...server, leftovers };
}
