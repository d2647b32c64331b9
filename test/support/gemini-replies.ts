import type { Part } from '../../src/parts/part.js';
import type { GeminiRequest } from './gemini-server.js';

/** Counts of a response's `usageMetadata`; the total is their sum unless given. */
export interface UsageMetadata {
  promptTokenCount?: number;
  candidatesTokenCount?: number;
  thoughtsTokenCount?: number;
  totalTokenCount?: number;
}

/** Holds a reply back until opened; `reached` resolves when the reply has come that far. */
export interface Gate {
  gate: true;
  reached: Promise<void>;
  open(): void;
  /** For the server. */
  pass(): Promise<void>;
}

/** What a streamed turn is made of; all but gates are plain JSON, so that a script can stand in a file. */
export type TurnItem =
  /** A chunk with one part, or with several at once. */
  | { part: Part }
  | { parts: Part[] }
  | { finish: string; message?: string }
  | { usage: UsageMetadata }
  /** A whole chunk, sent as it is. */
  | { chunk: unknown }
  /** An event with an error, within the stream. */
  | { error: { code: number; status: string; message: string; details?: unknown[] } }
  | { end: 'clean' | 'drop' | 'cut' }
  | Gate;

/** A streamed response. Without a `finish` or an `end` it closes with STOP. */
export interface TurnReply {
  turn: TurnItem[];
  /** Write the bytes in pieces of this size, wherever that cuts them. */
  pieceBytes?: number;
  when?: string;
}

/** An HTTP response as it is. */
export interface HttpReply {
  status: number;
  body: string;
  headers: Record<string, string>;
  when?: string;
}

/** Closes the connection without an answer. */
export interface HangUpReply {
  hangUp: true;
  when?: string;
}

export type StaticReply = TurnReply | HttpReply | HangUpReply;

/** Replies are used in order; one with `when` answers only a request whose body holds that text. */
export type Reply = StaticReply | ((request: GeminiRequest) => StaticReply);

export const turn = (...items: TurnItem[]): TurnReply => ({ turn: items });

/** The same turn, its bytes written in pieces of `pieceBytes`. */
export const inPieces = (pieceBytes: number, reply: TurnReply): TurnReply => ({
  ...reply,
  pieceBytes,
});

/** The reply for the first request that holds `text`. */
export const when = <R extends StaticReply>(text: string, reply: R): R => ({
  ...reply,
  when: text,
});

export const text = (value: string, extra: Part = {}): TurnItem => ({
  part: { text: value, ...extra },
});

export const thought = (value: string, extra: Part = {}): TurnItem =>
  text(value, { thought: true, ...extra });

interface CallExtra {
  id?: string;
  signature?: string;
}

/** A call of `execute_code`. */
export const call = (code: string, extra: CallExtra = {}): TurnItem => ({
  part: callPart('execute_code', { code }, extra),
});

/** Several calls of `execute_code` in one chunk. */
export const calls = (...scripts: [code: string, extra?: CallExtra][]): TurnItem => ({
  parts: scripts.map(([code, extra]) => callPart('execute_code', { code }, extra)),
});

export const functionCall = (
  name: string,
  args: Record<string, unknown>,
  extra: CallExtra = {},
): TurnItem => ({ part: callPart(name, args, extra) });

export const part = (value: Part): TurnItem => ({ part: value });
export const chunk = (value: unknown): TurnItem => ({ chunk: value });
export const usage = (counts: UsageMetadata): TurnItem => ({ usage: counts });
export const finish = (reason: string, message?: string): TurnItem => ({
  finish: reason,
  ...(message !== undefined && { message }),
});

/** A prompt that is blocked: no candidates at all. */
export const blocked = (blockReason: string): TurnItem => ({
  chunk: {
    promptFeedback: { blockReason },
    usageMetadata: { promptTokenCount: 10, totalTokenCount: 10 },
  },
});

/** The socket is torn down here. */
export const drop = (): TurnItem => ({ end: 'drop' });
/** The stream ends here, cleanly but without a finish reason. */
export const end = (): TurnItem => ({ end: 'clean' });
/** The stream ends in the middle of a chunk's JSON. */
export const cut = (): TurnItem => ({ end: 'cut' });

export const streamError = (code: number, status: string, message: string): TurnItem => ({
  error: { code, status, message },
});

export function gate(): Gate {
  let arrive = (): void => undefined;
  let open = (): void => undefined;
  const reached = new Promise<void>((resolve) => (arrive = resolve));
  const opened = new Promise<void>((resolve) => (open = resolve));
  return {
    gate: true,
    reached,
    open: () => {
      open();
    },
    pass: () => {
      arrive();
      return opened;
    },
  };
}

export const hangUp = (): HangUpReply => ({ hangUp: true });

/** An error with Google's body. */
export function status(
  code: number,
  options: {
    status?: string;
    message?: string;
    details?: unknown[];
    headers?: Record<string, string>;
  } = {},
): HttpReply {
  const { status: name = STATUS_NAMES[code] ?? 'UNKNOWN', message = name, details } = options;
  const body = { error: { code, message, status: name, ...(details && { details }) } };
  return json(code, body, options.headers);
}

export const json = (
  code: number,
  body: unknown,
  headers: Record<string, string> = {},
): HttpReply => ({
  status: code,
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json; charset=UTF-8', ...headers },
});

export const html = (code = 200): HttpReply => ({
  status: code,
  body: '<!DOCTYPE html><html><body><h1>Welcome</h1></body></html>',
  headers: { 'content-type': 'text/html; charset=utf-8' },
});

export const redirect = (location: string): HttpReply => ({
  status: 307,
  body: '',
  headers: { location },
});

export const overloaded = (): HttpReply =>
  status(503, { message: 'The model is overloaded. Please try again later.' });

/** A 429 as Google words it. */
export function rateLimited(
  options: {
    retryDelay?: string;
    quotaId?: string;
    limit?: number;
    headers?: Record<string, string>;
  } = {},
): HttpReply {
  const {
    retryDelay,
    quotaId = 'GenerateRequestsPerMinutePerProjectPerModel',
    limit = 20,
  } = options;
  const metric = 'generativelanguage.googleapis.com/generate_content_requests';
  const wait = retryDelay === undefined ? '' : `\nPlease retry in ${retryDelay}.`;
  return status(429, {
    message:
      'You exceeded your current quota, please check your plan and billing details. \n' +
      `* Quota exceeded for metric: ${metric}, limit: ${limit}, model: gemini-test${wait}`,
    details: [
      {
        '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
        violations: [{ quotaMetric: metric, quotaId, quotaValue: String(limit) }],
      },
      { '@type': 'type.googleapis.com/google.rpc.Help', links: [] },
      ...(retryDelay === undefined
        ? []
        : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }]),
    ],
    ...(options.headers && { headers: options.headers }),
  });
}

export const keyInvalid = (): HttpReply =>
  status(400, {
    status: 'INVALID_ARGUMENT',
    message: 'API key not valid. Please pass a valid API key.',
    details: [
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'API_KEY_INVALID',
        domain: 'googleapis.com',
      },
    ],
  });

export const modelNotFound = (model: string): HttpReply =>
  status(404, {
    message: `models/${model} is not found for API version v1beta, or is not supported for generateContent.`,
  });

const STATUS_NAMES: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

function callPart(name: string, args: Record<string, unknown>, extra: CallExtra = {}): Part {
  const { id, signature } = extra;
  return {
    functionCall: { ...(id !== undefined && { id }), name, args },
    ...(signature !== undefined && { thoughtSignature: signature }),
  };
}
