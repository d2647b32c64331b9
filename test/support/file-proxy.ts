import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { posix } from 'node:path';
import { ok } from '../sandbox/colab/connected.js';
import type { ScriptedColab } from './scripted-colab.js';

/** One request as it came in; `path` is decoded and without query. */
export interface FileRequest {
  method: string;
  path: string;
  query: string;
  range: string | undefined;
  body: { type?: string; format?: string; content?: string; chunk?: number };
}

/** What goes wrong with one request. */
export type Mishap =
  /** The connection ends before anything was done. */
  | 'lost'
  /** It was done, and the connection ends without an answer. */
  | 'answer-lost'
  /** One byte of what is put arrives changed. */
  | 'damaged'
  /** The body of the answer ends after so many bytes. */
  | { cutAfterBytes: number }
  | { status: number; headers?: Record<string, string>; body?: string };

/** A runtime's file proxy that keeps files in memory, answers 404 to every token but the current one, and errs as told. */
export class FileProxy implements AsyncDisposable {
  token = 'proxy-1';
  url = '';
  /** Whole files by path, such as `content/a.csv`. */
  readonly files = new Map<string, Buffer>();
  readonly folders = new Set<string>(['content']);
  readonly requests: FileRequest[] = [];
  readonly tokens: (string | undefined)[] = [];
  readonly headers: IncomingMessage['headers'][] = [];
  modifiedAt = 'Thu, 01 Jan 2026 00:00:00 GMT';
  knowsRanges = true;
  tellsLength = true;
  readonly #mishaps: { isFor: (request: FileRequest) => boolean; mishap: Mishap }[] = [];
  readonly #server = createServer((request, response) => {
    void this.#serve(request, response);
  });

  static async start(): Promise<FileProxy> {
    const proxy = new FileProxy();
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    proxy.url = `http://127.0.0.1:${(proxy.#server.address() as AddressInfo).port}`;
    return proxy;
  }

  /** The next request that `isFor` is true of has this happen to it; each once, in order. */
  spoil(isFor: (request: FileRequest) => boolean, ...mishaps: Mishap[]): void {
    this.#mishaps.push(...mishaps.map((mishap) => ({ isFor, mishap })));
  }

  /** Requests that put a file or a folder. */
  get puts(): FileRequest[] {
    return this.requests.filter(({ method }) => method === 'PUT');
  }

  /** Lets the kernel of `server` see these files when it is asked to check one. */
  answerChecks(server: ScriptedColab, times = 20): void {
    const answers = Array.from(
      { length: times },
      () => (call: Parameters<ReturnType<typeof ok>>[0]) => {
        const [, path = '""'] = /'path': (".*")\}\)/.exec(String(call.args['code'])) ?? [];
        const content = this.files.get(`content/${JSON.parse(path) as string}`);
        const sha256 = createHash('sha256')
          .update(content ?? '')
          .digest('hex');
        const seen = content === undefined ? null : { sizeBytes: content.length, sha256 };
        ok(server, { stdout: `${JSON.stringify(seen)}\n` })(call);
      },
    );
    server.answer('execute_code', ...answers);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(incoming);
    const token = incoming.headers['x-colab-runtime-proxy-token'];
    this.tokens.push(token?.toString());
    this.requests.push(request);
    this.headers.push(incoming.headers);
    const at = this.#mishaps.findIndex(({ isFor }) => isFor(request));
    const [spoilt] = at === -1 ? [] : this.#mishaps.splice(at, 1);
    const mishap = spoilt?.mishap;
    if (mishap === 'lost') response.destroy();
    else if (typeof mishap === 'object' && 'status' in mishap) {
      response.writeHead(mishap.status, mishap.headers).end(mishap.body ?? '');
    } else if (token !== this.token) response.writeHead(404).end();
    else if (request.method === 'PUT') this.#put(request, response, mishap);
    else if (request.path.startsWith('/files/')) this.#get(request, response, mishap);
    else this.#describe(request, response);
  }

  #put({ path, body }: FileRequest, response: ServerResponse, mishap: Mishap | undefined): void {
    const name = path.replace('/api/contents/', '');
    if (!this.folders.has(posix.dirname(name))) {
      response.writeHead(404).end();
      return;
    }
    if (body.type === 'directory') this.folders.add(name);
    else {
      const bytes = Buffer.from(body.content ?? '', 'base64');
      if (mishap === 'damaged') bytes[0] = (bytes[0] ?? 0) ^ 1;
      const isFurther = body.chunk !== undefined && body.chunk !== 1;
      const before = isFurther ? (this.files.get(name) ?? Buffer.alloc(0)) : Buffer.alloc(0);
      this.files.set(name, Buffer.concat([before, bytes]));
    }
    if (mishap === 'answer-lost') response.destroy();
    else response.writeHead(201).end('{}');
  }

  #get({ path, range }: FileRequest, response: ServerResponse, mishap: Mishap | undefined): void {
    const content = this.files.get(path.replace('/files/', ''));
    if (content === undefined) {
      response.writeHead(404).end();
      return;
    }
    const start = this.knowsRanges ? Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0) : 0;
    if (start > 0 && start >= content.length) {
      response.writeHead(416, { 'content-range': `bytes */${content.length}` }).end();
      return;
    }
    const rest = content.subarray(start);
    response.writeHead(start > 0 ? 206 : 200, {
      'last-modified': this.modifiedAt,
      ...(this.tellsLength && { 'content-length': rest.length }),
      ...(start > 0 && {
        'content-range': `bytes ${start}-${content.length - 1}/${content.length}`,
      }),
    });
    if (typeof mishap !== 'object' || !('cutAfterBytes' in mishap)) {
      response.end(rest);
      return;
    }
    response.write(rest.subarray(0, mishap.cutAfterBytes), () => {
      // Chunked bodies end cleanly here, as with a server that breaks down behind a gateway.
      if (this.tellsLength) response.destroy();
      else response.end();
    });
  }

  #describe({ path, query }: FileRequest, response: ServerResponse): void {
    const name = path.replace('/api/contents/', '');
    const file = this.files.get(name);
    if (file === undefined && !this.folders.has(name)) {
      response.writeHead(404).end();
      return;
    }
    const entries = query === 'content=1' ? this.#entriesOf(name) : null;
    const described = file === undefined ? folderEntry(name) : fileEntry(name, file);
    response.writeHead(200).end(JSON.stringify({ ...described, content: entries }));
  }

  #entriesOf(folder: string): object[] {
    const isInside = (name: string): boolean => posix.dirname(name) === folder;
    return [
      ...[...this.files].filter(([name]) => isInside(name)).map((entry) => fileEntry(...entry)),
      ...[...this.folders].filter(isInside).map(folderEntry),
    ];
  }
}

function fileEntry(name: string, content: Buffer): object {
  const last_modified = '2026-01-01T00:00:00Z';
  return { name: posix.basename(name), type: 'file', size: content.length, last_modified };
}

function folderEntry(name: string): object {
  return { name: posix.basename(name), type: 'directory', size: null };
}

async function readRequest(incoming: IncomingMessage): Promise<FileRequest> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer);
  const text = Buffer.concat(pieces).toString();
  const [path = '', query = ''] = (incoming.url ?? '').split('?');
  return {
    method: incoming.method ?? '',
    path: decodeURIComponent(path),
    query,
    range: incoming.headers.range,
    body: text === '' ? {} : (JSON.parse(text) as FileRequest['body']),
  };
}
