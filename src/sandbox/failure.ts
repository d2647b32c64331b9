import { z } from 'zod';
import { scrub } from '../logger.js';
import type { HttpAnswer } from '../loopback-fetch.js';
import { ProxyRefusal } from '../patient-fetch.js';

/** gRPC's names in the order of their numbers, from 1. */
const STATUS_NAMES = [
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;
type StatusName = (typeof STATUS_NAMES)[number];

/** Google's status, or what we saw where there was none. */
export type FailureStatus = StatusName | 'STREAM_CUT' | 'NETWORK' | 'NOT_COLAB';

/** What a failed call told us, whatever shape it came in. */
export interface Failure {
  status: FailureStatus;
  /** `reason` of a google.rpc.ErrorInfo. */
  reason?: string;
  /** `consumer` of its metadata: the project in whose name the call was made, `projects/{number}`. */
  consumer?: string;
  text: string;
  httpStatus?: number;
  /** How long the server asked us to wait. */
  retryAfterMs?: number;
  /** True where the request cannot have reached the server. */
  neverSent: boolean;
  raw: unknown;
}

/** An HTTP answer that is not a result: a refusal, a redirect, or a page where a protocol message belongs. */
export class HttpRefusal extends Error {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly retryAfter: string | undefined;

  constructor(response: HttpAnswer, body: string) {
    super(`HTTP ${response.status} ${response.statusText}`.trim());
    this.name = 'HttpRefusal';
    this.status = response.status;
    this.contentType = response.headers.get('content-type') ?? '';
    this.body = body;
    this.retryAfter = response.headers.get('retry-after') ?? undefined;
  }
}

/** The answer ended, or broke, before the result came. */
export class StreamCut extends Error {
  constructor(cause?: unknown) {
    super('The connection ended before the result came.', cause === undefined ? {} : { cause });
    this.name = 'StreamCut';
  }
}

/** A tool's result with `isError`. */
export class ToolRefusal extends Error {
  readonly result: unknown;

  constructor(text: string, result: unknown) {
    super(text);
    this.name = 'ToolRefusal';
    this.result = result;
  }
}

/** A call that failed, with what is known of it; translated to a SandboxError where we know what it was for. */
export class FailedCall extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.text, { cause: failure.raw });
    this.name = 'FailedCall';
    this.failure = failure;
  }
}

const DetailSchema = z.looseObject({
  reason: z.string().optional(),
  retryDelay: z.string().optional(),
  metadata: z.looseObject({ consumer: z.string().optional() }).optional().catch(undefined),
});
const StatusSchema = z.looseObject({
  code: z.union([z.number(), z.string()]).optional(),
  status: z.union([z.string(), z.number()]).optional(),
  message: z.string().optional(),
  reason: z.string().optional(),
  details: z.array(DetailSchema).optional().catch(undefined),
});
type Status = z.infer<typeof StatusSchema>;
const RpcErrorSchema = z.looseObject({
  code: z.number(),
  message: z.string(),
  data: z.unknown().optional(),
});
const StructuredResultSchema = z.looseObject({ structuredContent: z.unknown().optional() });

/** Reads every shape a failure can take; the order in which sources are believed is fixed. */
export function readFailure(raw: unknown): Failure {
  if (raw instanceof FailedCall) return raw.failure;
  if (raw instanceof HttpRefusal) return fromHttp(raw);
  if (raw instanceof StreamCut) return seen('STREAM_CUT', raw.message, raw);
  if (raw instanceof ToolRefusal) return fromTool(raw);
  if (isNetworkError(raw)) {
    return { ...seen('NETWORK', networkText(raw), raw), neverSent: wasNeverSent(raw) };
  }
  const rpc = RpcErrorSchema.safeParse(raw);
  if (rpc.success) {
    if (rpc.data.data instanceof Error) return readFailure(rpc.data.data);
    return fromRpc(rpc.data, raw);
  }
  return seen('UNKNOWN', raw instanceof Error ? raw.message : String(raw), raw);
}

function seen(status: FailureStatus, text: string, raw: unknown): Failure {
  return { status, text: scrub(text), neverSent: false, raw };
}

function fromHttp(refusal: HttpRefusal): Failure {
  const status = findStatus(refusal.body);
  const isPage = /html/i.test(refusal.contentType) || /^\s*<(!doctype|html)/i.test(refusal.body);
  const byHttp = httpStatusName(refusal.status);
  const retryAfterMs = readRetryAfter(refusal.retryAfter);
  // A gateway in front of Colab answers 429 and 5xx with pages of its own; any other page is some other site.
  if (isPage && byHttp !== 'UNAVAILABLE' && byHttp !== 'RESOURCE_EXHAUSTED') {
    return {
      ...seen('NOT_COLAB', `${refusal.message}, a web page`, refusal),
      httpStatus: refusal.status,
    };
  }
  const text = status?.message ?? (isPage || refusal.body === '' ? refusal.message : refusal.body);
  return {
    ...classified(status, text, byHttp, refusal),
    httpStatus: refusal.status,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

function fromTool(refusal: ToolRefusal): Failure {
  const result = StructuredResultSchema.safeParse(refusal.result);
  const structured = result.success ? findStatus(result.data.structuredContent) : undefined;
  const status = structured ?? findStatus(refusal.message);
  const text = status?.message ?? refusal.message;
  if (/^(MCP error -3260[12]: )?(Unknown tool|Tool \S+ not found)/i.test(text)) {
    return seen('NOT_COLAB', text, refusal);
  }
  return classified(status, text, 'UNKNOWN', refusal);
}

const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;
const CONNECTION_CLOSED = -32_000;

function fromRpc(error: z.infer<typeof RpcErrorSchema>, raw: unknown): Failure {
  const status = findStatus(error.data);
  if (status === undefined) {
    if (error.code === METHOD_NOT_FOUND || /unknown tool|tool \S+ not found/i.test(error.message)) {
      return seen('NOT_COLAB', error.message, raw);
    }
    if (error.code === CONNECTION_CLOSED && /connection closed/i.test(error.message)) {
      return seen('STREAM_CUT', error.message, raw);
    }
  }
  const otherwise =
    error.code === INVALID_PARAMS ? 'INVALID_ARGUMENT' : (statusName(error.code) ?? 'UNKNOWN');
  return classified(status, status?.message ?? error.message, otherwise, raw);
}

function classified(
  status: Status | undefined,
  text: string,
  otherwise: FailureStatus,
  raw: unknown,
): Failure {
  const reason =
    status?.reason ?? status?.details?.find((detail) => detail.reason !== undefined)?.reason;
  const consumer = status?.details?.find(({ metadata }) => metadata?.consumer)?.metadata?.consumer;
  const delay = status?.details?.find((detail) => detail.retryDelay !== undefined)?.retryDelay;
  const retryAfterMs = readSeconds(delay);
  const found =
    statusName(status?.status) ??
    statusName(status?.code) ??
    reasonStatus(reason) ??
    namedIn(text) ??
    phraseIn(text) ??
    otherwise;
  return {
    ...seen(found, text, raw),
    ...(reason !== undefined && { reason }),
    ...(consumer !== undefined && { consumer }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

/** A google.rpc.Status in whatever wrapping: itself, `{error: …}`, a list of those, or JSON text of them. */
function findStatus(value: unknown): Status | undefined {
  if (typeof value === 'string') {
    const start = value.search(/[[{]/);
    return start === -1 ? undefined : findStatus(parseJson(value.slice(start)));
  }
  if (Array.isArray(value)) return findStatus(value[0]);
  if (typeof value !== 'object' || value === null) return undefined;
  if ('error' in value && typeof value.error === 'object') return findStatus(value.error);
  const parsed = StatusSchema.safeParse(value);
  if (!parsed.success) return undefined;
  const { code, status, message, reason, details } = parsed.data;
  const says = [code, status, message, reason, details].some((field) => field !== undefined);
  return says ? parsed.data : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function statusName(code: string | number | undefined): FailureStatus | undefined {
  if (typeof code === 'string') {
    const name = STATUS_NAMES.find((known) => known === code.toUpperCase());
    return name === 'UNKNOWN' ? undefined : name;
  }
  if (code === undefined) return undefined;
  const name = STATUS_NAMES[code - 1] ?? httpStatusName(code);
  return name === 'UNKNOWN' ? undefined : name;
}

function reasonStatus(reason: string | undefined): FailureStatus | undefined {
  switch (reason) {
    case 'TOO_MANY_ACTIVE_RUNTIMES':
    case 'QUOTA_EXCEEDED_USAGE_TIME':
    case 'DENYLISTED':
      return 'FAILED_PRECONDITION';
    case 'SERVICE_DISABLED':
    case 'ACCESS_TOKEN_SCOPE_INSUFFICIENT':
    case 'USER_PROJECT_DENIED':
    case 'UNKNOWN_CLIENT_AGENT':
      return 'PERMISSION_DENIED';
    case 'ACCESS_TOKEN_EXPIRED':
    case 'CREDENTIALS_MISSING':
      return 'UNAUTHENTICATED';
    case 'RATE_LIMIT_EXCEEDED':
      return 'RESOURCE_EXHAUSTED';
    default:
      return undefined;
  }
}

function namedIn(text: string): FailureStatus | undefined {
  for (const word of text.match(/\b[A-Z][A-Z_]{6,}\b/g) ?? []) {
    const status = statusName(word) ?? reasonStatus(word);
    if (status !== undefined) return status;
  }
  return undefined;
}

const PHRASES: readonly (readonly [RegExp, FailureStatus])[] = [
  [
    /authentication credential|invalid credentials|unauthenticated|unauthorized/i,
    'UNAUTHENTICATED',
  ],
  [
    /does not have permission|permission denied|forbidden|requires a quota project|has not been used in project|insufficient authentication scope|allow-?listed/i,
    'PERMISSION_DENIED',
  ],
  [/rate limit|too many requests|quota exceeded/i, 'RESOURCE_EXHAUSTED'],
  [/deadline exceeded|timed out/i, 'DEADLINE_EXCEEDED'],
  [/not found|does not exist/i, 'NOT_FOUND'],
  [/unavailable|try again later/i, 'UNAVAILABLE'],
];

function phraseIn(text: string): FailureStatus | undefined {
  return PHRASES.find(([phrase]) => phrase.test(text))?.[1];
}

function httpStatusName(status: number): FailureStatus {
  switch (status) {
    case 400:
      return 'INVALID_ARGUMENT';
    case 401:
      return 'UNAUTHENTICATED';
    case 403:
      return 'PERMISSION_DENIED';
    case 404:
      return 'NOT_FOUND';
    case 409:
      return 'ABORTED';
    case 429:
      return 'RESOURCE_EXHAUSTED';
    case 499:
      return 'CANCELLED';
    case 500:
      return 'INTERNAL';
    case 501:
      return 'UNIMPLEMENTED';
    case 408:
    case 502:
    case 503:
    case 504:
      return 'UNAVAILABLE';
    default:
      return status >= 300 && status < 400 ? 'NOT_COLAB' : 'UNKNOWN';
  }
}

/** Seconds or an HTTP date. */
function readRetryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const seconds = Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** A protobuf duration such as `1.5s`. */
function readSeconds(duration: string | undefined): number | undefined {
  const match = /^(\d+(?:\.\d+)?)s$/.exec(duration ?? '');
  return match === null ? undefined : Number(match[1]) * 1000;
}

function isNetworkError(raw: unknown): raw is Error {
  return (
    raw instanceof TypeError ||
    (raw instanceof Error && raw.name === 'TimeoutError') ||
    networkCode(raw) !== undefined
  );
}

/** Node's and undici's names of what went wrong with a connection. */
const SYSTEM_CODE = /^(ECONN\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_\w+|EHOST\w+|ENET\w+|UND_ERR_\w+)$/;

function networkCode(raw: unknown): string | undefined {
  if (!(raw instanceof Error)) return undefined;
  if ('code' in raw && typeof raw.code === 'string' && SYSTEM_CODE.test(raw.code)) return raw.code;
  if (raw instanceof AggregateError) return networkCode(raw.errors[0]);
  return networkCode(raw.cause);
}

function networkText(raw: Error): string {
  const cause = raw.cause instanceof Error ? raw.cause.message : '';
  const code = networkCode(raw);
  return cause === '' ? `${raw.message}${code === undefined ? '' : ` (${code})`}` : cause;
}

function wasNeverSent(raw: Error): boolean {
  if (raw.cause instanceof ProxyRefusal) return true;
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'].includes(
    networkCode(raw) ?? '',
  );
}
