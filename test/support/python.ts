import { ensurePythonEnvironment } from '../../src/sandbox/local/python-environment.js';

/** The interpreter of the embedded sandbox; the global set-up has made its environment. */
export function testPython(): Promise<string> {
  return ensurePythonEnvironment({ env: process.env });
}
