#!/usr/bin/env node
import { cancelOnSignals, OutputClosed } from './cancellation.js';
import { exitCodes } from './exit-code.js';
import { runProgram } from './program.js';

/** What is still open after everything was closed does not keep the process this long. */
const LINGER_MS = 2000;

const cancellation = cancelOnSignals({
  onInsist: () => {
    process.exit(exitCodes.cancelled);
  },
});

const output = { hasFailed: false };
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  cancellation.abort(new OutputClosed());
  if (error.code === 'EPIPE' || output.hasFailed) return;
  output.hasFailed = true;
  process.stderr.write(
    `colab-solver: standard output cannot be written: ${error.message}. Free some space, or send it elsewhere.\n`,
  );
  process.exitCode = exitCodes.fault;
});
// Where nobody reads standard error there is nobody to tell.
process.stderr.on('error', () => undefined);

const exitCode = await runProgram(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  signal: cancellation.signal,
  interrupts: cancellation.interrupts,
});
process.exitCode = output.hasFailed ? exitCodes.fault : exitCode;
setTimeout(() => {
  process.exit();
}, LINGER_MS).unref();
