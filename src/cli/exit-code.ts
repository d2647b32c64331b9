import type { RunStatus } from '../agent/events.js';
import { ConfigError } from '../errors.js';

/** What the process ends with; programs rely on it. */
export const exitCodes = {
  done: 0,
  fault: 1,
  usage: 2,
  /** The run ended without an answer, or replayed outputs differ. */
  unanswered: 3,
  cancelled: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export function exitCodeOfStatus(status: RunStatus): ExitCode {
  return status === 'answered' ? exitCodes.done : exitCodes.unanswered;
}

export function exitCodeOfError(error: unknown): ExitCode {
  return error instanceof ConfigError ? exitCodes.usage : exitCodes.fault;
}
