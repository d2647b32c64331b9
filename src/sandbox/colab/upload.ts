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
  const pieces = Math.max(1, Math.ceil(sizeBytes / PIECE_BYTES));
  for (let piece = 0; piece < pieces; piece++) {
    const start = piece * PIECE_BYTES;
    const bytes = await source.read(start, Math.min(start + PIECE_BYTES, sizeBytes));
    hash.update(bytes);
    const body = {
      type: 'file',
      format: 'base64',
      content: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64'),
      ...(pieces > 1 && { chunk: piece === pieces - 1 ? -1 : piece + 1 }),
    };
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
  body: object,
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

function didNotRun(error: unknown): boolean {
  return error instanceof SandboxError && error.code === 'RATE_LIMITED';
}
