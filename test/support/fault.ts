import type { WireAnswer } from './wire-answer.js';

/** gRPC's names with their numbers and the HTTP status that Google's services send for them. */
const STATUSES = {
  CANCELLED: [1, 499],
  UNKNOWN: [2, 500],
  INVALID_ARGUMENT: [3, 400],
  DEADLINE_EXCEEDED: [4, 504],
  NOT_FOUND: [5, 404],
  ALREADY_EXISTS: [6, 409],
  PERMISSION_DENIED: [7, 403],
  RESOURCE_EXHAUSTED: [8, 429],
  FAILED_PRECONDITION: [9, 400],
  ABORTED: [10, 409],
  INTERNAL: [13, 500],
  UNAVAILABLE: [14, 503],
  UNAUTHENTICATED: [16, 401],
} as const;
export type StatusName = keyof typeof STATUSES;

/** The shapes in which a failed call may tell its status. */
export const SHAPES = ['tool-text', 'tool-structured', 'rpc-text', 'rpc-data', 'http'] as const;
export type Shape = (typeof SHAPES)[number];

/**
 * When a fault strikes: before the server behind sees the call; once that has begun to answer; at its first output
 * (or its answer, where there is none); or when it believes its answer delivered.
 */
export type Moment = 'before' | 'begun' | 'while' | 'after';

/** The call is answered with a status. */
export interface Refusal {
  refuse: StatusName;
  shape: Shape;
  /** Default `before`. */
  when?: Moment;
  /** Of a google.rpc.ErrorInfo. */
  reason?: string;
  retryAfterSeconds?: number;
  message?: string;
}

/** The answer does not come. */
export interface Loss {
  /** Without an HTTP head, in the middle of the stream, or by a stream that ends in good order. */
  lose: 'hang-up' | 'cut' | 'clean-end';
  when: Moment;
}

/** Something happens behind the client's back, before the call is passed on. */
export interface Mishap {
  happens: 'mcp-session-expired' | 'kernel-replaced' | 'runtime-vanished';
}

export type Fault = Refusal | Loss | Mishap;

/** For counting: what struck, when. */
export function labelOf(fault: Fault): string {
  if ('happens' in fault) return fault.happens;
  if ('lose' in fault) return `${fault.lose} ${fault.when}`;
  return `${fault.refuse} ${fault.when ?? 'before'} (${fault.shape})`;
}

/** True where nothing of an answer may have been sent before the fault strikes. */
export function needsUnbegunAnswer(fault: Refusal | Loss): boolean {
  return 'lose' in fault ? fault.lose === 'hang-up' : fault.shape === 'http';
}

export function strike(fault: Refusal | Loss, answer: WireAnswer): void {
  if ('refuse' in fault) refuse(fault, answer);
  else if (fault.lose === 'hang-up') answer.hangUp();
  else if (fault.lose === 'cut') answer.cut();
  else answer.endSilently();
}

const SERVER_ERROR = -32_000;

function refuse(fault: Refusal, answer: WireAnswer): void {
  const { refuse: status, shape } = fault;
  const body = statusBody(fault);
  switch (shape) {
    case 'tool-text':
      answer.toolError(`${status}: ${body.message}`);
      return;
    case 'tool-structured':
      answer.toolError(body.message, { error: body });
      return;
    case 'rpc-text':
      answer.rpcError(SERVER_ERROR, `${status}: ${body.message}`);
      return;
    case 'rpc-data':
      answer.rpcError(SERVER_ERROR, body.message, body);
      return;
    case 'http': {
      const [, httpStatus] = STATUSES[status];
      answer.http(httpStatus, { error: { ...body, code: httpStatus } });
    }
  }
}

interface StatusBody {
  code: number;
  status: StatusName;
  message: string;
  details: object[];
}

/** A google.rpc.Status as Google's services write it. */
function statusBody({ refuse: status, reason, retryAfterSeconds, message }: Refusal): StatusBody {
  const errorInfo = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'test' };
  const retryInfo = {
    '@type': 'type.googleapis.com/google.rpc.RetryInfo',
    retryDelay: `${retryAfterSeconds ?? 0}s`,
  };
  return {
    code: STATUSES[status][0],
    status,
    message: message ?? 'a fault of the test',
    details: [
      ...(reason === undefined ? [] : [errorInfo]),
      ...(retryAfterSeconds === undefined ? [] : [retryInfo]),
    ],
  };
}
