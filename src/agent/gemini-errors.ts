import { z } from 'zod';
import { ModelError } from '../errors.js';
import type { ErrorDetails, ModelErrorCode } from '../errors.js';

/** Whom we talk to, for messages. */
export interface GeminiPeer {
  /** Name of the model asked for. */
  model: string;
  /** Origin and path of the API. */
  baseUrl: string;
  /** Taken out of everything that is said. */
  apiKey: string;
}

/** What the service said in place of an answer: by HTTP status, or by an error event within a stream. */
export interface GeminiRefusal {
  /** HTTP status, or `code` of the error event. */
  httpStatus: number;
  /** JSON of Google's error body, possibly with words before it. */
  text: string;
  /** Of the header `Retry-After`. */
  retryAfterMs?: number | undefined;
  cause: unknown;
}

const Text = z.string().optional().catch(undefined);

const DetailSchema = z.looseObject({
  reason: Text,
  retryDelay: Text,
  violations: z
    .array(z.looseObject({ quotaId: Text, quotaValue: Text }))
    .optional()
    .catch(undefined),
});

const ErrorBodySchema = z.looseObject({
  error: z.looseObject({
    message: z.string().catch(''),
    status: z.string().catch(''),
    details: z.array(DetailSchema).catch([]),
  }),
});

type ErrorBody = z.infer<typeof ErrorBodySchema>['error'];

interface Ruling {
  code: ModelErrorCode;
  what: string;
  remedy: string;
  isRetryable?: boolean;
}

/** Google's error as ours (https://ai.google.dev/gemini-api/docs/troubleshooting, google.rpc.Code). */
export function refusalError(refusal: GeminiRefusal, peer: GeminiPeer): ModelError {
  const body = parseBody(refusal.text);
  const { code, what, remedy, isRetryable = false } = rule(refusal.httpStatus, body, peer);
  const said = body.message === '' ? '' : ` It says: ${excerpt(body.message)}`;
  return modelError(peer, code, `${what} (HTTP ${refusal.httpStatus}).${said} ${remedy}`, {
    cause: refusal.cause,
    isRetryable,
    retryAfterMs: isRetryable ? (retryInfoMs(body) ?? refusal.retryAfterMs) : undefined,
  });
}

/** No connection, or one that broke before an answer came. */
export function networkError(cause: unknown, peer: GeminiPeer): ModelError {
  const reason = systemCode(cause);
  const isUntrusted = /CERT|SIGNATURE|ISSUER|^ERR_(?:TLS|SSL)/.test(reason);
  const remedy = isUntrusted
    ? 'The certificate is not trusted: set NODE_EXTRA_CA_CERTS if a proxy of yours signs it.'
    : 'Check the network, the proxy and GOOGLE_GEMINI_BASE_URL.';
  return modelError(peer, 'NETWORK', `Cannot reach ${peer.baseUrl} (${reason}). ${remedy}`, {
    cause,
    isRetryable: !isUntrusted,
  });
}

/** The SDK would not even send the request. */
export function unsentError(cause: unknown, peer: GeminiPeer): ModelError {
  const message = `The request to ${peer.model} cannot be made: ${systemCode(cause)}. Check its input and the key.`;
  return modelError(peer, 'INVALID_REQUEST', message, { cause });
}

/** The answer began and did not come to its end. */
export function streamCutError(why: string, peer: GeminiPeer, cause?: unknown): ModelError {
  const message = `The answer of ${peer.model} from ${peer.baseUrl} broke off: ${why}. Try again.`;
  return modelError(peer, 'STREAM_CUT', message, { cause, isRetryable: true });
}

/** Whoever answered does not speak the Gemini API. */
export function notGeminiError(what: string, peer: GeminiPeer): ModelError {
  const remedy =
    'Check GOOGLE_GEMINI_BASE_URL, and whether a proxy or a sign-in page answers instead.';
  return modelError(peer, 'NOT_GEMINI', `${peer.baseUrl} ${what}; it is no Gemini API. ${remedy}`);
}

/** The system's or the library's own code of a failure, such as ECONNREFUSED. */
export function systemCode(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code;
    if (at instanceof AggregateError && at.errors.length > 0) return systemCode(at.errors[0]);
    if (at.cause === undefined) return at.message;
  }
  return String(error);
}

function rule(status: number, body: ErrorBody, peer: GeminiPeer): Ruling {
  if (status === 401 || isKeyBad(body)) return RULINGS.badKey();
  if (status === 403 || body.status === 'FAILED_PRECONDITION') return RULINGS.noAccess(peer);
  if (status === 404) return body.status === '' ? RULINGS.noApi(peer) : RULINGS.noModel(peer);
  if (status === 429) return ruleOnQuota(body, peer);
  if (status === 503) return RULINGS.overloaded(peer);
  if (status >= 500 || status === 408 || status === 499) return RULINGS.failed(peer);
  return RULINGS.badRequest(peer);
}

function isKeyBad({ details, message }: ErrorBody): boolean {
  return (
    details.some(({ reason }) => reason === 'API_KEY_INVALID') ||
    /API key (?:not valid|not found|expired)/i.test(message)
  );
}

/** A quota by the day, or of nothing at all, does not come back in minutes, whatever RetryInfo says. */
function ruleOnQuota({ details, message }: ErrorBody, peer: GeminiPeer): Ruling {
  const violations = details.flatMap((detail) => detail.violations ?? []);
  const isNothing =
    violations.some(({ quotaValue }) => quotaValue === '0') || /\blimit: 0(?!\.?\d)/.test(message);
  if (isNothing) return RULINGS.noQuota(peer);
  const isDaily = violations.some(({ quotaId }) => quotaId?.includes('PerDay') ?? false);
  return isDaily ? RULINGS.dayUsedUp(peer) : RULINGS.tooMany(peer);
}

const RULINGS = {
  badKey: () => ({
    code: 'API_KEY_INVALID',
    what: 'The Gemini API refused the API key',
    remedy:
      'Set GEMINI_API_KEY (or GOOGLE_API_KEY, which goes first) to a valid one from https://aistudio.google.com/apikey.',
  }),
  noAccess: ({ model }) => ({
    code: 'PERMISSION_DENIED',
    what: `The Gemini API does not let this key use ${model}`,
    remedy: 'Check the key, its project, its restrictions and its billing.',
  }),
  noApi: ({ baseUrl }) => ({
    code: 'NOT_GEMINI',
    what: `${baseUrl} does not know the address of the Gemini API`,
    remedy: 'Check GOOGLE_GEMINI_BASE_URL.',
  }),
  noModel: ({ model }) => ({
    code: 'MODEL_NOT_FOUND',
    what: `The Gemini API has no model ${model} for this key`,
    remedy: 'Check the name given with --model (https://ai.google.dev/gemini-api/docs/models).',
  }),
  noQuota: ({ model }) => ({
    code: 'QUOTA_EXHAUSTED',
    what: `The key has no quota for ${model}`,
    remedy: 'Use another model or a key with billing.',
  }),
  dayUsedUp: ({ model }) => ({
    code: 'QUOTA_EXHAUSTED',
    what: `The day's quota for ${model} is used up`,
    remedy: 'Wait until midnight Pacific time, or use another model or a key with billing.',
  }),
  tooMany: ({ model }) => ({
    code: 'RATE_LIMITED',
    what: `Too many requests to ${model}`,
    remedy: 'Try again later, with fewer at once, or with a key of a higher tier.',
    isRetryable: true,
  }),
  overloaded: ({ model }) => ({
    code: 'OVERLOADED',
    what: `${model} is overloaded`,
    remedy: 'Try again later or use another model.',
    isRetryable: true,
  }),
  failed: ({ model }) => ({
    code: 'SERVER_ERROR',
    what: `The Gemini API failed to answer for ${model}`,
    remedy: 'Try again later.',
    isRetryable: true,
  }),
  badRequest: ({ model }) => ({
    code: 'INVALID_REQUEST',
    what: `The Gemini API refused the request to ${model}`,
    remedy: 'Check that the model takes such input.',
  }),
} satisfies Record<string, (peer: GeminiPeer) => Ruling>;

/** A google.protobuf.Duration such as "36s" or "29.72s", in milliseconds. */
function retryInfoMs(body: ErrorBody): number | undefined {
  const written = body.details.find(({ retryDelay }) => retryDelay !== undefined)?.retryDelay;
  const inText = /retry in ([\d.]+)s/i.exec(body.message)?.[1];
  const seconds = Number.parseFloat(written ?? inText ?? '');
  return Number.isFinite(seconds) && seconds >= 0 ? Math.ceil(seconds * 1000) : undefined;
}

function parseBody(text: string): ErrorBody {
  const nothing: ErrorBody = { message: '', status: '', details: [] };
  const start = text.search(/[[{]/);
  if (start === -1) return { ...nothing, message: text };
  try {
    const json: unknown = JSON.parse(text.slice(start));
    const parsed = ErrorBodySchema.safeParse(Array.isArray(json) ? json[0] : json);
    return parsed.success ? parsed.data.error : { ...nothing, message: text };
  } catch {
    return { ...nothing, message: text };
  }
}

function excerpt(message: string): string {
  if (/^\s*<(?:!doctype|html)/i.test(message)) return '(an HTML page)';
  const line = message.replace(/\s+/g, ' ').trim();
  const short = line.length > 600 ? `${line.slice(0, 600)}…` : line;
  return /[.!?…]$/.test(short) ? short : `${short}.`;
}

function modelError(
  peer: GeminiPeer,
  code: ModelErrorCode,
  message: string,
  details: ErrorDetails = {},
): ModelError {
  const { cause, ...rest } = details;
  return new ModelError(code, withoutKey(message, peer.apiKey), {
    ...rest,
    ...(cause !== undefined && { cause: withoutKeyDeep(cause, peer.apiKey) }),
  });
}

function withoutKey(text: string, apiKey: string): string {
  return text.replaceAll(apiKey, '[API key]').replaceAll(encodeURIComponent(apiKey), '[API key]');
}

/** A copy of an error of others, its causes too, that cannot give the key away; kept for people, so as text. */
function withoutKeyDeep(error: unknown, apiKey: string): unknown {
  if (!(error instanceof Error)) return withoutKey(String(error), apiKey);
  const options =
    error.cause === undefined ? undefined : { cause: withoutKeyDeep(error.cause, apiKey) };
  const copy = new Error(withoutKey(error.message, apiKey), options);
  copy.name = error.name;
  if (error.stack !== undefined) copy.stack = withoutKey(error.stack, apiKey);
  return copy;
}
