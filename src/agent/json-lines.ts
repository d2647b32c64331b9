import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { ConfigError } from '../errors.js';

/** A line of a text file and where it stands. */
export interface FileLine {
  /** From 1. */
  number: number;
  /** Byte at which it begins. */
  start: number;
  /** Without the line break. */
  sizeBytes: number;
  /** Without a byte order mark; a carriage return at its end stays. */
  text: string;
}

export interface ReadLinesOptions {
  signal?: AbortSignal;
  /** Whether bytes that are no UTF-8 become replacement characters rather than an error. Default false. */
  isLenient?: boolean;
}

/**
 * The lines of a UTF-8 file, one at a time: memory holds one line, however long the file is. Only a line feed ends a
 * line, since other separators may stand inside JSON strings. Blank lines are left out, but counted.
 * @throws {ConfigError} `UNREADABLE_FILE`; the signal's reason when cancelled.
 */
export async function* readLines(
  path: string,
  options: ReadLinesOptions = {},
): AsyncGenerator<FileLine, void, undefined> {
  let pieces: Buffer[] = [];
  let number = 1;
  let start = 0;
  const take = (): FileLine => {
    const bytes = Buffer.concat(pieces);
    const line = {
      number,
      start,
      sizeBytes: bytes.length,
      text: options.isLenient
        ? new TextDecoder().decode(bytes)
        : decode(bytes, `${path}, line ${number}`),
    };
    pieces = [];
    number += 1;
    start += bytes.length + 1;
    return line;
  };
  for await (const chunk of chunksOf(path, options.signal)) {
    let from = 0;
    for (let at = chunk.indexOf('\n'); at !== -1; at = chunk.indexOf('\n', from)) {
      pieces.push(chunk.subarray(from, at));
      from = at + 1;
      const line = take();
      if (line.text.trim() !== '') yield line;
    }
    pieces.push(chunk.subarray(from));
  }
  const last = take();
  if (last.text.trim() !== '') yield last;
}

/** The text of a line found before by {@link readLines}. @throws {ConfigError} `UNREADABLE_FILE`. */
export async function readLineAt(
  path: string,
  { start, sizeBytes, number }: Omit<FileLine, 'text'>,
): Promise<string> {
  try {
    await using file = await open(path);
    const bytes = Buffer.alloc(sizeBytes);
    const { bytesRead } = await file.read(bytes, 0, sizeBytes, start);
    return decode(bytes.subarray(0, bytesRead), `${path}, line ${number}`);
  } catch (error) {
    throw unreadable(path, error);
  }
}

async function* chunksOf(path: string, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  signal?.throwIfAborted();
  try {
    yield* createReadStream(path, { signal }) as AsyncIterable<Buffer>;
  } catch (error) {
    signal?.throwIfAborted();
    throw unreadable(path, error);
  }
}

function decode(bytes: Buffer, place: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw unreadable(place, error, 'Save the file as UTF-8.');
  }
}

function unreadable(place: string, cause: unknown, remedy?: string): ConfigError {
  if (cause instanceof ConfigError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const advice = remedy ?? 'Check the path and its permissions.';
  return new ConfigError('UNREADABLE_FILE', `Cannot read ${place}: ${reason}. ${advice}`, {
    cause,
  });
}
