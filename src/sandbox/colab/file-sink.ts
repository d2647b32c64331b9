import { randomUUID } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { open, rename, rm } from 'node:fs/promises';
import { ConfigError, SandboxError } from '../../errors.js';

/** Where a download goes; it may have to begin again. */
export interface FileSink {
  write(bytes: Uint8Array): Promise<void>;
  /** Forgets what was written. */
  restart(): Promise<void>;
}

/** Keeps everything in memory. */
export class MemorySink implements FileSink {
  #pieces: Uint8Array[] = [];

  write(bytes: Uint8Array): Promise<void> {
    this.#pieces.push(bytes);
    return Promise.resolve();
  }

  restart(): Promise<void> {
    this.#pieces = [];
    return Promise.resolve();
  }

  bytes(): Uint8Array {
    return new Uint8Array(Buffer.concat(this.#pieces));
  }
}

/** Writes beside `target`, which appears, or is replaced, when {@link finish} is called; disposing removes what is unfinished. */
export class DiskSink implements FileSink, AsyncDisposable {
  readonly #target: string;
  readonly #unfinished: string;
  readonly #file: FileHandle;
  #length = 0;

  private constructor(target: string, unfinished: string, file: FileHandle) {
    this.#target = target;
    this.#unfinished = unfinished;
    this.#file = file;
  }

  /** @throws {ConfigError} where the folder cannot be written to. */
  static async open(target: string): Promise<DiskSink> {
    const unfinished = `${target}.${randomUUID()}.part`;
    const file = await writing(target, open(unfinished, 'wx'));
    return new DiskSink(target, unfinished, file);
  }

  async write(bytes: Uint8Array): Promise<void> {
    await writing(this.#target, writeAll(this.#file, bytes, this.#length));
    this.#length += bytes.length;
  }

  async restart(): Promise<void> {
    await writing(this.#target, this.#file.truncate(0));
    this.#length = 0;
  }

  async finish(): Promise<void> {
    await writing(this.#target, this.#file.close());
    await writing(this.#target, rename(this.#unfinished, this.#target));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
    await rm(this.#unfinished, { force: true });
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, written, undefined, position + written);
    written += bytesWritten;
  }
}

async function writing<T>(target: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause);
    if ((cause as NodeJS.ErrnoException).code === 'ENOSPC') {
      throw new SandboxError('DISK_FULL', `No space left for ${target}. Make room and try again.`, {
        cause,
      });
    }
    throw new ConfigError(
      'BAD_OPTION',
      `Cannot write ${target}: ${detail}. Name a place you may write to.`,
      { cause },
    );
  }
}
