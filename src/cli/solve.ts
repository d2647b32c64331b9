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
import type { SaveOptions } from './save-files.js';
import { SolveOutput } from './solve-output.js';
import { SolveTranscripts } from './solve-transcripts.js';
import type { TranscriptFlags } from './solve-transcripts.js';

export interface SolveFlags extends RunFlags, TranscriptFlags {
  json?: boolean;
  events?: boolean;
  outDir?: string;
  force?: boolean;
}

export async function solveCommand(
  words: readonly string[],
  flags: SolveFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const { signal, env } = context;
  const prompt = await promptText(words, context);
  using output = new SolveOutput(flags, context);
  try {
    const files = new Map<string, string>();
    const saves = await outDirectory(flags, { saved: files, signal });
    const transcripts = await SolveTranscripts.open(flags);
    await using solver = await createSolver({
      ...runOptions(flags, env),
      maxSessions: 1,
      onNotice: (text) => {
        output.notice(text);
      },
    });
    const events = solver.stream(prompt, { files: flags.file ?? [], keptBytes: 0, signal });
    const result = await shownRun(events, { output, transcripts, signal });
    const saved: SavedPaths = { files, transcripts: [] };
    try {
      saved.transcripts = await transcripts.save(result.toRecordedRun());
      await saves(result);
    } finally {
      // The answer is there even where something cannot be saved.
      output.end(result, saved);
    }
    return exitCodeOfStatus(result.status);
  } catch (error) {
    output.fail(error);
    throw error;
  }
}

interface Watchers {
  output: SolveOutput;
  transcripts: SolveTranscripts;
  signal: AbortSignal;
}

async function shownRun(
  events: AsyncIterable<RunEvent>,
  { output, transcripts, signal }: Watchers,
): Promise<SolveResult> {
  try {
    for await (const event of events) {
      if (event.type === 'run-end') return event;
      output.show(event);
      transcripts.add(event);
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const saving = transcripts.saveCut(signal.aborted ? 'cancelled' : 'failed', reason);
    // What cannot be saved must not take the place of the error that ended the run.
    const paths = await saving.catch((failure: unknown) => [`nothing: ${String(failure)}`]);
    for (const path of paths) output.notice(`saved ${path}`);
    throw error;
  }
  throw new InternalError('A run ended without its result.');
}

/** Checks the folder before anything is run; what it returns saves the files there. */
async function outDirectory(
  { outDir, force = false }: SolveFlags,
  options: SaveOptions,
): Promise<(result: SolveResult) => Promise<unknown>> {
  if (outDir === undefined) return () => Promise.resolve();
  await checkOutDirectory(outDir);
  return (result) => saveFiles(result.files, outDir, { ...options, force });
}
