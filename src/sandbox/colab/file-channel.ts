import { z } from 'zod';
import type { HttpAnswer } from '../../loopback-fetch.js';
import { ColabSolverError } from '../../errors.js';
import type { RetryPolicy } from '../../retry.js';
import { retry, saysRetryable } from '../../retry.js';
import { readFailure } from '../failure.js';
import { toSandboxError } from '../sandbox-errors.js';
import type { GuardedRequest } from './guarded-fetch.js';
import type { ProxyAccess } from './proxy-access.js';

export interface FileCallOptions {
  signal?: AbortSignal | undefined;
}

export interface FileRequestOptions extends FileCallOptions {
  /** Failures after which the request is made again; default those that may pass. */
  isRetryable?: (error: unknown) => boolean;
}

const EntrySchema = z.looseObject({
  name: z.string(),
  type: z.string(),
  size: z.number().nullish(),
  last_modified: z.string().nullish(),
});
export type Entry = z.infer<typeof EntrySchema>;
const FolderSchema = z.looseObject({ content: z.array(EntrySchema).nullish() });

/** Requests to a runtime's file proxy about one encoded path each, repeated where that may help, failing with our errors. */
export class FileChannel {
  readonly policy: RetryPolicy;
  readonly #access: ProxyAccess;
  readonly #runtime: string;

  constructor(access: ProxyAccess, runtime: string, policy: RetryPolicy) {
    this.#access = access;
    this.#runtime = runtime;
    this.policy = policy;
  }

  /** @param body JSON. */
  async put(path: string, body: string | Uint8Array, options: FileRequestOptions): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    const request = { method: 'PUT', headers, body };
    const response = await this.#request(`api/contents/${path}`, request, options);
    await response.body?.cancel();
  }

  /** The file's bytes as they are, from `start` on if the server can do that. */
  get(path: string, start: number, options: FileCallOptions): Promise<HttpAnswer> {
    const headers = {
      'accept-encoding': 'identity',
      ...(start > 0 && { range: `bytes=${start}-` }),
    };
    return this.#request(`files/${path}`, { method: 'GET', headers }, options);
  }

  async list(path: string, options: FileCallOptions): Promise<Entry[]> {
    return FolderSchema.parse(await this.#contents(path, 'content=1', options)).content ?? [];
  }

  /** What the server says a file holds, in bytes. */
  async sizeOf(path: string, options: FileCallOptions): Promise<number | undefined> {
    return EntrySchema.parse(await this.#contents(path, 'content=0', options)).size ?? undefined;
  }

  error(path: string, verb: 'Reading' | 'Writing', cause: unknown): Error {
    if (cause instanceof ColabSolverError) return cause;
    return toSandboxError(readFailure(cause), {
      tool: `${verb} a file`,
      on: `/${decodeURIComponent(path)} of ${this.#runtime}`,
      url: this.#runtime,
    });
  }

  async #contents(path: string, query: string, options: FileCallOptions): Promise<unknown> {
    const request = { method: 'GET', headers: {} };
    const response = await this.#request(`api/contents/${path}?${query}`, request, options);
    return response.json();
  }

  #request(
    target: string,
    request: GuardedRequest,
    options: FileRequestOptions,
  ): Promise<HttpAnswer> {
    const { signal, isRetryable = saysRetryable } = options;
    const path = target.replace(/^(files|api\/contents)\/|\?.*$/g, '');
    return retry(
      async () => {
        try {
          return await this.#access.request(target, request, signal);
        } catch (error) {
          signal?.throwIfAborted();
          throw this.error(path, request.method === 'PUT' ? 'Writing' : 'Reading', error);
        }
      },
      {
        policy: this.policy,
        signal,
        isRetryable: (error) => isRetryable(error) && this.#access.takeRetry(),
      },
    );
  }
}
