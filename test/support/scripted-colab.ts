import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sendJson, WireAnswer } from './wire-answer.js';

/** One tools/call on the wire, to be answered by hand. */
export class ToolCall extends WireAnswer {
  readonly id: string | number | undefined;
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly headers: IncomingMessage['headers'];
  /** Settles when the client cancels this call; the answer stays open. */
  readonly cancelled: Promise<void>;

  constructor(
    response: ServerResponse,
    message: Message,
    details: Pick<ToolCall, 'tool' | 'args' | 'headers' | 'cancelled'>,
  ) {
    super(response, { id: message.id, progressToken: message.params?._meta?.progressToken });
    this.id = message.id;
    this.tool = details.tool;
    this.args = details.args;
    this.headers = details.headers;
    this.cancelled = details.cancelled;
  }
}

type Answer = (call: ToolCall) => void | Promise<void>;

export interface ScriptedColabOptions {
  /** Accepted bearer tokens; default any. */
  tokens?: Set<string>;
}

/** The tiny scripts of the client's own, and the line under which it sends those of others. */
const GUARD = /session guard|colab_session_guard/;
const HEADING = /^.*colab_session_guard\.require\(.*\n/;

/**
 * A Colab MCP server whose answers are written by the test. Tools have plain default answers; `answer` queues others.
 * The tiny scripts with which the client marks and asks the kernel are answered as a healthy kernel would, unless
 * `kernel` says otherwise.
 */
export class ScriptedColab implements AsyncDisposable {
  readonly calls: {
    tool: string;
    args: Record<string, unknown>;
    headers: IncomingMessage['headers'];
  }[] = [];
  /** Requests that were not tool calls: `initialize`, `notifications/cancelled`, `DELETE`, … */
  readonly others: string[] = [];
  readonly sessions = new Set<string>();
  readonly kernel = { token: '', isReplaced: false, hangs: false, executionCount: 0 };
  mcpSession = 'mcp-1';
  url = '';
  readonly #options: ScriptedColabOptions;
  readonly #answers = new Map<string, Answer[]>();
  readonly #cancelled = new Map<string, () => void>();
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch((error: unknown) => {
      response.destroy(error as Error);
    });
  });

  private constructor(options: ScriptedColabOptions) {
    this.#options = options;
  }

  static async start(options: ScriptedColabOptions = {}): Promise<ScriptedColab> {
    const server = new ScriptedColab(options);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    server.url = `http://127.0.0.1:${(server.#server.address() as AddressInfo).port}/mcp`;
    return server;
  }

  /** Answers the next calls of `tool`, in order; for execute_code only the test's own scripts count. */
  answer(tool: string, ...answers: Answer[]): void {
    this.#answers.set(tool, [...(this.#answers.get(tool) ?? []), ...answers]);
  }

  /** Calls of `tool` so far; for execute_code only the test's own scripts. */
  callsOf(tool: string): Record<string, unknown>[] {
    return this.calls
      .filter((call) => call.tool === tool && !GUARD.test(String(call.args['code'])))
      .map((call) => call.args);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    if (this.#options.tokens !== undefined && !this.#options.tokens.has(token)) {
      const error = {
        code: 401,
        message: 'Request had invalid credentials.',
        status: 'UNAUTHENTICATED',
      };
      sendJson(response, 401, { error });
      return;
    }
    if (request.method !== 'POST') {
      this.others.push(request.method ?? '');
      response.writeHead(request.method === 'DELETE' ? 200 : 405).end();
      return;
    }
    const message = (await readJson(request)) as Message;
    if (message.method === 'tools/call') {
      await this.#call(message, request, response);
      return;
    }
    this.others.push(message.method);
    if (message.method === 'initialize') {
      response.setHeader('mcp-session-id', this.mcpSession);
      const serverInfo = { name: 'scripted', version: '1' };
      const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo };
      sendJson(response, 200, { jsonrpc: '2.0', id: message.id, result });
      return;
    }
    if (message.method === 'notifications/cancelled') {
      this.#cancelled.get(String(message.params?.requestId))?.();
    }
    response.writeHead(202).end();
  }

  async #call(message: Message, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const expected = request.headers['mcp-session-id'];
    if (expected !== this.mcpSession) {
      const error = { code: -32_001, message: 'Session not found' };
      sendJson(response, 404, { jsonrpc: '2.0', id: message.id, error });
      return;
    }
    const tool = message.params?.name ?? '';
    const args = withoutHeading(message.params?.arguments ?? {});
    this.calls.push({ tool, args, headers: request.headers });
    const cancelled = new Promise<void>((resolve) => {
      this.#cancelled.set(String(message.id), resolve);
    });
    const call = new ToolCall(response, message, {
      tool,
      args,
      headers: request.headers,
      cancelled,
    });
    if (tool === 'execute_code' && GUARD.test(String(args['code']))) {
      this.#answerGuard(call);
      return;
    }
    if (tool === 'execute_code' && this.kernel.isReplaced) {
      this.#answerUnmarked(call);
      return;
    }
    const answer = this.#answers.get(tool)?.shift();
    if (answer === undefined) this.#answerPlainly(call);
    else await answer(call);
  }

  #answerGuard(call: ToolCall): void {
    const { kernel } = this;
    const marked = /'token': '([^']+)'/.exec(String(call.args['code']))?.[1];
    if (marked !== undefined) kernel.token = marked;
    if (kernel.hangs) {
      call.begin();
      return;
    }
    if (kernel.isReplaced) {
      this.#answerUnmarked(call);
      return;
    }
    kernel.executionCount += 1;
    call.result({ executionCount: kernel.executionCount, result: `'${kernel.token}'` });
  }

  /** As a kernel does that was put in the place of the one that the client marked. */
  #answerUnmarked(call: ToolCall): void {
    this.kernel.executionCount += 1;
    const executionError = { name: 'AttributeError', value: "no attribute 'colab_session_guard'" };
    call.result({ executionCount: this.kernel.executionCount, executionError });
  }

  #answerPlainly(call: ToolCall): void {
    switch (call.tool) {
      case 'list_runtimes':
        call.result({ runtimes: [{ name: 'runtimes/r1', runtimeSpec: CPU }] });
        return;
      case 'list_runtime_specs':
        call.result({ runtimeSpecs: [{ key: CPU, eligible: true }] });
        return;
      case 'create_runtime':
        call.result({ name: 'runtimes/made', runtimeSpec: CPU });
        return;
      case 'create_session': {
        const name = `${String(call.args['parent'])}/sessions/${String(call.args['sessionId'])}`;
        this.sessions.add(name);
        call.result({ name });
        return;
      }
      case 'list_sessions':
        call.result({ sessions: [...this.sessions].map((name) => ({ name })) });
        return;
      case 'delete_session':
        this.sessions.delete(String(call.args['name']));
        call.result({});
        return;
      case 'execute_code':
        this.kernel.executionCount += 1;
        call.result({ executionCount: this.kernel.executionCount });
        return;
      default:
        call.result({});
    }
  }
}

export const CPU = { variant: 'VARIANT_CPU', accelerator: 'NONE', shape: 'SHAPE_STANDARD' };
export const T4 = { variant: 'VARIANT_GPU', accelerator: 'T4', shape: 'SHAPE_STANDARD' };

interface Message {
  id?: string | number;
  method: string;
  params?: {
    name?: string;
    arguments?: Record<string, unknown>;
    requestId?: string | number;
    _meta?: { progressToken?: string | number };
  };
}

function withoutHeading(args: Record<string, unknown>): Record<string, unknown> {
  const { code } = args;
  return typeof code === 'string' ? { ...args, code: code.replace(HEADING, '') } : args;
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return JSON.parse(Buffer.concat(pieces).toString());
}
