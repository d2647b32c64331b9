/** An element of a JSON array within a file. */
export interface ArrayElement {
  /** Line on which it begins, from 1. */
  number: number;
  /** Byte at which it begins. */
  start: number;
  sizeBytes: number;
  text: string;
}

/** Where a text stops being a JSON array of elements. */
export class NoJsonArray extends Error {
  /** From 1. */
  readonly lineNumber: number;

  constructor(lineNumber: number, problem: string) {
    super(problem);
    this.lineNumber = lineNumber;
    this.name = 'NoJsonArray';
  }
}

const [QUOTE, BACKSLASH, COMMA, LINE_FEED, OPEN, CLOSE] = Buffer.from('"\\,\n[]');
const OPENING = new Set(Buffer.from('[{'));
const CLOSING = new Set(Buffer.from(']}'));
const BLANKS = new Set(Buffer.from(' \t\r\n'));
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/**
 * Cuts a UTF-8 JSON array into the texts of its elements, which are left to be parsed; memory holds one of them. Bytes
 * below 0x80 are never part of a longer UTF-8 character, so structure can be read byte by byte.
 * @throws {NoJsonArray}
 */
export async function* arrayElements(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<ArrayElement, void, undefined> {
  let place = 'before' as 'before' | 'start' | 'element' | 'next' | 'after';
  let depth = 0;
  let isInString = false;
  let isEscaped = false;
  let line = 1;
  let offset = 0;
  let begun = { number: 1, start: 0 };
  let pieces: Uint8Array[] = [];
  let isFirst = true;

  for await (const chunk of chunks) {
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      if (byte === LINE_FEED) line += 1;
      if (place === 'element') {
        if (isEscaped) isEscaped = false;
        else if (isInString) {
          if (byte === BACKSLASH) isEscaped = true;
          else if (byte === QUOTE) isInString = false;
        } else if (byte === QUOTE) isInString = true;
        else if (OPENING.has(byte)) depth += 1;
        else if (depth > 0) depth -= CLOSING.has(byte) ? 1 : 0;
        else if (byte === COMMA || CLOSING.has(byte)) {
          pieces.push(chunk.subarray(from, at));
          const bytes = Buffer.concat(pieces);
          pieces = [];
          yield { ...begun, sizeBytes: bytes.length, text: decode(bytes, begun.number) };
          place = byte === COMMA ? 'next' : 'after';
        }
        continue;
      }
      if (BLANKS.has(byte)) continue;
      if (place === 'before') {
        if (isFirst && offset + at < 3 && byte === BYTE_ORDER_MARK[offset + at]) continue;
        isFirst = false;
        if (byte !== OPEN) throw new NoJsonArray(line, 'it does not begin with [');
        place = 'start';
      } else if (place === 'after') {
        throw new NoJsonArray(line, 'something follows the end of the list');
      } else if (place === 'start' && byte === CLOSE) {
        place = 'after';
      } else {
        place = 'element';
        begun = { number: line, start: offset + at };
        from = at;
        depth = 0;
        isInString = byte === QUOTE;
        if (OPENING.has(byte)) depth = 1;
        else if (byte === COMMA || CLOSING.has(byte))
          throw new NoJsonArray(line, 'an element is missing');
      }
    }
    if (place === 'element') pieces.push(chunk.subarray(from));
    offset += chunk.length;
  }
  if (place !== 'after') throw new NoJsonArray(line, 'it ends before its list does');
}

function decode(bytes: Uint8Array, lineNumber: number): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new NoJsonArray(lineNumber, 'it is not UTF-8');
  }
}
