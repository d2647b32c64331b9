import { openLocalSandbox } from '../src/sandbox/local/local-sandbox.js';
import { ensurePythonEnvironment } from '../src/sandbox/local/python-environment.js';
import type { Session } from '../src/sandbox/sandbox.js';
import { openBareKernel } from './bare-kernel.js';
import { openJupyterWebsocket } from './jupyter-websocket.js';
import { measureInTurns } from './measure.js';
import type { Contender, MeasureOptions } from './measure.js';
import { ratio } from './report.js';
import type { Report } from './report.js';

const code = 'print(1+1)';

/** How much our whole way to a kernel adds to the kernel itself. */
export async function measureExecute(options: MeasureOptions): Promise<Report> {
  const pythonPath = await ensurePythonEnvironment({ env: process.env, onProgress: console.error });
  await using ours = await openOurs('auto', 'colab-solver');
  await using unisolated = await openOurs('none', 'colab-solver, not isolated');
  await using bare = await openBareKernel(pythonPath, code);
  await using websocket = await openJupyterWebsocket(pythonPath, code);
  const spreads = await measureInTurns([ours, unisolated, bare, websocket], options);
  return {
    spreads,
    ratios: [
      ratio(spreads, ours, bare, { goal: 1.6 }),
      ratio(spreads, unisolated, bare, { goal: 1.6 }),
      ratio(spreads, ours, websocket, { goal: 0.5 }),
    ],
  };
}

/** `session.execute` through client, MCP, embedded server, Jupyter Server and kernel. */
async function openOurs(isolation: 'auto' | 'none', name: string): Promise<Contender> {
  const sandbox = await openLocalSandbox({ env: process.env, isolation, allowNetwork: false });
  const session = await sandbox.openSession();
  return {
    name,
    measure: () => execute(session),
    [Symbol.asyncDispose]: () => sandbox.close(),
  };
}

async function execute(session: Session): Promise<number> {
  const started = performance.now();
  const result = await session.execute(code, { timeoutMs: 60_000 });
  const elapsedMs = performance.now() - started;
  if (result.status !== 'ok' || result.stdout !== '2\n')
    throw new Error(`The session answered ${JSON.stringify(result)}.`);
  return elapsedMs;
}
