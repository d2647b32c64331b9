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

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  cancellation.abort(new OutputClosed());
});
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

process.exitCode = await runProgram(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  signal: cancellation.signal,
});
setTimeout(() => {
  process.exit();
}, LINGER_MS).unref();
