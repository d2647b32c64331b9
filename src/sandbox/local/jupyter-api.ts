import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { SandboxError } from '../../errors.js';

export interface ApiResponse {
  status: number;
  /** Undefined where the body is empty. */
  json: unknown;
}

/** Jupyter's HTTP API over the runtime's unix socket. */
export class JupyterApi implements Disposable {
  readonly socketPath: string;
  readonly token: string;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(socketPath: string, token: string) {
    this.socketPath = socketPath;
    this.token = token;
  }

  /** @throws {SandboxError} `RUNTIME_LOST` where nobody answers, `UNKNOWN` for a status of 400 and more but 404. */
  async call(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    options: { body?: unknown; signal?: AbortSignal } = {},
  ): Promise<ApiResponse> {
    let response: ApiResponse;
    try {
      response = await this.#send(method, path, options);
    } catch (cause) {
      options.signal?.throwIfAborted();
      const message = `The Jupyter runtime did not answer ${method} ${path}; open a new one.`;
      throw new SandboxError('RUNTIME_LOST', message, { cause });
    }
    if (response.status >= 400 && response.status !== 404) {
      const details = response.json === undefined ? '' : JSON.stringify(response.json);
      throw new SandboxError(
        'UNKNOWN',
        `Jupyter answered ${method} ${path} with status ${response.status}: ${details}`,
      );
    }
    return response;
  }

  async #send(
    method: string,
    path: string,
    options: { body?: unknown; signal?: AbortSignal },
  ): Promise<ApiResponse> {
    const body = options.body === undefined ? undefined : JSON.stringify(options.body);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = request({
        agent: this.#agent,
        socketPath: this.socketPath,
        method,
        path,
        headers: {
          authorization: `token ${this.token}`,
          ...(body !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          }),
        },
        ...(options.signal && { signal: options.signal }),
      });
      outgoing.once('response', resolve).once('error', reject).end(body);
    });
    const content = await text(response);
    return {
      status: response.statusCode ?? 0,
      json: content === '' ? undefined : (JSON.parse(content) as unknown),
    };
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
