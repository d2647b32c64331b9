import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Part } from '../../src/parts/part.js';
import { finish, json, keyInvalid, modelNotFound, status } from './gemini-replies.js';
import type {
  HttpReply,
  Reply,
  StaticReply,
  TurnItem,
  TurnReply,
  UsageMetadata,
} from './gemini-replies.js';
import { refusalOf, signatureKey } from './gemini-request-rules.js';
import type { RequestBody } from './gemini-request-rules.js';

export * from './gemini-replies.js';
export type { RequestBody } from './gemini-request-rules.js';

export interface GeminiServerOptions {
  /** The only key accepted; default: any. */
  apiKey?: string;
  /** The models there are; default: any. */
  models?: readonly string[];
  /** Kinds of part the API is to know beside those of today. */
  extraPartFields?: readonly string[];
  /** Begin again when the script has been used up. */
  repeat?: boolean;
  /** Default: any free one. */
  port?: number;
}

export interface GeminiRequest {
  /** Such as `/v1beta/models/gemini-test:streamGenerateContent?alt=sse`. */
  path: string;
  model: string;
  headers: IncomingHttpHeaders;
  body: RequestBody;
  /** The body as it came over the wire. */
  rawBody: string;
  /** Why it was refused by the rules of the API; the script is then not used. */
  refusal?: string;
  /** Resolves when the response is over or the client has gone. */
  closed: Promise<void>;
}

/** Speaks the Gemini API on loopback, answers from a script and checks requests as the real one does. */
export interface GeminiServer extends AsyncDisposable {
  /** For `baseUrl`. */
  readonly url: string;
  /** All so far, refused ones included. */
  readonly requests: readonly GeminiRequest[];
  /** The request number `count` (from 1), as soon as it has come. */
  request(count: number): Promise<GeminiRequest>;
  /** Adds to the end of the script. */
  push(...replies: Reply[]): void;
  /** Replies not used yet. */
  readonly left: number;
  close(): Promise<void>;
}

export async function startGeminiServer(
  script: readonly Reply[] = [],
  options: GeminiServerOptions = {},
): Promise<GeminiServer> {
  const service = new ScriptedService(script, options);
  const server = createServer((request, response) => {
    service.handle(request, response).catch((error: unknown) => {
      response.destroy(error as Error);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => {
        resolve();
      });
      server.closeAllConnections();
    });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: service.requests,
    request: (count) => service.request(count),
    push: (...replies) => {
      service.replies.push(...replies);
    },
    get left() {
      return service.replies.length;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

class ScriptedService {
  readonly requests: GeminiRequest[] = [];
  replies: Reply[];
  readonly #script: readonly Reply[];
  readonly #options: GeminiServerOptions;
  readonly #signatures = new Map<string, string>();
  #waiting: { count: number; resolve: (request: GeminiRequest) => void }[] = [];

  constructor(script: readonly Reply[], options: GeminiServerOptions) {
    this.#script = script;
    this.replies = [...script];
    this.#options = options;
  }

  request(count: number): Promise<GeminiRequest> {
    const request = this.requests[count - 1];
    if (request !== undefined) return Promise.resolve(request);
    return new Promise((resolve) => this.#waiting.push({ count, resolve }));
  }

  async handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const closed = new Promise<void>((resolve) => response.once('close', resolve));
    const rawBody = await textOfRequest(incoming);
    const path = incoming.url ?? '';
    const route =
      /^\/v1beta\/models\/([^/:]+):(streamGenerateContent|generateContent)(?:\?|$)/.exec(path);
    if (route === null || incoming.method !== 'POST') {
      sendHttp(response, { status: 404, body: '', headers: {} });
      return;
    }
    const body = JSON.parse(rawBody) as RequestBody;
    const { headers } = incoming;
    const request: GeminiRequest = { path, model: route[1] ?? '', headers, body, rawBody, closed };
    this.#record(request);
    const refusal = this.#refusal(request);
    if (refusal !== undefined) {
      request.refusal = refusal.body;
      sendHttp(response, refusal);
      return;
    }
    await this.#send(this.#next(request), route[2] === 'streamGenerateContent', response);
  }

  #record(request: GeminiRequest): void {
    this.requests.push(request);
    const due = this.#waiting.filter(({ count }) => count <= this.requests.length);
    this.#waiting = this.#waiting.filter((waiter) => !due.includes(waiter));
    for (const { resolve } of due) resolve(request);
  }

  #refusal({ headers, model, body }: GeminiRequest): HttpReply | undefined {
    const { apiKey, models, extraPartFields = [] } = this.#options;
    const key = headers['x-goog-api-key'];
    if (key === undefined) {
      return status(403, { message: "Method doesn't allow unregistered callers." });
    }
    if (apiKey !== undefined && key !== apiKey) return keyInvalid();
    if (models !== undefined && !models.includes(model)) return modelNotFound(model);
    return refusalOf(body, { extraPartFields, signatures: this.#signatures });
  }

  #next(request: GeminiRequest): StaticReply {
    if (this.replies.length === 0 && this.#options.repeat) this.replies = [...this.#script];
    const index = this.replies.findIndex(
      (reply) =>
        typeof reply === 'function' ||
        reply.when === undefined ||
        request.rawBody.includes(JSON.stringify(reply.when).slice(1, -1)),
    );
    const reply = this.replies.splice(index === -1 ? this.replies.length : index, 1)[0];
    if (reply === undefined) {
      return status(400, {
        message: `The test's script has no reply for request ${this.requests.length}.`,
      });
    }
    return typeof reply === 'function' ? reply(request) : reply;
  }

  async #send(reply: StaticReply, isStream: boolean, response: ServerResponse): Promise<void> {
    if ('hangUp' in reply) {
      response.destroy();
      return;
    }
    if ('status' in reply) {
      sendHttp(response, reply);
      return;
    }
    for (const part of partsOf(reply.turn)) this.#remember(part);
    if (isStream) await sendTurn(response, reply);
    else sendHttp(response, json(200, wholeResponse(reply)));
  }

  #remember(part: Part): void {
    const key = signatureKey(part);
    if (key !== undefined && part.thoughtSignature !== undefined) {
      this.#signatures.set(key, part.thoughtSignature);
    }
  }
}

async function sendTurn(response: ServerResponse, { turn, pieceBytes }: TurnReply): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  for (const step of streamSteps(turn)) {
    if (response.destroyed) return;
    if (typeof step === 'string') await write(response, Buffer.from(step), pieceBytes);
    else if ('gate' in step) await step.pass();
    else if (step.end === 'drop') {
      response.destroy();
      return;
    }
  }
  response.end();
}

/** What to write and where to wait or stop; counts grow from chunk to chunk as the API's do. */
function* streamSteps(
  turn: readonly TurnItem[],
): Generator<string | Extract<TurnItem, { gate: true } | { end: string }>> {
  const counts = countsOf(turn);
  const items = isClosed(turn) ? turn : [...turn, finish('STOP')];
  let sent = 0;
  for (const item of items) {
    if ('gate' in item) yield item;
    else if ('end' in item) {
      if (item.end === 'cut') yield 'data: {"candidates": [{"content": {"parts": [{"te';
      yield item;
      return;
    } else if (!('usage' in item)) {
      sent += 1;
      yield event(chunkOf(item, 'finish' in item ? counts : running(counts, sent, items.length)));
    }
  }
}

function event(chunk: unknown): string {
  return `data: ${JSON.stringify(chunk)}\r\n\r\n`;
}

function chunkOf(item: TurnItem, usageMetadata: UsageMetadata): unknown {
  if ('chunk' in item) return item.chunk;
  if ('error' in item) return { error: item.error };
  const beside = { usageMetadata, modelVersion: 'gemini-test', responseId: 'response-1' };
  if ('finish' in item) {
    const { finish: finishReason, message } = item;
    const finishMessage = message === undefined ? {} : { finishMessage: message };
    const content =
      finishReason === 'STOP' ? { content: { role: 'model', parts: [{ text: '' }] } } : {};
    return { candidates: [{ ...content, finishReason, ...finishMessage, index: 0 }], ...beside };
  }
  return {
    candidates: [{ content: { role: 'model', parts: partsOf([item]) }, index: 0 }],
    ...beside,
  };
}

function wholeResponse({ turn }: TurnReply): unknown {
  const closing = turn.find((item) => 'finish' in item);
  const { finish: finishReason, message } = closing ?? { finish: 'STOP' };
  return {
    candidates: [
      {
        content: { role: 'model', parts: partsOf(turn) },
        finishReason,
        ...(message !== undefined && { finishMessage: message }),
        index: 0,
      },
    ],
    usageMetadata: countsOf(turn),
  };
}

function partsOf(turn: readonly TurnItem[]): Part[] {
  return turn.flatMap((item) => {
    if ('parts' in item) return item.parts;
    return 'part' in item ? [item.part] : [];
  });
}

function isClosed(turn: readonly TurnItem[]): boolean {
  return turn.some((item) => {
    if ('chunk' in item)
      return JSON.stringify(item.chunk).match(/"(?:finish|block)Reason"/) !== null;
    return 'finish' in item || 'end' in item || 'error' in item;
  });
}

function countsOf(turn: readonly TurnItem[]): Required<UsageMetadata> {
  const given = turn.find((item) => 'usage' in item)?.usage ?? {};
  const { promptTokenCount = 10, candidatesTokenCount = 5, thoughtsTokenCount = 0 } = given;
  const sum = promptTokenCount + candidatesTokenCount + thoughtsTokenCount;
  const { totalTokenCount = sum } = given;
  return { promptTokenCount, candidatesTokenCount, thoughtsTokenCount, totalTokenCount };
}

function running(counts: Required<UsageMetadata>, sent: number, of: number): UsageMetadata {
  const { promptTokenCount, thoughtsTokenCount } = counts;
  const candidatesTokenCount = Math.floor((counts.candidatesTokenCount * sent) / (of + 1));
  const totalTokenCount = promptTokenCount + thoughtsTokenCount + candidatesTokenCount;
  return { promptTokenCount, candidatesTokenCount, thoughtsTokenCount, totalTokenCount };
}

/** Each write becomes a chunk of its own in HTTP, which is how the client's parser hands it on. */
async function write(response: ServerResponse, bytes: Buffer, pieceBytes?: number): Promise<void> {
  const size = pieceBytes ?? bytes.length;
  for (let start = 0; start < bytes.length && !response.destroyed; start += size) {
    const piece = bytes.subarray(start, start + size);
    // Called with an error too, when the client has gone.
    await new Promise((resolve) => response.write(piece, resolve));
  }
}

function sendHttp(response: ServerResponse, { status: code, body, headers }: HttpReply): void {
  response.writeHead(code, headers);
  response.end(body);
}

async function textOfRequest(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('utf8');
}
