import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { eventData } from './event-stream.js';
import type { HttpAnswer } from '../../loopback-fetch.js';
import { HttpRefusal, StreamCut } from '../failure.js';
import { guardedFetch } from './guarded-fetch.js';
import type { SignIn } from './sign-in.js';
import { HANDSHAKE_RESULT, refusesHandshake, selfContained } from './stateless-protocol.js';

export interface TransportOptions {
  url: URL;
  signIn: SignIn;
  /** Sent with every request, beside authorization. */
  headers: Record<string, string>;
}

/** JSON-RPC code of an answer that we made up because the server's will not come; `data` is the failure. */
const NO_ANSWER = -32_090;
/** A cancellation must not overtake the request it is for; servers that send headers late are not waited for longer. */
const OVERTAKE_MS = 1_000;
const FAREWELL_MS = 5_000;

const MessageSchema = z.looseObject({
  id: z.union([z.string(), z.number()]).nullish(),
  method: z.string().optional(),
  params: z.unknown().optional(),
  result: z.unknown().optional(),
  error: z
    .looseObject({
      code: z.number().catch(0),
      message: z.string().catch(''),
      data: z.unknown().optional(),
    })
    .optional(),
});
type Message = z.infer<typeof MessageSchema>;

/** A request whose answer is awaited. */
interface Exchange {
  /** Settles when the server has begun to answer, or never will. */
  begun: Promise<void>;
  markBegun: () => void;
  controller: AbortController;
}

/**
 * Streamable HTTP as a client of Colab needs it. Every request gets an answer: where the stream ends without one,
 * one is made up at once, so that the caller can re-attach. There is no stream of the server's own and no resuming by event id.
 */
export class McpTransport implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>;
  onerror?: NonNullable<Transport['onerror']>;
  onclose?: NonNullable<Transport['onclose']>;
  /** Gets the `params` of progress notifications, which the SDK would take for errors: their tokens are ours. */
  onprogress?: (params: unknown) => void;
  sessionId?: string;

  readonly #options: TransportOptions;
  readonly #exchanges = new Map<string, Exchange>();
  readonly #cancellations = new Set<Promise<void>>();
  #protocolVersion: string | undefined;
  #isStateless = false;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  setProtocolVersion(version: string): void {
    this.#protocolVersion = version;
  }

  async send(outgoing: JSONRPCMessage): Promise<void> {
    const message = MessageSchema.parse(outgoing);
    if (message.method !== undefined && message.id !== undefined && message.id !== null) {
      void this.#ask(outgoing, message.id);
      return;
    }
    if (message.method === 'notifications/cancelled') {
      await this.#track(this.#cancel(outgoing, message));
      return;
    }
    if (this.#isStateless && message.method === 'notifications/initialized') return;
    const response = await this.#post(outgoing);
    await response.body?.cancel();
  }

  /** Settles when every cancellation sent so far has reached the server, or could not. */
  async cancellationsDelivered(): Promise<void> {
    await Promise.allSettled(this.#cancellations);
  }

  /** Leaves the server without cancelling anything. */
  async close(): Promise<void> {
    for (const exchange of this.#exchanges.values()) exchange.controller.abort();
    if (this.sessionId !== undefined) await this.#farewell();
    this.onclose?.();
  }

  async #ask(request: JSONRPCMessage, id: string | number): Promise<void> {
    const exchange = newExchange();
    this.#exchanges.set(String(id), exchange);
    try {
      await this.#answer(request, id, exchange);
    } catch (error) {
      if (error instanceof HttpRefusal && this.#goStateless(request, error.body)) return;
      const failure = exchange.controller.signal.aborted ? new StreamCut(error) : error;
      const made = { code: NO_ANSWER, message: String(failure), data: failure };
      this.onmessage?.({ jsonrpc: '2.0', id, error: made });
    } finally {
      exchange.markBegun();
      this.#exchanges.delete(String(id));
    }
  }

  /** Delivers every message up to the answer. */
  async #answer(request: JSONRPCMessage, id: string | number, exchange: Exchange): Promise<void> {
    const response = await this.#post(request, exchange.controller.signal);
    exchange.markBegun();
    const session = response.headers.get('mcp-session-id');
    if (session !== null) this.sessionId = session;
    for await (const message of messagesOf(response)) {
      const isAnswer = message.method === undefined && String(message.id) === String(id);
      if (isAnswer && this.#goStateless(request, message)) return;
      if (message.method === 'notifications/progress') this.onprogress?.(message.params);
      else this.onmessage?.(wellFormed(message, isAnswer ? id : message.id));
      if (isAnswer) return;
    }
    throw new StreamCut();
  }

  /** Where the server knows no handshake, answers it in the server's place. */
  #goStateless(request: JSONRPCMessage, answer: unknown): boolean {
    if (!('id' in request && 'method' in request) || request.method !== 'initialize') return false;
    if (!refusesHandshake(answer)) return false;
    this.#isStateless = true;
    this.onmessage?.({ jsonrpc: '2.0', id: request.id, result: HANDSHAKE_RESULT });
    return true;
  }

  async #cancel(notification: JSONRPCMessage, message: Message): Promise<void> {
    const exchange = this.#exchanges.get(requestIdOf(message));
    if (exchange !== undefined) await atMost(OVERTAKE_MS, exchange.begun);
    try {
      const response = await this.#post(notification, AbortSignal.timeout(FAREWELL_MS));
      await response.body?.cancel();
    } finally {
      // Servers may leave the stream of a cancelled request open for good.
      exchange?.controller.abort();
    }
  }

  async #track(cancellation: Promise<void>): Promise<void> {
    this.#cancellations.add(cancellation);
    try {
      await cancellation;
    } finally {
      this.#cancellations.delete(cancellation);
    }
  }

  async #farewell(): Promise<void> {
    try {
      const headers = await this.#headers();
      const signal = AbortSignal.timeout(FAREWELL_MS);
      await guardedFetch(this.#options.url, { method: 'DELETE', headers, signal });
    } catch (error) {
      // The server forgets the connection by itself; closing must not fail for it.
      this.onerror?.(error as Error);
    }
  }

  async #post(message: JSONRPCMessage, signal?: AbortSignal): Promise<HttpAnswer> {
    const sent = this.#isStateless ? selfContained(message) : { message, headers: {} };
    const headers = { ...(await this.#headers()), ...sent.headers };
    const body = JSON.stringify(sent.message);
    return guardedFetch(this.#options.url, { method: 'POST', headers, body, signal });
  }

  async #headers(): Promise<Record<string, string>> {
    const { signIn, headers } = this.#options;
    const quotaProject = await signIn.quotaProject?.();
    return {
      ...(quotaProject !== undefined && { 'x-goog-user-project': quotaProject }),
      ...headers,
      authorization: `Bearer ${await signIn.accessToken()}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(this.sessionId !== undefined && { 'mcp-session-id': this.sessionId }),
      ...(this.#protocolVersion !== undefined && { 'mcp-protocol-version': this.#protocolVersion }),
    };
  }
}

function newExchange(): Exchange {
  let markBegun = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    markBegun = resolve;
  });
  return { begun, markBegun, controller: new AbortController() };
}

async function* messagesOf(response: HttpAnswer): AsyncGenerator<Message> {
  const contentType = response.headers.get('content-type') ?? '';
  if (contentType.includes('text/event-stream') && response.body !== null) {
    for await (const data of eventData(response.body)) yield parseMessage(data, response);
    return;
  }
  const text = await response.text();
  if (text === '') return;
  if (!contentType.includes('json')) throw new HttpRefusal(response, text);
  const parsed: unknown = JSON.parse(text);
  for (const message of Array.isArray(parsed) ? parsed : [parsed]) {
    yield MessageSchema.parse(message);
  }
}

function parseMessage(data: string, response: HttpAnswer): Message {
  try {
    return MessageSchema.parse(JSON.parse(data));
  } catch (cause) {
    throw new Error(`${response.url} sent an event that is no JSON-RPC message`, { cause });
  }
}

/** The SDK drops messages with fields it does not know; the answer must not be one of them. */
function wellFormed(message: Message, id: Message['id']): JSONRPCMessage {
  const { method, params, result, error } = message;
  const named = id === undefined ? {} : { id };
  if (method !== undefined) return { jsonrpc: '2.0', ...named, method, params } as JSONRPCMessage;
  if (error === undefined) return { jsonrpc: '2.0', ...named, result } as JSONRPCMessage;
  const { code, message: text, data } = error;
  return { jsonrpc: '2.0', ...named, error: { code, message: text, data } } as JSONRPCMessage;
}

const CancelledSchema = z.looseObject({ requestId: z.union([z.string(), z.number()]) });

function requestIdOf(message: Message): string {
  return String(CancelledSchema.parse(message.params).requestId);
}

async function atMost(ms: number, promise: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, limit]);
  clearTimeout(timer);
}
