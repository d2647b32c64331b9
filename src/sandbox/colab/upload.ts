import { createHash } from 'node:crypto';
import { SandboxError } from '../../errors.js';
import { saysRetryable } from '../../retry.js';
import type { FileCallOptions, FileChannel } from './file-channel.js';
import type { FileDigest } from './file-check.js';
import type { FileSource } from './file-source.js';

/** Raw bytes a request; the server's limit is 50 MB. */
const PIECE_BYTES = 8 * 1024 * 1024;
/** Times a file is sent where it does not arrive whole, and a piece where its fate is unclear. */
const ATTEMPTS = 3;

export interface UploadOptions extends FileCallOptions {
  /** Looks at the file from where scripts will read it; undefined where it is not there. */
  check: () => Promise<FileDigest | undefined>;
}

/** Sends the whole file, and again from its beginning where what arrived is not what was sent. */
export async function sendFile(
  channel: FileChannel,
  path: string,
  source: FileSource,
  { check, signal }: UploadOptions,
): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const sent = await sendPieces(channel, path, source, signal);
    if (sent === undefined) continue;
    const arrived = await check();
    if (arrived?.sizeBytes === sent.sizeBytes && arrived.sha256 === sent.sha256) return;
  }
  throw new SandboxError(
    'UNAVAILABLE',
    `Writing a file failed on /${decodeURIComponent(path)}: it was sent ${ATTEMPTS} times and never arrived whole. See that ` +
      'the runtime has room on its disk and that nothing else writes this file; then try again.',
    { isRetryable: true },
  );
}

/** What was sent, or undefined where a piece got lost or doubled on the way. */
async function sendPieces(
  channel: FileChannel,
  path: string,
  source: FileSource,
  signal: AbortSignal | undefined,
): Promise<FileDigest | undefined> {
  const { sizeBytes } = source;
  const hash = createHash('sha256');
  const bodies = new PieceBodies(Math.min(sizeBytes, PIECE_BYTES));
  const pieces = Math.max(1, Math.ceil(sizeBytes / PIECE_BYTES));
  for (let piece = 0; piece < pieces; piece++) {
    const start = piece * PIECE_BYTES;
    const bytes = await source.read(start, Math.min(start + PIECE_BYTES, sizeBytes));
    hash.update(bytes);
    const chunk = piece === pieces - 1 ? -1 : piece + 1;
    const body = bodies.of(bytes, pieces > 1 ? chunk : undefined);
    // The first piece begins the file anew, so it may be repeated; a further one is appended.
    if (piece === 0) await channel.put(path, body, { signal });
    else if (!(await append(channel, path, body, { start, end: start + bytes.length, signal })))
      return undefined;
  }
  return { sizeBytes, sha256: hash.digest('hex') };
}

interface AppendOptions extends FileCallOptions {
  /** Size of the file before and after. */
  start: number;
  end: number;
}

/** Where the answer is lost, the file's size tells whether the piece was taken. False: neither; the file is spoilt. */
async function append(
  channel: FileChannel,
  path: string,
  body: Uint8Array,
  { start, end, signal }: AppendOptions,
): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      await channel.put(path, body, { signal, isRetryable: didNotRun });
      return true;
    } catch (error) {
      if (!saysRetryable(error) || attempt === ATTEMPTS) throw error;
      const size = await channel.sizeOf(path, { signal });
      if (size === end) return true;
      if (size !== start) return false;
    }
  }
}

/** A multiple of three, so that base64 of the parts is base64 of the whole. */
const BASE64_BYTES = 3 * 64 * 1024;

/** Writes the JSON of one piece after the other into the same memory: the sending copies it. */
class PieceBodies {
  readonly #memory: Buffer;

  constructor(mostBytes: number) {
    this.#memory = Buffer.allocUnsafe(Math.ceil(mostBytes / 3) * 4 + 200);
  }

  of(bytes: Uint8Array, chunk: number | undefined): Uint8Array {
    const numbered = chunk === undefined ? '' : `"chunk":${chunk},`;
    let end = this.#memory.write(`{"type":"file","format":"base64",${numbered}"content":"`);
    const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let at = 0; at < content.length; at += BASE64_BYTES) {
      const text = content.toString('base64', at, Math.min(at + BASE64_BYTES, content.length));
      end += this.#memory.write(text, end, 'latin1');
    }
    end += this.#memory.write('"}', end);
    return this.#memory.subarray(0, end);
  }
}

function didNotRun(error: unknown): boolean {
  return error instanceof SandboxError && error.code === 'RATE_LIMITED';
}
