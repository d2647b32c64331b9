import { Command, CommanderError } from 'commander';
import { packageVersion } from '../package-version.js';
import { addBatch, addGrade, addReport } from './batch-commands.js';
import { OutputClosed } from './cancellation.js';
import type { CommandContext } from './command-context.js';
import { exitCodeOfError, exitCodes } from './exit-code.js';
import type { ExitCode } from './exit-code.js';
import { faultText } from './fault-text.js';
import {
  chatHelp,
  cleanHelp,
  doctorHelp,
  listHelp,
  programHelp,
  replayHelp,
  serveHelp,
  solveHelp,
  specsHelp,
} from './help.js';
import {
  addEndpointOption,
  addExecutionTimeoutOption,
  addFileOption,
  addIsolationOptions,
  addLimitOptions,
  addLogLevelOption,
  addModelOptions,
  addSandboxOptions,
  portNumber,
  wholeNumber,
} from './options.js';
import type { ChatFlags } from './chat/chat-host.js';
import type { DoctorFlags } from './doctor.js';
import type { ReplayFlags } from './replay.js';
import type { CleanFlags } from './sandbox-clean.js';
import type { ListFlags } from './sandbox-list.js';
import type { ServeFlags } from './sandbox-serve.js';
import type { SpecsFlags } from './sandbox-specs.js';
import type { SolveFlags } from './solve.js';

/** Runs one command line to its end; everything it opened is closed by then. Never rejects. */
export async function runProgram(
  argv: readonly string[],
  context: CommandContext,
): Promise<ExitCode> {
  let exitCode: ExitCode = exitCodes.done;
  const program = buildProgram(context, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    return failed(error, argv, context);
  }
}

function failed(error: unknown, argv: readonly string[], context: CommandContext): ExitCode {
  if (error instanceof CommanderError)
    return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  const { signal, stderr } = context;
  if (signal.reason instanceof OutputClosed) return exitCodes.done;
  const isDebug = /--log-level[ =]debug\b/.test(argv.join(' '));
  stderr.write(`${faultText(error, { isDebug: isDebug && error !== signal.reason })}\n`);
  return signal.aborted ? exitCodes.cancelled : exitCodeOfError(error);
}

/** Commands are loaded when they run, so that `--help` and usage errors are quick. */
function buildProgram(context: CommandContext, onEnd: (code: ExitCode) => void): Command {
  const program = new Command('colab-solver')
    .description(
      'Answers questions by writing Python and running it, on Google Colab or on this machine.',
    )
    .version(packageVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .usage('<command> [options]')
    .addHelpText('after', programHelp)
    .exitOverride()
    .configureHelp({ styleTitle: (text) => `\u001B[1m${text}\u001B[22m` })
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      outputError: (text, write) => {
        write(usageText(text));
      },
    });

  addSolve(program, context, onEnd);
  addChat(program, context, onEnd);
  addBatch(program, context, onEnd);
  addGrade(program, context, onEnd);
  addReport(program, context, onEnd);
  addReplay(program, context, onEnd);
  addSandbox(program, context, onEnd);
  addDoctor(program, context, onEnd);
  return program;
}

function addSolve(
  program: Command,
  context: CommandContext,
  onEnd: (code: ExitCode) => void,
): void {
  const command = program
    .command('solve')
    .summary('answer one question')
    .description(
      'Answers one question. The answer goes to standard output, progress to standard error.',
    )
    .argument('[prompt]', 'the question, in quotes; - reads it from standard input')
    .usage('[options] <prompt or ->')
    .allowExcessArguments();
  addFileOption(addModelOptions(command));
  addSandboxOptions(command);
  addLimitOptions(command);
  command
    .optionsGroup('Output:')
    .option('--json', 'print one JSON object with the result and its transcript')
    .option('--events', 'print what happens as JSON lines; the last one holds the result')
    .option(
      '--out-dir <dir>',
      'save there what scripts made and displayed, never over existing files',
    )
    .option('--notebook <out.ipynb>', 'save the run as a notebook that runs again')
    .option('--save <file>', 'save the run as .html, .md, .jsonl or .ipynb')
    .option('--force', 'let --out-dir, --notebook and --save replace files that are there');
  addLogLevelOption(command)
    .addHelpText('after', solveHelp)
    .action(async (_prompt: string | undefined, flags: SolveFlags) => {
      if (flags.json === true && flags.events === true)
        command.error('error: --json and --events exclude each other');
      const { solveCommand } = await import('./solve.js');
      onEnd(await solveCommand(command.args, flags, context));
    });
}

function addChat(program: Command, context: CommandContext, onEnd: (code: ExitCode) => void): void {
  const command = program
    .command('chat')
    .summary('talk, with a session that lasts')
    .description(
      'A conversation over one session: later turns see the variables and files of earlier ones.',
    )
    .argument('[files...]', 'files that scripts find in their working directory')
    .usage('[options] [file ...]')
    .option('--resume [id]', 'go on with a stored conversation; without an id the latest');
  addFileOption(addModelOptions(command));
  addSandboxOptions(command);
  addLimitOptions(command);
  command
    .optionsGroup('Output:')
    .option('--out-dir <dir>', 'where the files that scripts made are saved');
  addLogLevelOption(command)
    .addHelpText('after', chatHelp)
    .action(async (files: string[], flags: ChatFlags) => {
      const { chatCommand } = await import('./chat.js');
      onEnd(await chatCommand(files, flags, context));
    });
}

function addReplay(
  program: Command,
  context: CommandContext,
  onEnd: (code: ExitCode) => void,
): void {
  const command = program
    .command('replay')
    .summary('run the scripts of recorded runs again and compare')
    .description(
      'Runs the scripts of recorded runs again, each run in a fresh session, and compares the outputs with the recorded ones.',
    )
    .argument('<recorded.jsonl>', 'recorded runs, one a line, or a notebook (.ipynb)')
    .option('--concurrency <n>', 'runs at once', wholeNumber, 1)
    .option('--limit <n>', 'only the first n runs', wholeNumber)
    .option('--scripts', 'name every script, also where it is equal (always so for a notebook)');
  addExecutionTimeoutOption(addFileOption(command));
  addSandboxOptions(command);
  command.optionsGroup('Output:').option('--json', 'print the summary as one JSON object');
  addLogLevelOption(command)
    .addHelpText('after', replayHelp)
    .action(async (path: string, flags: ReplayFlags) => {
      const { replayCommand } = await import('./replay.js');
      onEnd(await replayCommand(path, flags, context));
    });
}

function addSandbox(
  program: Command,
  context: CommandContext,
  onEnd: (code: ExitCode) => void,
): void {
  const sandbox = program
    .command('sandbox')
    .summary('serve the embedded sandbox; see and tidy what is open on Colab')
    .description(
      'Serves the embedded Colab-compatible sandbox; shows what is open on a Colab server, what can be had there, and tidies up.',
    )
    .usage('<command> [options]');
  addServe(sandbox, context, onEnd);
  addList(sandbox, context, onEnd);
  addSpecs(sandbox, context, onEnd);
  addClean(sandbox, context, onEnd);
}

function addServe(
  sandbox: Command,
  context: CommandContext,
  onEnd: (code: ExitCode) => void,
): void {
  const serve = sandbox
    .command('serve')
    .summary('serve the embedded sandbox as an MCP server')
    .description(
      'Serves the embedded sandbox as a Colab-compatible MCP server on this machine until Ctrl-C.',
    )
    .option('--port <n>', 'port on 127.0.0.1; 0 for any that is free', portNumber, 0);
  addLogLevelOption(addIsolationOptions(serve))
    .addHelpText('after', serveHelp)
    .action(async (flags: ServeFlags) => {
      const { serveCommand } = await import('./sandbox-serve.js');
      onEnd(await serveCommand(flags, context));
    });
}

function addList(sandbox: Command, context: CommandContext, onEnd: (code: ExitCode) => void): void {
  const list = addEndpointOption(
    sandbox
      .command('list')
      .summary('show the runtimes and sessions that are open')
      .description('Shows the runtimes and sessions that are open, and which of them are ours.'),
  ).option('--json', 'print them as one JSON object');
  addLogLevelOption(list)
    .addHelpText('after', listHelp)
    .action(async (flags: ListFlags) => {
      const { listCommand } = await import('./sandbox-list.js');
      onEnd(await listCommand(flags, context));
    });
}

function addSpecs(
  sandbox: Command,
  context: CommandContext,
  onEnd: (code: ExitCode) => void,
): void {
  const specs = addEndpointOption(
    sandbox
      .command('specs')
      .summary('show which accelerators can be had')
      .description('Shows which kinds of runtime there are, and which your account may have.'),
  ).option('--json', 'print them as one JSON object');
  addLogLevelOption(specs)
    .addHelpText('after', specsHelp)
    .action(async (flags: SpecsFlags) => {
      const { specsCommand } = await import('./sandbox-specs.js');
      onEnd(await specsCommand(flags, context));
    });
}

function addClean(
  sandbox: Command,
  context: CommandContext,
  onEnd: (code: ExitCode) => void,
): void {
  const clean = addEndpointOption(
    sandbox
      .command('clean')
      .summary('close what runs of ours left open')
      .description(
        'Closes the sessions that runs of ours on this machine left open when they crashed or were killed.',
      ),
  ).option('--runtimes', 'delete the runtimes they made and nobody uses, too');
  addLogLevelOption(clean)
    .addHelpText('after', cleanHelp)
    .action(async (flags: CleanFlags) => {
      const { cleanCommand } = await import('./sandbox-clean.js');
      onEnd(await cleanCommand(flags, context));
    });
}

function addDoctor(
  program: Command,
  context: CommandContext,
  onEnd: (code: ExitCode) => void,
): void {
  program
    .command('doctor')
    .summary('check this machine and say what to do')
    .description(
      'Checks Node, Python, keys, the endpoints, sign-in and isolation, and says what to do.',
    )
    .option('--json', 'print the checks as one JSON object')
    .addHelpText('after', doctorHelp)
    .action(async (flags: DoctorFlags) => {
      const { doctorCommand } = await import('./doctor.js');
      onEnd(await doctorCommand(flags, context));
    });
}

/** Commander's message in our form: one paragraph, with where to read on. */
function usageText(text: string): string {
  const message = text
    .replace(/^error: /, '')
    .trim()
    .replaceAll('\n', ' ');
  const hint = / option '-[^']*\s/.test(message)
    ? ' Put -- before a prompt that starts with a dash.'
    : '';
  return `colab-solver: ${message}.${hint} See colab-solver --help.\n`.replace(/([.!?)])\./, '$1');
}
