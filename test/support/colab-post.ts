import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { once } from 'node:events';

/** Raw HTTP to a Colab MCP server, as curl sends it: plain POSTs, no `initialize`. */
export interface Endpoint {
  url: string;
  token: string;
}

export interface Message {
  id?: number | string | null;
  method?: string;
  params?: { progress: number; message: string; _meta: Record<string, string> };
  result?: ToolResult;
  error?: { code: number; message: string };
}

export interface ToolResult {
  isError?: boolean;
  content: { type: string; text: string }[];
  structuredContent: Record<string, unknown>;
  [key: string]: unknown;
}

export interface CallOptions {
  id?: number | string;
  mcpSession?: string;
  /** Default true. */
  wantsProgress?: boolean;
  headers?: Record<string, string>;
}

export async function post(
  { url, token }: Endpoint,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

export async function rpc(endpoint: Endpoint, body: unknown): Promise<Message> {
  return (await (await post(endpoint, body)).json()) as Message;
}

/** Calls a tool and waits for its result. */
export async function callTool(
  endpoint: Endpoint,
  name: string,
  args: Record<string, unknown> = {},
  options: CallOptions = {},
): Promise<ToolResult> {
  return await (await startCall(endpoint, name, args, options)).result();
}

/** The value of a tool that is expected to succeed. */
export async function valueOf<T = Record<string, unknown>>(
  endpoint: Endpoint,
  name: string,
  args: Record<string, unknown> = {},
): Promise<T> {
  const result = await callTool(endpoint, name, args);
  if (result.isError === true) throw new Error(result.content[0]?.text);
  return result.structuredContent as T;
}

/** A call whose stream the test reads, leaves or cuts. */
export async function startCall(
  { url, token }: Endpoint,
  name: string,
  args: Record<string, unknown> = {},
  { id = 1, mcpSession, wantsProgress = true, headers = {} }: CallOptions = {},
): Promise<StreamedCall> {
  const outgoing = request(url, {
    method: 'POST',
    agent: false,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
      ...(mcpSession !== undefined && { 'mcp-session-id': mcpSession }),
      ...headers,
    },
  });
  const _meta = wantsProgress ? { progressToken: 'p' } : {};
  outgoing.end(
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name, arguments: args, _meta },
    }),
  );
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return new StreamedCall(response);
}

export class StreamedCall {
  readonly response: IncomingMessage;
  readonly progress: NonNullable<Message['params']>[] = [];
  #pieces: string[] = [];
  #final: Message | undefined;
  #hasEnded = false;
  #onChange: (() => void) | undefined;

  constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      this.#read(text);
    });
    response.on('close', () => {
      this.#hasEnded = true;
      this.#onChange?.();
    });
    response.on('error', () => undefined);
  }

  /** Everything printed so far, both streams in order. */
  get output(): string {
    return this.progress.map(({ message }) => message).join('');
  }

  async outputHas(text: string): Promise<void> {
    await this.#until(() => this.output.includes(text));
  }

  /** Waits for the final message and the end of the stream. */
  async result(): Promise<ToolResult> {
    await this.#until(() => this.#hasEnded);
    if (this.#final?.result === undefined)
      throw new Error(`No result, but ${JSON.stringify(this.#final)}`);
    return this.#final.result;
  }

  get hasResult(): boolean {
    return this.#final !== undefined;
  }

  cut(): void {
    this.response.destroy();
  }

  #read(text: string): void {
    const isStream = this.response.headers['content-type'] === 'text/event-stream';
    this.#pieces.push(text);
    // A large message comes in many pieces; looking through all of them each time would take long.
    if (isStream && !this.#pieces.slice(-2).join('').includes('\n\n')) return;
    const whole = this.#pieces.join('');
    const parts = isStream ? whole.split('\n\n') : [whole];
    this.#pieces = [parts.pop() ?? ''];
    for (const part of parts) {
      const data = /^data: (.*)$/m.exec(part)?.[1];
      if (data !== undefined) this.#take(JSON.parse(data) as Message);
    }
    this.#onChange?.();
  }

  #take(message: Message): void {
    if (message.method === 'notifications/progress' && message.params !== undefined)
      this.progress.push(message.params);
    else this.#final = message;
  }

  #until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#onChange = () => {
        if (condition()) resolve();
      };
      this.#onChange();
    });
  }
}

/**
 * Waits until the server has noticed what happened on other connections before: it learns of an event no later than
 * of a connection made after it, and answers on that one at the earliest in its next round of events.
 */
export async function serverNoticed(endpoint: Endpoint): Promise<void> {
  for (let round = 0; round < 3; round += 1)
    await startCall(endpoint, 'get_subscription').then((call) => call.result());
}

export async function cancel(
  endpoint: Endpoint,
  requestId: number | string,
  mcpSession?: string,
): Promise<void> {
  const response = await post(
    endpoint,
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } },
    mcpSession === undefined ? {} : { 'mcp-session-id': mcpSession },
  );
  await response.body?.cancel();
}

export async function initialize(endpoint: Endpoint): Promise<string> {
  const response = await post(endpoint, {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    },
  });
  await response.body?.cancel();
  return response.headers.get('mcp-session-id') ?? '';
}
