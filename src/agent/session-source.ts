import type { Session } from '../sandbox/sandbox.js';
import type { RunFiles } from './run-files.js';

/** Where a run gets the session its scripts share. */
export interface SessionSource {
  /** What scripts made there. */
  readonly made: RunFiles;
  /** The run's session, opened when it is first wanted, with the attached files in place. */
  current(signal: AbortSignal): Promise<Session>;
  /** A fresh session after the current one was lost, with the attached files put back. */
  replace(signal: AbortSignal): Promise<Session>;
}

/** The right to use a session alone, lent by a pool. */
export interface SessionLease {
  readonly session: Session;
  /** Gives it back to be lent again. */
  release(): Promise<void>;
  /** Gives it up; it is deleted. */
  discard(): Promise<void>;
}
