import { ColabSolverError } from '../errors.js';
import { scrub } from '../logger.js';
import { Cancelled } from './cancellation.js';
import { printable } from './render/printable.js';

/** What a person is told about an error; the stack and the causes only for debugging. */
export function faultText(error: unknown, { isDebug = false } = {}): string {
  const text = isDebug ? withCauses(error) : faultMessage(error);
  return `colab-solver: ${printable(scrub(text))}`;
}

/** What a program is told about an error; the last line of `--events`. */
export function faultRecord(error: unknown) {
  return {
    type: 'error',
    code: codeOf(error),
    message: scrub(faultMessage(error)),
    isRetryable: error instanceof ColabSolverError && error.isRetryable,
  };
}

function codeOf(error: unknown): string {
  if (error instanceof ColabSolverError) return String(error.code);
  return error instanceof Cancelled ? 'CANCELLED' : 'UNEXPECTED';
}

function faultMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof ColabSolverError || error instanceof Cancelled) return message;
  return `unexpected fault: ${message}. Run it again with --log-level debug to see where it comes from, and please report it.`;
}

function withCauses(error: unknown): string {
  const lines = [faultMessage(error)];
  let cause = error;
  for (let depth = 0; depth < 6 && cause instanceof Error; depth += 1) {
    lines.push(`${depth === 0 ? '' : 'caused by '}${cause.stack ?? String(cause)}`);
    cause = cause.cause;
  }
  return lines.join('\n');
}
