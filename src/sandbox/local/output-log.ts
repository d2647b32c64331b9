import type { OutputChunk } from '../execution.js';

/** How much of each stream is kept; what exceeds it is cut from the beginning. */
export interface OutputCaps {
  bytes: number;
  /** Line ends. */
  lines: number;
}

type Stream = OutputChunk['stream'];

/** The longest text of one piece, in UTF-16 units; also the longest that {@link OutputLog.read} gives at once. */
export const PIECE_LENGTH = 32_768;
/** Bounds memory where a script alternates between its streams, so that no two writes can be joined. */
const MAX_PIECES = 8_192;

/**
 * What a script has printed, in the order in which it appeared, with the tail of each stream kept.
 * A position counts the UTF-16 units of both streams since the beginning, so a reader needs to remember one number.
 */
export class OutputLog {
  readonly #tails: Record<Stream, Tail>;
  #end = 0;

  constructor(caps: OutputCaps) {
    this.#tails = { stdout: new Tail(caps), stderr: new Tail(caps) };
  }

  /** The position behind the last text. */
  get end(): number {
    return this.#end;
  }

  /** True where a reader at this position has so much unread that it might soon lose some. */
  isFarBehind(position: number): boolean {
    return this.#tails.stdout.isFarBehind(position) || this.#tails.stderr.isFarBehind(position);
  }

  get isTruncated(): boolean {
    return this.#tails.stdout.isTruncated || this.#tails.stderr.isTruncated;
  }

  append({ stream, text }: OutputChunk): void {
    for (const piece of pieces(text)) {
      this.#tails[stream].append(piece, this.#end);
      this.#end += piece.length;
    }
  }

  /** The oldest kept text at or after `position`, and the position behind it. */
  read(position: number): { chunk: OutputChunk; next: number } | undefined {
    const stdout = this.#tails.stdout.pieceAfter(position);
    const stderr = this.#tails.stderr.pieceAfter(position);
    const isStdout = (stdout?.start ?? Infinity) < (stderr?.start ?? Infinity);
    const piece = isStdout ? stdout : stderr;
    if (piece === undefined) return undefined;
    const text = piece.text.slice(Math.max(0, position - piece.start));
    return {
      chunk: { stream: isStdout ? 'stdout' : 'stderr', text },
      next: piece.start + piece.text.length,
    };
  }

  /** The stream's text cut to the caps. */
  text(stream: Stream): string {
    return this.#tails[stream].text();
  }
}

interface Size {
  bytes: number;
  lines: number;
}

interface Piece {
  text: string;
  start: number;
  /** What the stream had before this piece. */
  before: Size;
}

/** The last pieces of one stream: a piece leaves once the others fill a cap, so appending costs O(1) amortised. */
class Tail {
  readonly #caps: OutputCaps;
  readonly #pieces: Piece[] = [];
  /** Of all that was ever appended. */
  readonly #total: Size = { bytes: 0, lines: 0 };
  #hasDropped = false;

  constructor(caps: OutputCaps) {
    this.#caps = caps;
  }

  get isTruncated(): boolean {
    return (
      this.#hasDropped ||
      this.#total.bytes > this.#caps.bytes ||
      this.#total.lines > this.#caps.lines
    );
  }

  append(text: string, start: number): void {
    const last = this.#pieces.at(-1);
    const isNext = last !== undefined && last.start + last.text.length === start;
    if (isNext && last.text.length + text.length <= PIECE_LENGTH) last.text += text;
    else this.#pieces.push({ text, start, before: { ...this.#total } });
    this.#total.bytes += Buffer.byteLength(text);
    this.#total.lines += lineEnds(text);
    while (this.#isFirstSpare()) {
      this.#pieces.shift();
      this.#hasDropped = true;
    }
  }

  #isFirstSpare(): boolean {
    const second = this.#pieces[1];
    if (second === undefined) return false;
    const { bytes, lines } = this.#sizeFrom(second);
    return (
      bytes >= this.#caps.bytes || lines >= this.#caps.lines || this.#pieces.length > MAX_PIECES
    );
  }

  /** More unread than half of what is kept, so that a good piece still fits. */
  isFarBehind(position: number): boolean {
    const next = this.pieceAfter(position);
    if (next === undefined) return false;
    const { bytes, lines } = this.#sizeFrom(next);
    return bytes > this.#caps.bytes / 2 || lines > this.#caps.lines / 2;
  }

  #sizeFrom({ before }: Piece): Size {
    return { bytes: this.#total.bytes - before.bytes, lines: this.#total.lines - before.lines };
  }

  /** The first piece that has text at or after the position, found by halving. */
  pieceAfter(position: number): Piece | undefined {
    let low = 0;
    let high = this.#pieces.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const piece = this.#pieces[middle];
      if (piece !== undefined && piece.start + piece.text.length <= position) low = middle + 1;
      else high = middle;
    }
    return this.#pieces[low];
  }

  text(): string {
    const kept = this.#pieces.map((piece) => piece.text).join('');
    return this.isTruncated ? lastLines(lastBytes(kept, this.#caps.bytes), this.#caps.lines) : kept;
  }
}

/** Cuts a text so that no character is torn apart. The parts are copies: a slice would keep the whole text in memory. */
function* pieces(text: string): Generator<string> {
  if (text.length <= PIECE_LENGTH) {
    yield text;
    return;
  }
  for (let from = 0; from < text.length;) {
    let to = Math.min(from + PIECE_LENGTH, text.length);
    if (to < text.length && isHighSurrogate(text.charCodeAt(to - 1))) to -= 1;
    yield Buffer.from(text.slice(from, to), 'utf16le').toString('utf16le');
    from = to;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function lineEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

/** The longest end of a text that takes at most so many bytes of UTF-8, whole characters only. */
function lastBytes(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  let start = Math.max(0, encoded.length - bytes);
  while (((encoded[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return encoded.toString('utf8', start);
}

function lastLines(text: string, lines: number): string {
  let count = lineEnds(text);
  let start = 0;
  for (; count > lines; count -= 1) start = text.indexOf('\n', start) + 1;
  return text.slice(start);
}
