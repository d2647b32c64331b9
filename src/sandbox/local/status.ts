import { ConfigError, SandboxError } from '../../errors.js';

/** The canonical codes of Google's APIs (google.rpc.Code) that this server answers with. */
const STATUS_CODES = {
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  FAILED_PRECONDITION: 9,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const;

export type StatusName = keyof typeof STATUS_CODES;

/** A tool's failure as it goes over the wire. */
export class StatusError extends Error {
  readonly status: StatusName;
  /** Upper-case reason of google.rpc.ErrorInfo, where the status alone does not tell what to do. */
  readonly reason: string | undefined;

  constructor(
    status: StatusName,
    message: string,
    options: { reason?: string; cause?: unknown } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = 'StatusError';
    this.status = status;
    this.reason = options.reason;
  }
}

/** The shape of google.rpc.Status, with the code's name beside its number. */
export interface WireStatus {
  code: number;
  status: StatusName;
  message: string;
  details: Record<string, unknown>[];
}

export function wireStatus(error: StatusError): WireStatus {
  return {
    code: STATUS_CODES[error.status],
    status: error.status,
    message: error.message,
    details:
      error.reason === undefined
        ? []
        : [
            {
              '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
              reason: error.reason,
              domain: 'colab-solver',
              metadata: {},
            },
          ],
  };
}

/** Names the status of whatever a tool threw. What we cannot explain becomes INTERNAL. */
export function toStatusError(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof SandboxError || error instanceof ConfigError))
    return new StatusError('INTERNAL', message, { cause: error });
  return new StatusError(statusOf(error), message, { reason: error.code, cause: error });
}

function statusOf({ code, isRetryable }: SandboxError | ConfigError): StatusName {
  if (code === 'NOT_FOUND' || code === 'SESSION_LOST' || code === 'RUNTIME_LOST')
    return 'NOT_FOUND';
  if (code === 'UNKNOWN') return 'INTERNAL';
  return isRetryable ? 'UNAVAILABLE' : 'FAILED_PRECONDITION';
}
