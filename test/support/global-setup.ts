import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensurePythonEnvironment } from '../../src/sandbox/local/python-environment.js';

/**
 * Makes the Python environment once, before any test file starts. Without one, only tests that need a kernel fail.
 * What runs note of themselves goes into a folder that is removed at the end.
 */
export default async function setUp(): Promise<() => Promise<void>> {
  const state = await mkdtemp(join(tmpdir(), 'colab-solver-state-'));
  process.env['COLAB_SOLVER_HOME'] = state;
  const onProgress = (line: string): void => {
    process.stderr.write(`${line}\n`);
  };
  try {
    await ensurePythonEnvironment({ env: process.env, onProgress });
  } catch (error) {
    onProgress(`No Python environment, so tests that need a kernel will fail. ${String(error)}`);
  }
  return () => rm(state, { recursive: true, force: true });
}
