import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { commandLine } from './command-line.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Without any key. Rejects where the example does not end with code 0. */
async function run(path: string): Promise<string> {
  const { HOME, PATH, XDG_CACHE_HOME, COLAB_SOLVER_PYTHON } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', path], {
    cwd: root,
    env: { HOME, PATH, XDG_CACHE_HOME, COLAB_SOLVER_PYTHON },
  });
  return stdout;
}

describe('examples end well without a key', () => {
  it.each([
    ['examples/demo/demo.ts', /✓ 3 runs answered, 7 scripts run, every result as recorded/],
    ['examples/solve.ts', /desk lamp/],
    ['examples/stream.ts', /OUTCOME_FAILED[^]*OUTCOME_OK[^]*answered: /],
    [
      'examples/functions.ts',
      /functionCall, functionResponse, executableCode, codeExecutionResult, text/,
    ],
  ])('%s', async (path, output) => {
    expect(await run(path)).toMatch(output);
  });

  it('the demo’s runs replay', async () => {
    const folder = `${root}/examples/demo`;
    const args = ['replay', `${folder}/runs.jsonl`, '--file', `${folder}/orders.csv`];
    expect(await commandLine(args)).toMatchObject({
      code: 0,
      stdout: '7 of 7 judged outputs equal\n',
    });
  });
});
