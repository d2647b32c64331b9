import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { ConfigError } from '../../errors.js';
import type { FileContent } from '../sandbox.js';

/** Content to be sent, which can be read in pieces and more than once. */
export interface FileSource extends AsyncDisposable {
  readonly sizeBytes: number;
  /** All bytes from `start` up to `end`; they may be overwritten by the next call. */
  read(start: number, end: number): Promise<Uint8Array>;
}

/** @throws {ConfigError} `UNREADABLE_FILE`. */
export async function openSource(content: FileContent): Promise<FileSource> {
  return content instanceof Uint8Array ? bytesSource(content) : fileSource(content.path);
}

function bytesSource(bytes: Uint8Array): FileSource {
  return {
    sizeBytes: bytes.length,
    read: (start, end) => Promise.resolve(bytes.subarray(start, end)),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function fileSource(path: string): Promise<FileSource> {
  const file = await reading(path, open(path));
  try {
    const { size } = await reading(path, file.stat());
    let memory = Buffer.alloc(0);
    const read = (start: number, end: number): Promise<Uint8Array> => {
      if (memory.length < end - start) memory = Buffer.allocUnsafe(end - start);
      return readPiece(file, start, memory.subarray(0, end - start));
    };
    return {
      sizeBytes: size,
      read: (start, end) => reading(path, read(start, end)),
      [Symbol.asyncDispose]: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function readPiece(file: FileHandle, start: number, piece: Buffer): Promise<Uint8Array> {
  for (let filled = 0; filled < piece.length;) {
    const { bytesRead } = await file.read(piece, filled, piece.length - filled, start + filled);
    if (bytesRead === 0) throw new Error('it became shorter while it was read');
    filled += bytesRead;
  }
  return piece;
}

async function reading<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigError(
      'UNREADABLE_FILE',
      `Cannot read the file ${path}: ${detail}. Check the path and its permissions.`,
      { cause },
    );
  }
}
