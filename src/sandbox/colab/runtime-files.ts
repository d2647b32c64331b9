import { z } from 'zod';
import { SandboxError } from '../../errors.js';
import type { RetryPolicy } from '../../retry.js';
import { retry } from '../../retry.js';
import type { Failure } from '../failure.js';
import { HttpRefusal, readFailure } from '../failure.js';
import type { SandboxFile } from '../sandbox.js';
import { toSandboxError } from '../sandbox-errors.js';
import { callSafely } from './call-safely.js';
import type { GuardedRequest } from './guarded-fetch.js';
import { isSafeUrl } from '../../safe-url.js';
import { guardedFetch } from './guarded-fetch.js';
import type { McpConnection } from './mcp-connection.js';
import type { ConnectionInfo } from './tool-results.js';
import { RuntimeSchema } from './tool-results.js';

/** Scripts start in /content; its files are what a session's paths are relative to. */
const WORKING_DIRECTORY = 'content';
/** Raw bytes a request; the server's limit is 50 MB. */
const CHUNK_BYTES = 8 * 1024 * 1024;
/** The proxy's token lives about an hour; a new one is fetched this long before its end. */
const RENEW_BEFORE_MS = 300_000;

const EntrySchema = z.looseObject({
  name: z.string(),
  type: z.string(),
  size: z.number().nullish(),
  last_modified: z.string().nullish(),
});
const DirectorySchema = z.looseObject({ content: z.array(EntrySchema).nullish() });

interface FileCallOptions {
  signal?: AbortSignal | undefined;
}

/** A runtime's files, through the file proxy that get_runtime tells of. */
export class RuntimeFiles {
  readonly #connection: McpConnection;
  readonly #runtime: string;
  readonly #policy: RetryPolicy;
  #info: Promise<ConnectionInfo> | undefined;

  constructor(connection: McpConnection, runtime: string, policy: RetryPolicy) {
    this.#connection = connection;
    this.#runtime = runtime;
    this.#policy = policy;
  }

  async upload(path: string, content: Uint8Array, options: FileCallOptions): Promise<void> {
    const segments = segmentsOf(path);
    await this.#makeFolders(segments.slice(0, -1), options);
    const target = `api/contents/${encoded(segments)}`;
    const pieces = Math.max(1, Math.ceil(content.length / CHUNK_BYTES));
    for (let piece = 0; piece < pieces; piece++) {
      const bytes = content.subarray(piece * CHUNK_BYTES, (piece + 1) * CHUNK_BYTES);
      const chunk = piece === pieces - 1 ? -1 : piece + 1;
      await this.#send(
        target,
        {
          type: 'file',
          format: 'base64',
          content: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64'),
          ...(pieces > 1 && { chunk }),
        },
        options,
      );
    }
  }

  async download(path: string, options: FileCallOptions): Promise<Uint8Array> {
    const response = await this.#request(
      `files/${encoded(segmentsOf(path))}`,
      { method: 'GET', headers: {} },
      options,
    );
    return new Uint8Array(await response.arrayBuffer());
  }

  async list(options: FileCallOptions): Promise<SandboxFile[]> {
    const files = await this.#listFolder([], options);
    return files.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  async #listFolder(folder: string[], options: FileCallOptions): Promise<SandboxFile[]> {
    const response = await this.#request(
      `api/contents/${encoded(folder)}?content=1`,
      { method: 'GET', headers: {} },
      options,
    );
    const { content } = DirectorySchema.parse(await response.json());
    const files: SandboxFile[] = [];
    for (const entry of content ?? []) {
      if (entry.name.startsWith('.')) continue;
      const path = [...folder, entry.name];
      if (entry.type === 'directory') files.push(...(await this.#listFolder(path, options)));
      else files.push(toFile(path, entry));
    }
    return files;
  }

  async #makeFolders(folders: string[], options: FileCallOptions): Promise<void> {
    for (let depth = 1; depth <= folders.length; depth++) {
      const path = encoded(folders.slice(0, depth));
      await this.#send(`api/contents/${path}`, { type: 'directory' }, options);
    }
  }

  async #send(target: string, body: object, options: FileCallOptions): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    const request = { method: 'PUT', headers, body: JSON.stringify(body) };
    const response = await this.#request(target, request, options);
    await response.body?.cancel();
  }

  #request(target: string, request: GuardedRequest, options: FileCallOptions): Promise<Response> {
    const { signal } = options;
    return retry(
      async () => {
        try {
          return await this.#requestOnce(target, request, signal);
        } catch (error) {
          signal?.throwIfAborted();
          if (error instanceof SandboxError) throw error;
          throw this.#fileError(readFailure(error), request.method, target);
        }
      },
      { policy: this.#policy, signal },
    );
  }

  /** A token that ended looks like a missing file: 404. With a new token the answer can be believed. */
  async #requestOnce(
    target: string,
    request: GuardedRequest,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const info = await this.#connectionInfo(signal);
    try {
      return await fetchFrom(info, target, request, signal);
    } catch (error) {
      if (!(error instanceof HttpRefusal) || error.status !== 404 || !mayHaveExpired(info)) {
        throw error;
      }
      this.#info = undefined;
      return await fetchFrom(await this.#connectionInfo(signal), target, request, signal);
    }
  }

  async #connectionInfo(signal: AbortSignal | undefined): Promise<ConnectionInfo> {
    const known = await this.#info?.catch(() => undefined);
    if (known !== undefined && !endsWithin(known, RENEW_BEFORE_MS)) return known;
    this.#info = this.#fetchConnectionInfo(signal);
    return this.#info;
  }

  async #fetchConnectionInfo(signal: AbortSignal | undefined): Promise<ConnectionInfo> {
    const name = this.#runtime;
    const options = { policy: this.#policy, signal, on: name };
    const runtime = await callSafely(
      this.#connection,
      'get_runtime',
      { name },
      RuntimeSchema,
      options,
    );
    if (runtime.connectionInfo !== undefined) return runtime.connectionInfo;
    throw new SandboxError(
      'UNAVAILABLE',
      `get_runtime on ${name} names no address for its files. The runtime may still be starting; try again.`,
      { isRetryable: true },
    );
  }

  #fileError(failure: Failure, method: string, target: string): SandboxError {
    const path = decodeURIComponent(target.replace(/^(files|api\/contents)\/|\?.*$/g, ''));
    const tool = method === 'PUT' ? 'Writing a file' : 'Reading a file';
    return toSandboxError(failure, {
      tool,
      on: `/${path} of ${this.#runtime}`,
      url: this.#runtime,
    });
  }
}

function fetchFrom(
  info: ConnectionInfo,
  target: string,
  request: GuardedRequest,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const address = info.url.replace(/\/$/, '');
  if (!URL.canParse(address) || !isSafeUrl(new URL(address))) {
    throw new SandboxError(
      'NOT_COLAB',
      `get_runtime names ${address} for a runtime's files, which is no https address. Check that the server is Colab's.`,
    );
  }
  const url = new URL(`${address}/${target}`);
  const headers = { ...request.headers, 'x-colab-runtime-proxy-token': info.token };
  return guardedFetch(url, { ...request, headers, signal });
}

function endsWithin(info: ConnectionInfo, ms: number): boolean {
  const end = Date.parse(info.expireTime);
  return !Number.isNaN(end) && end - Date.now() < ms;
}

function mayHaveExpired(info: ConnectionInfo): boolean {
  return info.expireTime === '' || endsWithin(info, 2 * RENEW_BEFORE_MS);
}

/** @throws {SandboxError} for a path that is absolute, empty or leaves the working directory. */
function segmentsOf(path: string): string[] {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.length > 0 && !path.startsWith('/') && !segments.includes('..')) return segments;
  throw new SandboxError(
    'INVALID_ARGUMENT',
    `"${path}" is not a path inside the working directory. Use a relative path such as data/table.csv.`,
  );
}

function encoded(segments: string[]): string {
  return [WORKING_DIRECTORY, ...segments].map(encodeURIComponent).join('/');
}

function toFile(path: string[], entry: z.infer<typeof EntrySchema>): SandboxFile {
  return {
    path: path.join('/'),
    sizeBytes: entry.size ?? 0,
    modifiedAt: entry.last_modified ?? new Date(0).toISOString(),
  };
}
