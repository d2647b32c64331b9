/** Makes a Python environment as a process of its own; prints progress lines, then the interpreter's path. */
import { ensurePythonEnvironment } from '../../src/sandbox/local/python-environment.js';

const [requirementsPath = ''] = process.argv.slice(2);
const path = await ensurePythonEnvironment({
  env: process.env,
  requirementsPath,
  onProgress: (line) => process.stdout.write(`progress: ${line}\n`),
});
process.stdout.write(`made: ${path}\n`);
