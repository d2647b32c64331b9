import { closeSync, openSync, read } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Content of a file that outlives the place where it was made. */
export interface KeptContent {
  readonly sizeBytes: number;
  bytes(): Promise<Uint8Array>;
  /** All of it in order; each piece is good until the next. */
  pieces(): AsyncGenerator<Uint8Array, void, undefined>;
}

/** What is smaller stays in memory. */
const SMALL_BYTES = 1024 * 1024;
const PIECE_BYTES = 1024 * 1024;
const readDescriptor = promisify(read);

export async function keepBytes(bytes: Uint8Array): Promise<KeptContent> {
  return bytes.length <= SMALL_BYTES
    ? inMemory(bytes)
    : keepOnDisk((path) => writeFile(path, bytes));
}

/**
 * Keeps what `write` puts into the file it is given. The file loses its name at once: it is gone with the last that refers
 * to its content, however this process ends.
 */
export async function keepOnDisk(write: (path: string) => Promise<void>): Promise<KeptContent> {
  const folder = await mkdtemp(join(tmpdir(), 'colab-solver-file-'));
  try {
    const path = join(folder, 'content');
    await write(path);
    const { size } = await stat(path);
    return new NamelessFile(openSync(path, 'r'), size);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function inMemory(bytes: Uint8Array): KeptContent {
  return {
    sizeBytes: bytes.length,
    bytes: () => Promise.resolve(bytes),
    async *pieces() {
      yield await Promise.resolve(bytes);
    },
  };
}

const forgotten = new FinalizationRegistry<number>(closeSync);

class NamelessFile implements KeptContent {
  readonly sizeBytes: number;
  readonly #descriptor: number;

  constructor(descriptor: number, sizeBytes: number) {
    this.#descriptor = descriptor;
    this.sizeBytes = sizeBytes;
    forgotten.register(this, descriptor);
  }

  async bytes(): Promise<Uint8Array> {
    const whole = new Uint8Array(this.sizeBytes);
    let length = 0;
    for await (const piece of this.pieces()) {
      whole.set(piece, length);
      length += piece.length;
    }
    return whole;
  }

  async *pieces(): AsyncGenerator<Uint8Array, void, undefined> {
    const memory = Buffer.allocUnsafe(Math.min(PIECE_BYTES, this.sizeBytes));
    for (let position = 0; position < this.sizeBytes;) {
      const { bytesRead } = await readDescriptor(
        this.#descriptor,
        memory,
        0,
        memory.length,
        position,
      );
      if (bytesRead === 0) throw new Error('A kept file ended before its end.');
      yield memory.subarray(0, bytesRead);
      position += bytesRead;
    }
  }
}
