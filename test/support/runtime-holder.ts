/** Starts a runtime with stubborn processes in it, says where in one line of JSON, and waits to be killed. */
import { dirname } from 'node:path';
import { startJupyterRuntime } from '../../src/sandbox/local/jupyter-runtime.js';
import { testPython } from './python.js';
import { stubbornScript } from './processes.js';

const [isolation, seconds = ''] = process.argv.slice(2);

const runtime = await startJupyterRuntime({
  pythonPath: await testPython(),
  isolation: isolation === 'required' ? 'required' : 'none',
  allowNetwork: false,
});
const kernel = await runtime.openSession('held');
await kernel.execute(stubbornScript(seconds), () => undefined);
const folder = dirname(dirname(runtime.api.socketPath));
process.stdout.write(`${JSON.stringify({ folder })}\n`);
setInterval(() => undefined, 60_000);
