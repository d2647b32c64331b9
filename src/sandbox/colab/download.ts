import type { HttpAnswer } from '../../loopback-fetch.js';
import { ColabSolverError } from '../../errors.js';
import { delayAfter, pause } from '../../retry.js';
import { HttpRefusal, StreamCut } from '../failure.js';
import type { FileChannel } from './file-channel.js';
import type { FileSink } from './file-sink.js';

export interface DownloadOptions {
  channel: FileChannel;
  /** Encoded. */
  path: string;
  sink: FileSink;
  signal: AbortSignal | undefined;
}

/** One file on its way into a sink. Where the answer is cut it goes on from there; at the end the size must be right. */
export class Download {
  readonly #options: DownloadOptions;
  #receivedBytes = 0;
  /** Which state of the file was received; one that changes meanwhile is fetched from its beginning. */
  #version = '';

  constructor(options: DownloadOptions) {
    this.#options = options;
  }

  /** @throws {SandboxError} when as many answers in a row as the policy allows bring nothing new. */
  async run(): Promise<void> {
    const { channel, path, signal } = this.#options;
    let furthestBytes = 0;
    let failures = 0;
    for (;;) {
      const cut = await this.#receive();
      if (cut === undefined) return;
      failures = this.#receivedBytes > furthestBytes ? 1 : failures + 1;
      furthestBytes = Math.max(furthestBytes, this.#receivedBytes);
      const error = channel.error(path, 'Reading', cut);
      const delayMs = delayAfter(error, failures, channel.policy);
      if (delayMs === undefined) throw error;
      await pause(delayMs, channel.policy, signal);
    }
  }

  /** Undefined when the file is whole, else what ended the answer before that. */
  async #receive(): Promise<unknown> {
    const { channel, path, sink, signal } = this.#options;
    const answer = (await this.#resumed()) ?? (await this.#begun());
    try {
      const body: AsyncIterable<Uint8Array> | null = answer.body;
      for await (const bytes of body ?? []) {
        await sink.write(bytes);
        this.#receivedBytes += bytes.length;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof ColabSolverError) throw error;
      return error;
    }
    const wholeBytes = wholeSize(answer) ?? (await channel.sizeOf(path, { signal }));
    return this.#receivedBytes === wholeBytes ? undefined : new StreamCut();
  }

  async #begun(): Promise<HttpAnswer> {
    const { channel, path, sink, signal } = this.#options;
    if (this.#receivedBytes > 0) await sink.restart();
    this.#receivedBytes = 0;
    const answer = await channel.get(path, 0, { signal });
    this.#version = versionOf(answer);
    return answer;
  }

  /** The rest of what was begun; undefined where there is none, or none that belongs to it. */
  async #resumed(): Promise<HttpAnswer | undefined> {
    const { channel, path, signal } = this.#options;
    if (this.#receivedBytes === 0) return undefined;
    try {
      const answer = await channel.get(path, this.#receivedBytes, { signal });
      const belongs =
        rangeOf(answer)?.start === this.#receivedBytes && versionOf(answer) === this.#version;
      if (belongs) return answer;
      await answer.body?.cancel();
      return undefined;
    } catch (error) {
      if (isBeyondTheEnd(error)) return undefined;
      throw error;
    }
  }
}

interface ContentRange {
  start: number;
  /** Of the whole file; absent where the server does not know. */
  total: number | undefined;
}

function rangeOf(answer: HttpAnswer): ContentRange | undefined {
  const header = answer.headers.get('content-range') ?? '';
  const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(header) ?? [];
  if (answer.status !== 206 || start === undefined) return undefined;
  return { start: Number(start), total: total === '*' ? undefined : Number(total) };
}

function wholeSize(answer: HttpAnswer): number | undefined {
  if (answer.status === 206) return rangeOf(answer)?.total;
  const length = answer.headers.get('content-length');
  const isEncoded = answer.headers.get('content-encoding') !== null;
  return length === null || isEncoded ? undefined : Number(length);
}

function versionOf({ headers }: HttpAnswer): string {
  return headers.get('etag') ?? headers.get('last-modified') ?? '';
}

const RANGE_NOT_SATISFIABLE = 416;

function isBeyondTheEnd(error: unknown): boolean {
  return (
    error instanceof ColabSolverError &&
    error.cause instanceof HttpRefusal &&
    error.cause.status === RANGE_NOT_SATISFIABLE
  );
}
