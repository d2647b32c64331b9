import { request as requestUpstream, STATUS_CODES } from 'node:http';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { sendJson } from './http-body.js';
import type { JupyterRuntime } from './runtime.js';
import type { RuntimeRegistry } from './runtime-registry.js';

export interface FileProxyOptions {
  runtimes: RuntimeRegistry;
  /** The largest request body; base64 makes 50 MB of a file 67 MB. */
  requestBytes: number;
}

const METHODS: Readonly<Record<string, readonly string[]>> = {
  files: ['GET', 'HEAD'],
  'api/contents': ['GET', 'PUT', 'PATCH', 'POST', 'DELETE'],
};
const REQUEST_HEADERS = [
  'accept',
  'content-length',
  'content-type',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'range',
];
const RESPONSE_HEADERS = [
  'accept-ranges',
  'content-disposition',
  'content-length',
  'content-range',
  'content-type',
  'etag',
  'last-modified',
];
/** Others are dropped, above all `token`, which Jupyter would take for its own. */
const QUERY_NAMES: ReadonlySet<string> = new Set(['content', 'download', 'format', 'hash', 'type']);
/** The folder in which scripts start; nothing else of the machine is served. */
const ROOT = 'content';

/** A runtime's files over HTTP: parts of Jupyter's own API, behind a token of ours that ends. */
export class FileProxy {
  readonly #options: FileProxyOptions;

  constructor(options: FileProxyOptions) {
    this.#options = options;
  }

  /** Serves `/runtimes/{id}/files/{path}` and `/runtimes/{id}/api/contents/{path}`; 404 for everything else. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = this.#targetOf(request);
    if (target === undefined) {
      sendJson(response, 404, {
        message: 'Not found: no such file, or the token is missing, wrong or expired.',
      });
      return;
    }
    const methods = METHODS[target.api] ?? [];
    if (!methods.includes(request.method ?? '')) {
      sendJson(response, 405, { message: 'Method not allowed.' }, { allow: methods.join(', ') });
      return;
    }
    if (Number(request.headers['content-length'] ?? 0) > this.#options.requestBytes) {
      refuseLength(response);
      return;
    }
    await this.#forward(request, response, target);
  }

  #targetOf(request: IncomingMessage): Target | undefined {
    const [path = '', query = ''] = (request.url ?? '').split('?', 2);
    const [, id, api, file] = /^\/runtimes\/([^/]+)\/(files|api\/contents)\/(.+)$/.exec(path) ?? [];
    const runtime = this.#options.runtimes
      .list()
      .find(({ name }) => name === `runtimes/${id ?? ''}`);
    const token = request.headers['x-colab-runtime-proxy-token'];
    if (runtime === undefined || typeof token !== 'string' || !runtime.proxyTokens.accepts(token))
      return undefined;
    const safePath = normalised(file ?? '');
    if (safePath === undefined || api === undefined) return undefined;
    const { socketPath, token: jupyterToken } = runtime.jupyter.api;
    return { api, socketPath, jupyterToken, path: `/${api}/${safePath}${keptQuery(query)}` };
  }

  async #forward(
    request: IncomingMessage,
    response: ServerResponse,
    { socketPath, jupyterToken, path }: Target,
  ): Promise<void> {
    const upstream = requestUpstream({
      socketPath,
      path,
      method: request.method,
      headers: {
        ...picked(request.headers, REQUEST_HEADERS),
        authorization: `token ${jupyterToken}`,
      },
    });
    response.once('close', () => upstream.destroy());
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      upstream.once('response', resolve).once('error', reject);
    });
    const sent = pipeline(request, atMost(this.#options.requestBytes), upstream);
    try {
      // Jupyter may answer before it has read everything.
      const answer = await Promise.race([answered, sent.then(() => answered)]);
      await passOn(answer, response);
    } catch (error) {
      upstream.destroy();
      if (response.headersSent || error instanceof TooLong) response.destroy();
      else sendJson(response, 502, { message: 'The runtime does not answer.' });
    }
  }
}

interface Target {
  api: string;
  socketPath: JupyterRuntime['api']['socketPath'];
  jupyterToken: string;
  path: string;
}

/** Jupyter's pages about errors carry its token, so of those only what its API says in JSON is passed on. */
async function passOn(answer: IncomingMessage, response: ServerResponse): Promise<void> {
  const { statusCode: status = 502, headers } = answer;
  const isJson = headers['content-type']?.startsWith('application/json') ?? false;
  if (status >= 400 && !isJson) {
    answer.destroy();
    sendJson(response, status, { message: STATUS_CODES[status] ?? 'Failed' });
    return;
  }
  response.writeHead(status, picked(headers, RESPONSE_HEADERS));
  await pipeline(answer, response);
}

/** The encoded path below the working folder, or undefined where it leaves it or cannot be read. */
function normalised(path: string): string | undefined {
  try {
    const names = path.replace(/\/$/, '').split('/').map(decodeURIComponent);
    const isSafe = names[0] === ROOT && names.every(isFileName);
    return isSafe ? names.map(encodeURIComponent).join('/') : undefined;
  } catch {
    return undefined;
  }
}

function isFileName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\\\0]/.test(name);
}

function keptQuery(query: string): string {
  const kept = [...new URLSearchParams(query)].filter(([name]) => QUERY_NAMES.has(name));
  return kept.length === 0 ? '' : `?${new URLSearchParams(kept).toString()}`;
}

function picked(
  headers: IncomingMessage['headers'],
  names: readonly string[],
): OutgoingHttpHeaders {
  return Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  );
}

class TooLong extends Error {}

function atMost(bytes: number): Transform {
  let seen = 0;
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      seen += piece.length;
      if (seen > bytes) done(new TooLong());
      else done(null, piece);
    },
  });
}

function refuseLength(response: ServerResponse): void {
  const message = 'The request is too long: send the file in pieces ("chunk": 1, 2, … and -1).';
  sendJson(response, 413, { message }, { connection: 'close' });
}
