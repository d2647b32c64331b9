import { ensurePythonEnvironment } from '../../src/sandbox/local/python-environment.js';

/** Makes the Python environment once, before any test file starts. Without one, only tests that need a kernel fail. */
export default async function setUp(): Promise<void> {
  const onProgress = (line: string): void => {
    process.stderr.write(`${line}\n`);
  };
  try {
    await ensurePythonEnvironment({ env: process.env, onProgress });
  } catch (error) {
    onProgress(`No Python environment, so tests that need a kernel will fail. ${String(error)}`);
  }
}
