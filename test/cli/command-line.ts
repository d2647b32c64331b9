import { PassThrough } from 'node:stream';
import type { CommandContext } from '../../src/cli/command-context.js';
import { runProgram } from '../../src/cli/program.js';

export interface CommandLineOptions {
  env?: NodeJS.ProcessEnv;
  /** Standard input; default empty. */
  input?: string | Uint8Array;
  signal?: AbortSignal;
}

export interface CommandLineEnd {
  code: number;
  stdout: string;
  stderr: string;
}

/** The command line within this process, with streams that are no terminals and an environment of its own. */
export async function commandLine(
  argv: readonly string[],
  { env = {}, input = '', signal = new AbortController().signal }: CommandLineOptions = {},
): Promise<CommandLineEnd> {
  const stdin = new PassThrough();
  stdin.end(input);
  const printed = { stdout: '', stderr: '' };
  const { HOME, PATH, XDG_CACHE_HOME, COLAB_SOLVER_PYTHON, COLAB_SOLVER_HOME } = process.env;
  const context = {
    stdin,
    stdout: { write: (text: string) => (printed.stdout += text) },
    stderr: { write: (text: string) => (printed.stderr += text) },
    env: { HOME, PATH, XDG_CACHE_HOME, COLAB_SOLVER_PYTHON, COLAB_SOLVER_HOME, ...env },
    signal,
    interrupts: { take: () => ({ [Symbol.dispose]: () => undefined }) },
  } as unknown as CommandContext;
  const code = await runProgram(argv, context);
  return { code, ...printed };
}
