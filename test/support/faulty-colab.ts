import { once } from 'node:events';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Agent, createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { eventData } from '../../src/sandbox/colab/event-stream.js';
import { RuntimeListSchema, SessionListSchema } from '../../src/sandbox/colab/tool-results.js';
import type { Fault, Loss, Mishap, Moment, Refusal } from './fault.js';
import { labelOf, needsUnbegunAnswer, strike } from './fault.js';
import { Oddities } from './oddities.js';
import { WireAnswer } from './wire-answer.js';

/** A call on its way to the server behind. */
export interface PassingCall {
  /** The tool; for other messages their method, such as `initialize`; `files` for the file proxy. */
  tool: string;
  args: Record<string, unknown>;
}

export interface FaultyColabOptions {
  /** Asked for each call for which {@link FaultyColab.fault} queued nothing. */
  plan?: (call: PassingCall) => Fault | undefined;
  /** Whether answers take every harmless form that they may. Default false. */
  isOdd?: boolean;
}

const MessageSchema = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string(),
  params: z
    .looseObject({
      name: z.string().optional(),
      arguments: z.record(z.string(), z.unknown()).optional(),
      _meta: z
        .looseObject({ progressToken: z.union([z.string(), z.number()]).optional() })
        .optional(),
    })
    .optional(),
});
const AnswerSchema = z.looseObject({
  method: z.string().optional(),
  result: z
    .looseObject({ structuredContent: z.record(z.string(), z.unknown()).optional() })
    .optional(),
});
type Answer = z.infer<typeof AnswerSchema>;

const TOKEN_HEADER = 'x-colab-runtime-proxy-token';

/** Stands between a client and a Colab server, and lets calls, answers, sessions, runtimes and tokens go astray. */
export class FaultyColab implements AsyncDisposable {
  url = '';
  /** Calls so far, with what their arguments were. */
  readonly calls: PassingCall[] = [];
  /** Faults that struck, by kind. */
  readonly struck = new Map<string, number>();
  /** Connections broken by {@link cut}. */
  cuts = 0;
  readonly #behind: { url: URL; token: string };
  readonly #options: FaultyColabOptions;
  readonly #oddities: Oddities | undefined;
  readonly #queued = new Map<string, (Fault | undefined)[]>();
  readonly #expiredMcpSessions = new Set<string>();
  readonly #exchanges = new Set<() => void>();
  readonly #agent = new Agent({ keepAlive: true });
  #tokenGeneration = 0;
  readonly #server = createServer((request, response) => {
    response.on('error', () => undefined);
    this.#serve(request, response).catch((error: unknown) => {
      // The server behind, or the client, has gone; whoever is left notices.
      response.destroy(error as Error);
    });
  });

  private constructor(behind: { url: string; token: string }, options: FaultyColabOptions) {
    this.#behind = { url: new URL(behind.url), token: behind.token };
    this.#options = options;
    this.#oddities = options.isOdd === true ? new Oddities() : undefined;
  }

  static async start(
    behind: { url: string; token: string },
    options: FaultyColabOptions = {},
  ): Promise<FaultyColab> {
    const proxy = new FaultyColab(behind, options);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    const { port } = proxy.#server.address() as AddressInfo;
    proxy.url = `http://127.0.0.1:${port}${proxy.#behind.url.pathname}`;
    return proxy;
  }

  /** What strikes the next calls of `tool`, in order; undefined lets one through. */
  fault(tool: string, ...faults: (Fault | undefined)[]): void {
    this.#queued.set(tool, [...(this.#queued.get(tool) ?? []), ...faults]);
  }

  /** Forgets the faults that have not struck yet, and the calls so far. */
  reset(): void {
    this.#queued.clear();
    this.calls.length = 0;
  }

  /** Breaks every connection there is; new ones work. */
  cut(): void {
    for (const cutExchange of this.#exchanges) {
      this.cuts += 1;
      cutExchange();
    }
  }

  /** The file proxy's tokens given out so far answer 404 from now on. */
  expireProxyTokens(): void {
    this.#tokenGeneration += 1;
  }

  callsOf(tool: string): Record<string, unknown>[] {
    return this.calls.filter((call) => call.tool === tool).map((call) => call.args);
  }

  /** Calls a tool of the server behind, past all faults. */
  async callBehind(tool: string, args: object): Promise<unknown> {
    const response = await fetch(this.#behind.url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.#behind.token}`,
        'content-type': 'application/json',
        accept: 'application/json',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: tool, arguments: args },
      }),
    });
    return AnswerSchema.parse(await response.json()).result?.structuredContent;
  }

  /** Names of the runtimes of the server behind. */
  async runtimesBehind(): Promise<string[]> {
    const { runtimes } = RuntimeListSchema.parse(await this.callBehind('list_runtimes', {}));
    return runtimes.map(({ name }) => name);
  }

  /** Names of the sessions of the server behind. */
  async sessionsBehind(): Promise<string[]> {
    const names = await this.runtimesBehind();
    const lists = await Promise.all(
      names.map((parent) => this.callBehind('list_sessions', { parent })),
    );
    return lists.flatMap((list) => SessionListSchema.parse(list).sessions.map(({ name }) => name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    if (request.url?.startsWith('/runtimes/') === true) {
      await this.#serveFile(request, body, response);
    } else if (request.method === 'POST') {
      await this.#servePost(request, body, response);
    } else {
      await this.#pass({ request, body, response });
    }
  }

  async #servePost(
    request: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
  ): Promise<void> {
    const message = MessageSchema.parse(JSON.parse(body.toString()));
    const isTool = message.method === 'tools/call';
    const call = {
      tool: (isTool ? message.params?.name : undefined) ?? message.method,
      args: message.params?.arguments ?? {},
    };
    const progressToken = message.params?._meta?.progressToken;
    const answer = new WireAnswer(response, { id: message.id, progressToken });
    const session = String(request.headers['mcp-session-id'] ?? '');
    if (this.#expiredMcpSessions.has(session)) {
      refuseSession(answer);
      return;
    }
    const fault = this.#faultOf(call);
    const exchange = { request, body, response };
    if (fault === undefined) await this.#pass(exchange);
    else if (!('happens' in fault)) await this.#strike(fault, exchange, answer);
    else if (fault.happens === 'mcp-session-expired') {
      this.#expiredMcpSessions.add(session);
      refuseSession(answer);
    } else {
      await this.#delete(fault, call);
      await this.#pass(exchange);
    }
  }

  #faultOf(call: PassingCall): Fault | undefined {
    this.calls.push(call);
    const queue = this.#queued.get(call.tool) ?? [];
    const fault = queue.length > 0 ? queue.shift() : this.#options.plan?.(call);
    if (fault !== undefined) {
      const label = labelOf(fault);
      this.struck.set(label, (this.struck.get(label) ?? 0) + 1);
    }
    return fault;
  }

  async #strike(fault: Refusal | Loss, exchange: Exchange, answer: WireAnswer): Promise<void> {
    const { when = 'before' } = fault;
    if (when !== 'before') await this.#pass(exchange, { until: when, fault });
    strike(fault, answer);
  }

  /** Of a session deleted behind the client's back its next call makes a new one, with an empty kernel. */
  async #delete({ happens }: Mishap, { args }: PassingCall): Promise<void> {
    const name = String(args['session'] ?? args['name'] ?? args['parent']);
    if (happens === 'kernel-replaced') await this.callBehind('delete_session', { name });
    else await this.callBehind('delete_runtime', { name: name.replace(/\/sessions\/.*$/, '') });
  }

  /** Passes the request on and its answer back, or back up to the moment at which a fault will strike. */
  async #pass(exchange: Exchange, stop?: { until: Moment; fault: Refusal | Loss }): Promise<void> {
    const { request, body, response } = exchange;
    const behind = await this.#open(exchange, body, request.headers);
    const isShown = stop === undefined || !needsUnbegunAnswer(stop.fault);
    const isStream = behind.headers['content-type']?.includes('text/event-stream') === true;
    if (isShown) {
      const { 'content-type': type = '', 'mcp-session-id': session } = behind.headers;
      response.writeHead(behind.statusCode ?? 502, {
        ...(type !== '' && { 'content-type': type }),
        ...(session !== undefined && { 'mcp-session-id': session }),
      });
      response.flushHeaders();
    }
    if (!isStream) {
      const text = (await readBody(behind)).toString();
      if (stop === undefined) response.end(text);
      return;
    }
    if (stop?.until === 'begun') {
      behind.destroy();
      return;
    }
    for await (const data of eventData(toWeb(behind))) {
      const message = AnswerSchema.parse(JSON.parse(data));
      if (message.method === undefined && stop !== undefined) continue;
      if (isShown) this.#relay(message, response);
      if (stop?.until === 'while') break;
    }
    if (stop === undefined) response.end();
  }

  #relay(message: Answer, response: ServerResponse): void {
    const value = message.result?.structuredContent;
    const sent =
      value === undefined || message.result?.['isError'] === true
        ? message
        : { ...message, result: this.#rewritten(value) };
    const plain = [Buffer.from(`event: message\ndata: ${JSON.stringify(sent)}\n\n`)];
    for (const bytes of this.#oddities?.event(sent) ?? plain) response.write(bytes);
  }

  /** Files are fetched through this proxy too, by tokens that it can let expire. */
  #rewritten(value: Record<string, unknown>): object {
    const ours = new URL(this.url).origin;
    const text = JSON.stringify(value)
      .replaceAll(this.#behind.url.origin, ours)
      .replaceAll(/("token":"[^"~]+)/g, `$1~${this.#tokenGeneration}`);
    const rewritten = JSON.parse(text) as object;
    return (
      this.#oddities?.result(rewritten) ?? {
        content: [{ type: 'text', text }],
        structuredContent: rewritten,
      }
    );
  }

  async #serveFile(
    request: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
  ): Promise<void> {
    const answer = new WireAnswer(response, {});
    const fault = this.#faultOf({ tool: 'files', args: { path: request.url } });
    const [token, generation] = String(request.headers[TOKEN_HEADER]).split('~');
    if (Number(generation) !== this.#tokenGeneration) {
      answer.http(404, '');
      return;
    }
    if (fault !== undefined && !('happens' in fault) && (fault.when ?? 'before') === 'before') {
      strike(fault, answer);
      return;
    }
    const exchange = { request, body, response };
    const headers = { ...request.headers, [TOKEN_HEADER]: token };
    const behind = await this.#open(exchange, body, headers);
    const content = await readBody(behind);
    if (fault === undefined || 'happens' in fault) {
      response.writeHead(behind.statusCode ?? 502, behind.headers).end(content);
      return;
    }
    if (!needsUnbegunAnswer(fault)) {
      response.writeHead(behind.statusCode ?? 502, behind.headers);
      response.write(content.subarray(0, content.length >> 1));
    }
    strike(fault, answer);
  }

  /** The head of the answer of the server behind; when one side goes, the other does. */
  async #open(
    { request, response }: Exchange,
    body: Buffer,
    headers: OutgoingHttpHeaders,
  ): Promise<IncomingMessage> {
    const { hostname, port, host } = this.#behind.url;
    const outgoing = httpRequest({
      agent: this.#agent,
      hostname,
      port,
      method: request.method,
      path: request.url,
      headers: { ...headers, host, connection: 'keep-alive' },
    });
    const breakBoth = (): void => {
      outgoing.destroy();
      response.socket?.destroy();
    };
    this.#exchanges.add(breakBoth);
    response.once('close', () => {
      this.#exchanges.delete(breakBoth);
      if (!response.writableFinished) outgoing.destroy();
    });
    outgoing.end(body);
    const [behind] = (await once(outgoing, 'response')) as [IncomingMessage];
    outgoing.on('error', () => response.destroy());
    return behind;
  }
}

interface Exchange {
  request: IncomingMessage;
  body: Buffer;
  response: ServerResponse;
}

function refuseSession(answer: WireAnswer): void {
  const error = { code: -32_001, message: 'Session not found' };
  answer.http(404, { jsonrpc: '2.0', id: null, error });
}

async function readBody(message: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of message) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

function toWeb(message: IncomingMessage): ReadableStream<Uint8Array> {
  return ReadableStream.from(message) as ReadableStream<Uint8Array>;
}
