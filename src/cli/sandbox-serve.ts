import { once } from 'node:events';
import { createLogger } from '../logger.js';
import type { LogLevel } from '../logger.js';
import { startColabServer } from '../sandbox/local/colab-server.js';
import { chooseIsolation } from '../sandbox/local/isolation.js';
import { startJupyterRuntime } from '../sandbox/local/jupyter-runtime.js';
import { ensurePythonEnvironment } from '../sandbox/local/python-environment.js';
import type { CommandContext } from './command-context.js';
import { exitCodes } from './exit-code.js';
import type { ExitCode } from './exit-code.js';
import { NOWHERE, Screen } from './render/screen.js';

export interface ServeFlags {
  port: number;
  isolation: 'auto' | 'required' | 'none';
  allowNetwork?: boolean;
  logLevel: LogLevel;
}

/** Serves until the signal fires, which is the normal end. */
export async function serveCommand(flags: ServeFlags, context: CommandContext): Promise<ExitCode> {
  const { isolation, allowNetwork = false, port, logLevel } = flags;
  const { env, signal, stdout, stderr } = context;
  using screen = new Screen({ log: logLevel === 'silent' ? NOWHERE : stderr, env });
  const { isIsolated, reason } = await chooseIsolation(isolation);
  const pythonPath = await ensurePythonEnvironment({
    env,
    signal,
    onProgress: (text) => {
      screen.note(text);
    },
  });
  await using server = await startColabServer({
    port,
    logger: createLogger({ level: logLevel }),
    startRuntime: (options) =>
      startJupyterRuntime({ pythonPath, isolation, allowNetwork, ...options }),
  });
  signal.throwIfAborted();
  stdout.write(`MCP endpoint: ${server.url}\nToken: ${server.token}\n`);
  if (!isIsolated)
    screen.note(`Warning: scripts are not isolated from this machine, since ${reason}.`);
  screen.note('Runtimes are made when a client asks for one. To try it, with the token in TOKEN:');
  screen.line(`    ${tryLine(server.url)}`);
  screen.note('Ctrl-C ends it and everything it started.');
  await once(signal, 'abort');
  return exitCodes.done;
}

function tryLine(url: string): string {
  const headers = [
    'Authorization: Bearer $TOKEN',
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
  ];
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'list_runtime_specs', arguments: {} },
  };
  const options = headers.map((header) => `-H "${header}"`).join(' ');
  return `curl -s ${url} ${options} -d '${JSON.stringify(call)}'`;
}
