import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  CallToolRequestParamsSchema,
  CancelledNotificationParamsSchema,
  ErrorCode,
  type Implementation,
  InitializeRequestParamsSchema,
  type JSONRPCRequest,
  JSONRPCNotificationSchema,
  JSONRPCRequestSchema,
  JSONRPCResponseSchema,
  LATEST_PROTOCOL_VERSION,
  type RequestId,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/sdk/types.js';
import type { Logger } from '../../logger.js';
import { readBody, sendJson } from './http-body.js';
import { CallsInFlight, McpSessions } from './mcp-sessions.js';
import { acceptedFormat, Reply } from './reply.js';
import { StatusError, toStatusError, wireStatus } from './status.js';
import { CallEnd, type Tool, type ToolCall } from './tool.js';

export interface McpEndpointOptions {
  serverInfo: Implementation;
  tools: ReadonlyMap<string, Tool>;
  /** The largest request body. */
  requestBytes: number;
  maxSessions: number;
  logger: Logger;
}

/** Codes of this transport beside those of JSON-RPC, as MCP's own servers use them. */
const SERVER_ERROR = -32_000;
const SESSION_NOT_FOUND = -32_001;

type Answer = { result: Record<string, unknown> } | { error: { code: number; message: string } };

/**
 * MCP over streamable HTTP, without the SDK's server transport, because a result must be known to have reached its
 * client, a slow client must be waited for, and a call must be cancellable with a session and without.
 * A POST needs no session; `initialize` hands one out to the clients that want it.
 */
export class McpEndpoint {
  readonly #options: McpEndpointOptions;
  readonly #sessions: McpSessions;
  readonly #calls = new CallsInFlight();

  constructor(options: McpEndpointOptions) {
    this.#options = options;
    this.#sessions = new McpSessions(options.maxSessions);
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'POST') await this.#post(request, response);
    else if (request.method === 'DELETE') this.#delete(request, response);
    else
      refuse(response, 405, SERVER_ERROR, 'Only POST and DELETE are served here.', {
        allow: 'POST, DELETE',
      });
  }

  /** Every call in flight ends with UNAVAILABLE. */
  close(): void {
    this.#calls.endAll(new CallEnd('server-closing'));
  }

  #delete(request: IncomingMessage, response: ServerResponse): void {
    const sessionId = sessionIdOf(request);
    if (sessionId !== undefined && this.#sessions.close(sessionId)) response.writeHead(204).end();
    else refuseSession(response);
  }

  async #post(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request, this.#options.requestBytes);
    if (body === undefined) {
      const message = `The request is longer than ${this.#options.requestBytes} bytes.`;
      refuse(response, 413, SERVER_ERROR, message, { connection: 'close' });
      return;
    }
    const sessionId = sessionIdOf(request);
    if (sessionId !== undefined && !this.#sessions.touch(sessionId)) {
      refuseSession(response);
      return;
    }
    const message = parseMessage(body);
    if ('refusal' in message) {
      refuse(response, 400, message.code, message.refusal);
      return;
    }
    const version = request.headers['mcp-protocol-version'];
    const isSupported =
      version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(version));
    if (!isSupported && message.request?.method !== 'initialize') {
      const known = SUPPORTED_PROTOCOL_VERSIONS.join(', ');
      refuse(response, 400, SERVER_ERROR, `Unsupported MCP-Protocol-Version; supported: ${known}.`);
    } else if (message.request !== undefined) {
      await this.#answer(message.request, sessionId, request, response);
    } else {
      this.#notice(message.notification, sessionId);
      response.writeHead(202).end();
    }
  }

  #notice(
    notification: { method: string; params?: unknown } | undefined,
    sessionId?: string,
  ): void {
    if (notification?.method !== 'notifications/cancelled') return;
    const { data } = CancelledNotificationParamsSchema.safeParse(notification.params);
    if (data?.requestId !== undefined) this.#calls.cancel(sessionId, data.requestId);
  }

  async #answer(
    message: JSONRPCRequest,
    sessionId: string | undefined,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { id, method, params } = message;
    const send = (answer: Answer, headers?: Record<string, string>): void => {
      sendJson(response, 200, { jsonrpc: '2.0', id, ...answer }, headers);
    };
    switch (method) {
      case 'initialize': {
        const answer = this.#initialize(params);
        send(answer, 'result' in answer ? { 'mcp-session-id': this.#sessions.open() } : {});
        return;
      }
      case 'ping':
        send({ result: {} });
        return;
      case 'tools/list':
        send({ result: { tools: [...this.#options.tools.values()].map(listed) } });
        return;
      case 'tools/call':
        await this.#callTool(message, sessionId, request, response);
        return;
      default:
        send(failure(ErrorCode.MethodNotFound, `There is no method ${method}.`));
    }
  }

  #initialize(params: unknown): Answer {
    const parsed = InitializeRequestParamsSchema.safeParse(params);
    if (!parsed.success) return failure(ErrorCode.InvalidParams, parsed.error.message);
    const asked = parsed.data.protocolVersion;
    return {
      result: {
        protocolVersion: SUPPORTED_PROTOCOL_VERSIONS.includes(asked)
          ? asked
          : LATEST_PROTOCOL_VERSION,
        capabilities: { tools: {} },
        serverInfo: this.#options.serverInfo,
      },
    };
  }

  async #callTool(
    { id, params }: JSONRPCRequest,
    sessionId: string | undefined,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const parsed = CallToolRequestParamsSchema.safeParse(params);
    const tool = parsed.success ? this.#options.tools.get(parsed.data.name) : undefined;
    const format = acceptedFormat(request);
    if (!parsed.success || tool === undefined) {
      const problem = parsed.success
        ? `There is no tool ${parsed.data.name}.`
        : parsed.error.message;
      const answer = failure(ErrorCode.InvalidParams, problem);
      sendJson(response, 200, { jsonrpc: '2.0', id, ...answer });
      return;
    }
    if (format === undefined) {
      const message = 'Accept application/json or text/event-stream.';
      refuse(response, 406, SERVER_ERROR, message);
      return;
    }
    using reply = new Reply(response, format);
    using inFlight = this.#calls.add(sessionId, id);
    response.once('close', () => {
      if (!response.writableFinished) inFlight.end(new CallEnd('client-gone'));
    });
    const call = new EndpointCall(reply, inFlight.signal, parsed.data._meta?.progressToken);
    const result = await this.#resultOf(tool, parsed.data.arguments, call);
    if (await reply.finish({ jsonrpc: '2.0', id, result })) call.delivered();
  }

  async #resultOf(tool: Tool, input: unknown, call: ToolCall): Promise<Record<string, unknown>> {
    try {
      const value = await tool.call(input, call);
      return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: value };
    } catch (cause) {
      const error = cause instanceof CallEnd ? endedCall(cause) : toStatusError(cause);
      if (error.status === 'INTERNAL')
        this.#options.logger.error(`Tool ${tool.name} failed`, { error: error.cause ?? error });
      return {
        isError: true,
        content: [{ type: 'text', text: `${error.status}: ${error.message}` }],
        structuredContent: { error: wireStatus(error) },
      };
    }
  }
}

class EndpointCall implements ToolCall {
  readonly signal: AbortSignal;
  readonly sendOutput: ToolCall['sendOutput'];
  readonly #callbacks: (() => void)[] = [];

  constructor(reply: Reply, signal: AbortSignal, progressToken: RequestId | undefined) {
    this.signal = signal;
    let progress = 0;
    this.sendOutput =
      progressToken === undefined || !reply.canNotify
        ? undefined
        : async ({ stream, text }, until) => {
            progress += 1;
            const _meta = { 'colab-solver/stream': stream };
            const params = { progressToken, progress, message: text, _meta };
            await reply.notify({ jsonrpc: '2.0', method: 'notifications/progress', params }, until);
          };
  }

  whenDelivered(callback: () => void): void {
    this.#callbacks.push(callback);
  }

  delivered(): void {
    for (const callback of this.#callbacks) callback();
  }
}

/** Unknown fields are dropped; made once, since zod compiles each schema anew. */
const RequestSchema = JSONRPCRequestSchema.strip();

interface Message {
  /** A message with neither is a client's answer, of which there is nothing to do. */
  request?: JSONRPCRequest;
  notification?: { method: string; params?: unknown };
}

function parseMessage(body: string): Message | { refusal: string; code: number } {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return { refusal: 'The body is not JSON.', code: ErrorCode.ParseError };
  }
  if (Array.isArray(json))
    return { refusal: 'Send one message per POST, not a batch.', code: ErrorCode.InvalidRequest };
  const request = RequestSchema.safeParse(json);
  if (request.success) return { request: request.data };
  const notification = JSONRPCNotificationSchema.safeParse(json);
  if (notification.success) return { notification: notification.data };
  if (JSONRPCResponseSchema.safeParse(json).success) return {};
  return { refusal: 'The body is not a JSON-RPC 2.0 message.', code: ErrorCode.InvalidRequest };
}

function listed(tool: Tool): Record<string, unknown> {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  return { name, title, description, inputSchema, outputSchema, annotations };
}

function endedCall({ why }: CallEnd): StatusError {
  return why === 'cancelled'
    ? new StatusError('CANCELLED', 'The call was cancelled.')
    : new StatusError('UNAVAILABLE', 'The server is shutting down.');
}

function failure(code: number, message: string): Answer {
  return { error: { code, message } };
}

function sessionIdOf(request: IncomingMessage): string | undefined {
  const header = request.headers['mcp-session-id'];
  return header === undefined ? undefined : String(header);
}

/** A refusal before any request was understood, so its id is null. */
export function refuse(
  response: ServerResponse,
  status: number,
  code: number,
  message: string,
  headers: Record<string, string> = {},
): void {
  sendJson(response, status, { jsonrpc: '2.0', id: null, error: { code, message } }, headers);
}

function refuseSession(response: ServerResponse): void {
  const message = 'There is no such MCP session; initialize a new one.';
  refuse(response, 404, SESSION_NOT_FOUND, message);
}
