import { z } from 'zod';
import { linkSignal, MAX_TIMER_MS } from '../abort.js';
import type { LinkedSignal } from '../abort.js';
import { ConfigError } from '../errors.js';
import { networkError, notGeminiError, streamCutError, systemCode } from './gemini-errors.js';
import type { GeminiPeer } from './gemini-errors.js';

export interface ExchangeOptions {
  peer: GeminiPeer;
  signal: AbortSignal | undefined;
  /** How long the service may send no byte at all, in milliseconds. */
  idleTimeoutMs: number;
  fetch: typeof fetch;
}

/**
 * One HTTP exchange with the API, lent to the SDK as its `fetch`: knows what the SDK does not tell (`Retry-After`,
 * `finishMessage`), has no limit on the whole but one on silence, follows no redirect since that would carry the
 * key elsewhere, and throws our errors. Disposing it closes a connection that is still open.
 */
export class GeminiExchange implements Disposable {
  /** Of the header `Retry-After`, in milliseconds. */
  retryAfterMs: number | undefined;
  finishMessage: string | undefined;
  /** Whether the API has answered anything at all. */
  isAnswered = false;
  readonly #options: ExchangeOptions;
  readonly #link: LinkedSignal;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#link = linkSignal(options.signal);
  }

  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const { peer } = this.#options;
    const response = await this.#request(input, init);
    this.isAnswered = true;
    refuseStrangers(response, peer);
    this.retryAfterMs = retryAfterMs(response.headers.get('retry-after'));
    if (response.body === null) return response;
    const body = ReadableStream.from<Uint8Array>(this.#read(response.body));
    return new Response(body, {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    });
  };

  [Symbol.dispose](): void {
    this.#link.abort();
    this.#link[Symbol.dispose]();
  }

  async #request(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const { peer, fetch } = this.#options;
    using silence = this.#watchSilence();
    try {
      const { signal } = this.#link;
      return await fetch(input, { ...init, redirect: 'manual', signal });
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      throw silence.error ?? networkError(error, peer);
    }
  }

  async *#read(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
    const reader = body.getReader();
    const finishMessages = new FinishMessageReader();
    for (;;) {
      const bytes = await this.#readPiece(reader);
      if (bytes === undefined) return;
      this.finishMessage = finishMessages.push(bytes) ?? this.finishMessage;
      yield bytes;
    }
  }

  async #readPiece(
    reader: ReadableStreamDefaultReader<Uint8Array>,
  ): Promise<Uint8Array | undefined> {
    using silence = this.#watchSilence();
    try {
      return (await reader.read()).value;
    } catch (error) {
      throw silence.error ?? streamCutError(systemCode(error), this.#options.peer, error);
    }
  }

  /** Gives the exchange up when nothing comes in time; only while something is awaited, so a slow reader does not count. */
  #watchSilence(): { error: Error | undefined } & Disposable {
    const { peer, idleTimeoutMs } = this.#options;
    const giveUp = (): void => {
      watch.error = streamCutError(`nothing came for ${idleTimeoutMs / 1000} s`, peer);
      this.#link.abort(watch.error);
    };
    const timer = setTimeout(giveUp, Math.min(idleTimeoutMs, MAX_TIMER_MS));
    const watch = {
      error: undefined as Error | undefined,
      [Symbol.dispose]() {
        clearTimeout(timer);
      },
    };
    return watch;
  }
}

/** What a plain web server says to a POST. */
const NOT_IMPLEMENTED = 501;

/** @throws {ModelError} `NOT_GEMINI`. A gateway's HTML page for a 429 or 5xx is left alone: Google sends such, too. */
function refuseStrangers(response: Response, peer: GeminiPeer): void {
  const { status } = response;
  const contentType = response.headers.get('content-type') ?? '';
  if (status >= 300 && status < 400) {
    throw notGeminiError(`redirects to ${redirectTarget(response, peer)} (HTTP ${status})`, peer);
  }
  if (status === 429 || (status >= 500 && status !== NOT_IMPLEMENTED)) return;
  if (contentType.includes('text/html')) {
    throw notGeminiError(`answers with an HTML page (HTTP ${status})`, peer);
  }
  if (response.ok && contentType.includes('application/json')) {
    throw notGeminiError('answers with plain JSON where a stream of events is due', peer);
  }
}

function redirectTarget(response: Response, peer: GeminiPeer): string {
  const location = response.headers.get('location') ?? '';
  return URL.canParse(location, peer.baseUrl) ? new URL(location, peer.baseUrl).origin : 'nowhere';
}

/** Seconds or an HTTP date (RFC 9110, 10.2.3). */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

const FinishSchema = z.looseObject({
  candidates: z.array(z.looseObject({ finishMessage: z.string().optional() })).min(1),
});

/** Picks `finishMessage` out of server-sent events; the SDK drops it, and it alone explains a malformed call. */
class FinishMessageReader {
  readonly #decoder = new TextDecoder();
  #line = '';

  push(bytes: Uint8Array): string | undefined {
    const lines = (this.#line + this.#decoder.decode(bytes, { stream: true })).split('\n');
    this.#line = lines.pop() ?? '';
    return lines.map(finishMessageOf).findLast((message) => message !== undefined);
  }
}

function finishMessageOf(line: string): string | undefined {
  if (!line.startsWith('data:') || !line.includes('"finishMessage"')) return undefined;
  try {
    const chunk = FinishSchema.safeParse(JSON.parse(line.slice('data:'.length)));
    return chunk.data?.candidates[0]?.finishMessage;
  } catch {
    return undefined; // the SDK reads the same line and reports that it is broken
  }
}
