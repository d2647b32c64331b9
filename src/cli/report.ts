import { join } from 'node:path';
import { accuracyText, count } from '../batch/report/report-text.js';
import { reportFiles, writeReport } from '../batch/report/write-report.js';
import type { LogLevel } from '../logger.js';
import type { CommandContext } from './command-context.js';
import { exitCodes } from './exit-code.js';
import type { ExitCode } from './exit-code.js';
import { printable } from './render/printable.js';
import { resultScreen } from './result-screen.js';

export interface ReportFlags {
  compare?: string;
  logLevel: LogLevel;
}

export async function reportCommand(
  folder: string,
  flags: ReportFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const { compare } = flags;
  const { signal } = context;
  using screen = resultScreen(flags, context);
  screen.status((frame) => `${frame} writing the report`);
  const { figures, comparison } = await writeReport(folder, { compare, signal });
  screen.clearStatus();
  const { finished, errors } = figures.tally;
  const accuracy = accuracyText(figures.tally);
  screen.resultLine(
    printable(`accuracy ${accuracy}, ${count(finished)} samples, ${count(errors)} errors`),
  );
  if (comparison !== undefined) {
    const { pairs, gained, lost } = comparison.counts;
    screen.resultLine(
      printable(
        `${count(gained)} gained and ${count(lost)} lost of ${count(pairs)} graded in ${compare ?? ''}, too`,
      ),
    );
  }
  for (const name of Object.values(reportFiles)) screen.resultLine(printable(join(folder, name)));
  return exitCodes.done;
}
