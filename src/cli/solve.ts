import type { RunEvent, SolveResult } from '../agent/events.js';
import { InternalError } from '../errors.js';
import { createSolver } from '../solver.js';
import type { CommandContext } from './command-context.js';
import { exitCodeOfStatus } from './exit-code.js';
import type { ExitCode } from './exit-code.js';
import { runOptions } from './options.js';
import type { RunFlags } from './options.js';
import { promptText } from './prompt-text.js';
import type { SavedPaths } from './result-record.js';
import { checkOutDirectory, saveFiles } from './save-files.js';
import { SolveOutput } from './solve-output.js';

export interface SolveFlags extends RunFlags {
  json?: boolean;
  events?: boolean;
  outDir?: string;
}

export async function solveCommand(
  words: readonly string[],
  flags: SolveFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const prompt = await promptText(words, context);
  using output = new SolveOutput(flags, context);
  try {
    const saves = await outDirectory(flags.outDir);
    await using solver = await createSolver({
      ...runOptions(flags, context.env),
      maxSessions: 1,
      onNotice: (text) => {
        output.notice(text);
      },
    });
    const { signal } = context;
    const result = await shownRun(
      solver.stream(prompt, { files: flags.file ?? [], signal }),
      output,
    );
    const saved = await saves(result).catch((error: unknown) => {
      // The answer is there all the same.
      output.end(result, new Map());
      throw error;
    });
    output.end(result, saved);
    return exitCodeOfStatus(result.status);
  } catch (error) {
    output.fail(error);
    throw error;
  }
}

async function shownRun(
  events: AsyncIterable<RunEvent>,
  output: SolveOutput,
): Promise<SolveResult> {
  for await (const event of events) {
    if (event.type === 'run-end') return event;
    output.show(event);
  }
  throw new InternalError('A run ended without its result.');
}

/** Checks the folder before anything is run; what it returns saves the files there. */
async function outDirectory(
  directory: string | undefined,
): Promise<(result: SolveResult) => Promise<SavedPaths>> {
  if (directory === undefined) return () => Promise.resolve(new Map());
  await checkOutDirectory(directory);
  return (result) => saveFiles(result.files, directory);
}
