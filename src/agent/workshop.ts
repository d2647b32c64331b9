import type { RunConfig } from '../config.js';
import type { Logger } from '../logger.js';
import type { FunctionTable } from './caller-function.js';
import type { Model } from './model.js';
import type { SandboxFacts } from './request.js';
import type { SessionLease } from './session-source.js';

/** What a run works with. */
export interface Workshop {
  model: Model;
  functions: FunctionTable;
  facts: Omit<SandboxFacts, 'files'>;
  /** What transcripts say of the place where scripts run, once it is known. */
  runtime(): string | undefined;
  limits: RunConfig;
  logger: Logger;
  lease(signal: AbortSignal): Promise<SessionLease>;
  /** Whether a session is opened while the model still writes its first response. */
  opensEarly: boolean;
  /** Fires when the solver is closed: runs that still go on fail with its reason. */
  closed: AbortSignal;
}
