import { join } from 'node:path';
import { reportFiles } from '../batch/report/write-report.js';
import type { BatchOptions } from '../batch/batch-options.js';
import type { BatchSummary } from '../batch/batch-summary.js';
import { createSolver } from '../solver.js';
import { BatchProgress } from './batch-progress.js';
import { summaryLines } from './batch-summary-text.js';
import type { CommandContext } from './command-context.js';
import { exitCodes } from './exit-code.js';
import type { ExitCode } from './exit-code.js';
import { runOptions } from './options.js';
import type { RunFlags } from './options.js';
import { printable } from './render/printable.js';
import { resultScreen } from './result-screen.js';

export interface BatchFlags extends RunFlags {
  out: string;
  limit?: number;
  sampleIds?: string[];
  shuffle?: boolean;
  seed?: number;
  epochs: number;
  promptField?: string;
  targetField?: string;
  idField?: string;
  graderField?: string;
  optionsField?: string;
  filesField?: string;
  grader?: string;
  graderOptions?: Record<string, unknown>;
  concurrency: number;
  retries: number;
  maxSampleTokens?: number;
  maxSampleCost?: number;
  maxCost?: number;
  failOnError?: number;
  /** Seconds. */
  grace: number;
  forceNew?: boolean;
  json?: boolean;
}

export async function batchCommand(
  dataset: string,
  flags: BatchFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout, env } = context;
  using screen = resultScreen(flags, context, flags.json);
  using progress = new BatchProgress(screen, flags.out);
  let summary: BatchSummary;
  {
    await using solver = await createSolver({
      ...runOptions(flags, env),
      maxSessions: flags.concurrency,
      onNotice: (text) => {
        screen.note(text);
      },
    });
    try {
      summary = await solver.batch(dataset, {
        ...batchOptions(flags),
        signal: context.signal,
        onEvent: (event) => {
          progress.show(event);
        },
      });
    } catch (error) {
      const stopped = progress.stop();
      if (flags.json === true && stopped !== undefined)
        stdout.write(`${JSON.stringify({ status: 'stopped', ...stopped }, undefined, 2)}\n`);
      throw error;
    }
  }
  progress.end();
  for (const line of summaryLines(summary)) screen.resultLine(line);
  screen.resultLine(printable(`Report: ${join(flags.out, reportFiles.html)}`));
  if (flags.json === true) stdout.write(`${JSON.stringify(summary, undefined, 2)}\n`);
  return summary.status === 'completed' ? exitCodes.done : exitCodes.unanswered;
}

function batchOptions(flags: BatchFlags): BatchOptions {
  const { out, limit, sampleIds, shuffle, seed, epochs, grader, graderOptions } = flags;
  const { concurrency, retries, maxSampleTokens, maxSampleCost, maxCost, failOnError } = flags;
  return {
    ...{ out, limit, sampleIds, shuffle, seed, epochs, grader, graderOptions },
    ...{ concurrency, retries, maxSampleTokens, maxSampleCost, maxCost, failOnError },
    fields: {
      id: flags.idField,
      prompt: flags.promptField,
      target: flags.targetField,
      grader: flags.graderField,
      options: flags.optionsField,
      files: flags.filesField,
    },
    files: flags.file,
    graceMs: flags.grace * 1000,
    forceNew: flags.forceNew,
  };
}
