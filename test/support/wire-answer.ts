import type { ServerResponse } from 'node:http';

/** Writes the answer to one JSON-RPC request, whole or broken, as an event stream or as an HTTP refusal. */
export class WireAnswer {
  readonly #response: ServerResponse;
  readonly #id: string | number | undefined;
  readonly #progressToken: string | number | undefined;

  constructor(
    response: ServerResponse,
    request: { id?: string | number | undefined; progressToken?: string | number | undefined },
  ) {
    this.#response = response;
    this.#id = request.id;
    this.#progressToken = request.progressToken;
  }

  /** Opens the event stream without a message. */
  begin(): void {
    if (this.#response.headersSent) return;
    this.#response.writeHead(200, { 'content-type': 'text/event-stream' });
    this.#response.flushHeaders();
  }

  /** Sends output as it appears. */
  progress(text: string, stream?: 'stdout' | 'stderr'): void {
    const params = {
      progressToken: this.#progressToken,
      progress: 1,
      message: text,
      ...(stream !== undefined && { _meta: { 'colab-solver/stream': stream } }),
    };
    this.#send({ method: 'notifications/progress', params });
  }

  /** Ends the call with a result. */
  result(payload: object): void {
    const content = [{ type: 'text', text: JSON.stringify(payload) }];
    this.#finish({ result: { content, structuredContent: payload } });
  }

  toolError(text: string, structuredContent?: object): void {
    const content = [{ type: 'text', text }];
    this.#finish({ result: { isError: true, content, structuredContent } });
  }

  rpcError(code: number, message: string, data?: unknown): void {
    this.#finish({ error: { code, message, data } });
  }

  http(status: number, body: string | object, headers: Record<string, string> = {}): void {
    for (const [name, value] of Object.entries(headers)) this.#response.setHeader(name, value);
    if (typeof body === 'object') sendJson(this.#response, status, body);
    else this.#response.writeHead(status).end(body);
  }

  /** Ends the event stream cleanly without a result. */
  endSilently(): void {
    this.begin();
    this.#response.end();
  }

  /** Breaks the connection in the middle of the answer; what was sent arrives. */
  cut(): void {
    this.begin();
    this.#response.socket?.end();
  }

  /** Breaks the connection; where nothing was sent yet, the client gets not even a head. */
  hangUp(): void {
    this.#response.socket?.destroy();
  }

  #send(payload: object): void {
    this.begin();
    const data = JSON.stringify({ jsonrpc: '2.0', ...payload });
    this.#response.write(`event: message\ndata: ${data}\n\n`);
  }

  #finish(payload: object): void {
    this.#send({ id: this.#id, ...payload });
    this.#response.end();
  }
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  response.setHeader('content-type', 'application/json');
  response.writeHead(status).end(JSON.stringify(body));
}
