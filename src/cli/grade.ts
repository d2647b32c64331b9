import { gradeAgain } from '../batch/grade-again.js';
import { createGrading } from '../batch/grading.js';
import { judgeBy } from '../batch/model-judge.js';
import { writeReport } from '../batch/report/write-report.js';
import { resolveModelConfig, resolveSandboxConfig } from '../config.js';
import type { LogLevel } from '../logger.js';
import { LazyPool } from '../sandbox/lazy-pool.js';
import { openModel, openSandbox } from '../solver.js';
import { tallyText } from './batch-summary-text.js';
import type { CommandContext } from './command-context.js';
import { exitCodes } from './exit-code.js';
import type { ExitCode } from './exit-code.js';
import { countOf, formatCount } from './render/amounts.js';
import { printable } from './render/printable.js';
import { resultScreen } from './result-screen.js';

export interface GradeFlags {
  grader?: string;
  graderOptions?: Record<string, unknown>;
  model?: string;
  isolation: 'auto' | 'required' | 'none';
  allowNetwork?: boolean;
  json?: boolean;
  logLevel: LogLevel;
}

/** Sessions of graders that compute; nothing is opened where none does. */
const SESSIONS = 2;

export async function gradeCommand(
  folder: string,
  flags: GradeFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout, env, signal } = context;
  const { grader, graderOptions, isolation, allowNetwork = false } = flags;
  using screen = resultScreen(flags, context, flags.json);
  const sandboxConfig = resolveSandboxConfig({ isolation, allowNetwork, env });
  await using pool = new LazyPool({
    open: (closed) =>
      openSandbox(sandboxConfig, {
        signal: closed,
        onNotice: (text) => {
          screen.note(text);
        },
      }),
    ownsSandbox: true,
    size: SESSIONS,
  });
  const model =
    flags.model === undefined
      ? undefined
      : await openModel(resolveModelConfig({ model: flags.model, env }));
  let graded = 0;
  screen.status((frame) => `${frame} ${countOf(graded, 'answer')} graded`);
  const summary = await gradeAgain(folder, {
    grading: createGrading({
      grader,
      graderOptions,
      lease: (wanted) => pool.lease(wanted),
      judge: model === undefined ? undefined : judgeBy(model),
    }),
    isOther: grader !== undefined || graderOptions !== undefined,
    signal,
    onRecord: () => {
      graded += 1;
    },
  });
  await writeReport(folder, { signal });
  screen.clearStatus();
  const { changed, finished, total, kept } = summary;
  screen.resultLine(tallyText(summary));
  screen.resultLine(
    `${countOf(changed, 'verdict')} of ${formatCount(finished)} changed${finished < total ? ` (the batch has ${formatCount(total)} samples)` : ''}`,
  );
  screen.resultLine(printable(`The old verdicts are in ${kept}`));
  if (flags.json === true) stdout.write(`${JSON.stringify(summary, undefined, 2)}\n`);
  return exitCodes.done;
}
