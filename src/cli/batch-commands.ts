import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import type { BatchFlags } from './batch.js';
import type { CommandContext } from './command-context.js';
import type { ExitCode } from './exit-code.js';
import type { GradeFlags } from './grade.js';
import { batchHelp, gradeHelp, reportHelp } from './help.js';
import {
  addFileOption,
  addIsolationOptions,
  addLimitOptions,
  addLogLevelOption,
  addModelOptions,
  addSandboxOptions,
  seconds,
  wholeNumber,
} from './options.js';
import type { ReportFlags } from './report.js';

type OnEnd = (code: ExitCode) => void;

export function addBatch(program: Command, context: CommandContext, onEnd: OnEnd): void {
  const command = program
    .command('batch')
    .summary('evaluate a data set; the same command goes on with it')
    .description(
      'Runs and grades the samples of a data set. What is finished is on disk: the same command goes on from there.',
    )
    .argument('<dataset>', 'samples as .jsonl, .json, .csv or .tsv; a file of recorded runs, too')
    .requiredOption('--out <dir>', 'the folder of the batch; made where it is not there');
  addDataOptions(command);
  addGraderOptions(command.optionsGroup('Grading:'));
  addFileOption(addModelOptions(command));
  addSandboxOptions(command);
  addLimitOptions(command)
    .option('--concurrency <n>', 'samples at once, at most', wholeNumber, DEFAULT_CONCURRENCY)
    .option('--retries <n>', 'times a sample begins again after a failure that may pass', whole, 1)
    .option(
      '--max-sample-tokens <n>',
      'tokens after which a sample takes no further step',
      wholeNumber,
    )
    .option('--max-sample-cost <dollars>', 'the same in US dollars', dollars)
    .option('--max-cost <dollars>', 'dollars after which no further sample begins', dollars)
    .option(
      '--fail-on-error <n or share>',
      'end with exit code 3 when more samples than these failed: 5, 0.1 or 10%',
      errorLimit,
    )
    .option('--grace <seconds>', 'what running samples are given at Ctrl-C', duration, 10)
    .optionsGroup('Output:')
    .option('--force-new', 'put what the folder holds aside, into earlier/, and begin anew')
    .option('--json', 'print the summary as one JSON object');
  addLogLevelOption(command)
    .addHelpText('after', batchHelp)
    .action(async (dataset: string, flags: BatchFlags) => {
      const { batchCommand } = await import('./batch.js');
      onEnd(await batchCommand(dataset, flags, context));
    });
}

export function addGrade(program: Command, context: CommandContext, onEnd: OnEnd): void {
  const command = program
    .command('grade')
    .summary('grade the answers of a batch again')
    .description(
      'Grades the answers of a batch again. Nothing is run again; the verdicts are replaced in one go and the old ones kept.',
    )
    .argument('<dir>', 'the folder given to batch with --out');
  addGraderOptions(command.optionsGroup('Grading:')).option(
    '--model <id>',
    'whom graders that need a judge may ask (default: nobody)',
  );
  addIsolationOptions(command.optionsGroup('Sandbox (for graders that compute):'));
  command.optionsGroup('Output:').option('--json', 'print the summary as one JSON object');
  addLogLevelOption(command)
    .addHelpText('after', gradeHelp)
    .action(async (folder: string, flags: GradeFlags) => {
      const { gradeCommand } = await import('./grade.js');
      onEnd(await gradeCommand(folder, flags, context));
    });
}

export function addReport(program: Command, context: CommandContext, onEnd: OnEnd): void {
  const command = program
    .command('report')
    .summary('write the report of a batch again')
    .description(
      'Writes report.md and report.html from what the folder of a batch holds, also while it still runs.',
    )
    .argument('<dir>', 'the folder given to batch with --out')
    .option('--compare <dir>', 'the folder of another batch, to be compared with sample by sample');
  addLogLevelOption(command)
    .addHelpText('after', reportHelp)
    .action(async (folder: string, flags: ReportFlags) => {
      const { reportCommand } = await import('./report.js');
      onEnd(await reportCommand(folder, flags, context));
    });
}

/** Runs mostly wait for the model. */
const DEFAULT_CONCURRENCY = 8;

function addDataOptions(command: Command): void {
  command
    .optionsGroup('Samples:')
    .option('--limit <n>', 'only the first n', wholeNumber)
    .option('--sample-ids <ids>', 'only these, between commas', list)
    .option('--shuffle', 'in an order that --seed decides; --limit counts after that')
    .option('--seed <n>', 'of the order (default: 0)', seed)
    .option('--epochs <n>', 'times each one is run', wholeNumber, 1)
    .option('--prompt-field <name>', 'field of the prompt, such as question (default: prompt)')
    .option('--target-field <name>', 'field of the target, such as answer (default: target)')
    .option('--id-field <name>', 'field of the id (default: id, else the place from 1)')
    .option('--grader-field <name>', 'field of the grader (default: grader)')
    .option('--options-field <name>', "field of the grader's options (default: options)")
    .option('--files-field <name>', 'field of the files (default: files)');
}

function addGraderOptions(command: Command): Command {
  return command
    .option('--grader <name>', 'grader for all samples (default: as each says, else by its target)')
    .option(
      '--grader-options <json>',
      'options for all graders, such as {"tolerance": 0.01}',
      json,
    );
}

function list(text: string): string[] {
  return text
    .split(',')
    .map((id) => id.trim())
    .filter((id) => id !== '');
}

function whole(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give a whole number from 0 upwards.');
}

function seed(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('Give a whole number.');
}

function dollars(text: string): number {
  const value = Number(text.replace(/^\$/, ''));
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError('Give US dollars as a number above 0, such as 2.50.');
}

function duration(text: string): number {
  return text.trim() === '0' ? 0 : seconds(text);
}

/** All of them is no limit. */
function errorLimit(text: string): number | undefined {
  const [, digits = '', percent] = /^\s*(\d+(?:\.\d+)?)\s*(%?)\s*$/.exec(text) ?? [];
  const value = percent === '%' ? Number(digits) / 100 : Number(digits);
  if (digits !== '' && percent === '%' && value >= 1) return undefined;
  if (digits !== '' && (value < 1 || Number.isInteger(value))) return value;
  throw new InvalidArgumentError(
    'Give a number of samples, such as 5, or a share, such as 0.1 or 10%.',
  );
}

function json(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // Told below.
  }
  throw new InvalidArgumentError('Give a JSON object, such as {"tolerance": 0.01}.');
}
