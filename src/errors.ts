/**
 * Every error of ours, by layer. A message has three parts: what failed, on what, what to do.
 * Errors of other libraries are translated once, at the edge, and kept as `cause`.
 */
export abstract class ColabSolverError<Code extends string = string> extends Error {
  /** Stable, upper case; listed in docs/errors.md. */
  readonly code: Code;
  /** True where the same call may succeed later without anybody acting. */
  readonly isRetryable: boolean;
  /** The pause a server asked for before the next try, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(code: Code, message: string, options: ErrorDetails = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = new.target.name;
    this.code = code;
    this.isRetryable = options.isRetryable ?? false;
    this.retryAfterMs = options.retryAfterMs;
  }
}

export interface ErrorDetails {
  cause?: unknown;
  /** Default false. */
  isRetryable?: boolean;
  retryAfterMs?: number | undefined;
}

export type ConfigErrorCode =
  | 'BAD_OPTION'
  | 'BAD_URL'
  | 'EMPTY_PROMPT'
  | 'MISSING_KEY'
  | 'UNREADABLE_FILE'
  | 'FILE_EXISTS'
  | 'BAD_RECORDED_RUN'
  | 'BAD_DATASET'
  | 'BAD_JOURNAL'
  | 'BATCH_DIFFERS'
  | 'BATCH_IN_USE'
  | 'PYTHON_NOT_FOUND'
  | 'ISOLATION_UNAVAILABLE'
  | 'PORT_IN_USE';

/** The caller misused us; thrown before any side effect. Exit code 2. */
export class ConfigError extends ColabSolverError<ConfigErrorCode> {}

export type ModelErrorCode =
  | 'API_KEY_INVALID'
  | 'PERMISSION_DENIED'
  | 'MODEL_NOT_FOUND'
  | 'INVALID_REQUEST'
  | 'RATE_LIMITED'
  | 'QUOTA_EXHAUSTED'
  | 'OVERLOADED'
  | 'SERVER_ERROR'
  | 'NETWORK'
  | 'STREAM_CUT'
  | 'NOT_GEMINI'
  | 'REPLAY_MISMATCH';

/** The model's service failed after our own retries, or for a reason retries cannot mend. */
export class ModelError extends ColabSolverError<ModelErrorCode> {}

export type SandboxErrorCode =
  | 'UNAUTHENTICATED'
  | 'PERMISSION_DENIED'
  | 'NOT_FOUND'
  | 'INVALID_ARGUMENT'
  | 'ALREADY_EXISTS'
  | 'RATE_LIMITED'
  | 'UNAVAILABLE'
  | 'TOO_MANY_RUNTIMES'
  | 'QUOTA_EXHAUSTED'
  | 'NO_CAPACITY'
  | 'ACCOUNT_BLOCKED'
  | 'NETWORK'
  | 'NOT_COLAB'
  | 'SESSION_LOST'
  | 'RUNTIME_LOST'
  | 'EXECUTION_UNKNOWN'
  | 'RUNTIME_START_FAILED'
  | 'PYTHON_SETUP_FAILED'
  | 'DISK_FULL'
  | 'CLOSED'
  | 'UNKNOWN';

/** The place where code runs failed; code that raised or ran too long is a value, not one of these. */
export class SandboxError extends ColabSolverError<SandboxErrorCode> {}

export type BatchErrorCode = 'JOURNAL_FAILED';

/** A batch cannot go on for a reason of its own; what is finished is safe, and the same command goes on from there. */
export class BatchError extends ColabSolverError<BatchErrorCode> {}

/** A broken invariant of ours. */
export class InternalError extends ColabSolverError<'INTERNAL'> {
  constructor(message: string, options: ErrorDetails = {}) {
    super('INTERNAL', `${message} This is a fault in colab-solver; please report it.`, options);
  }
}
