import { join } from 'node:path';
import { accuracyText, count } from '../batch/report/report-text.js';
import { reportFiles, writeReport } from '../batch/report/write-report.js';
import type { LogLevel } from '../logger.js';
import type { CommandContext } from './command-context.js';
import { exitCodes } from './exit-code.js';
import type { ExitCode } from './exit-code.js';
import { printable } from './render/printable.js';
import { NOWHERE, Screen } from './render/screen.js';

export interface ReportFlags {
  compare?: string;
  logLevel: LogLevel;
}

export async function reportCommand(
  folder: string,
  { compare, logLevel }: ReportFlags,
  { stdout, stderr, env, signal }: CommandContext,
): Promise<ExitCode> {
  using screen = new Screen({ log: logLevel === 'silent' ? NOWHERE : stderr, text: stdout, env });
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
