import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OutputChunk } from '../../../src/sandbox/execution.js';
import { OutputLog, PIECE_LENGTH } from '../../../src/sandbox/local/output-log.js';

const chunk = fc.record({
  stream: fc.constantFrom('stdout' as const, 'stderr' as const),
  text: fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => text.replaceAll('q', '\n')),
});

function logOf(chunks: OutputChunk[], caps = { bytes: 1e9, lines: 1e9 }): OutputLog {
  const log = new OutputLog(caps);
  for (const item of chunks) log.append(item);
  return log;
}

function readAll(log: OutputLog, from = 0): OutputChunk[] {
  const chunks = [];
  for (let piece = log.read(from); piece !== undefined; piece = log.read(piece.next))
    chunks.push(piece.chunk);
  return chunks;
}

/** Neighbours of one stream joined, empty texts left out. */
function joined(chunks: OutputChunk[]): OutputChunk[] {
  const result: OutputChunk[] = [];
  for (const { stream, text } of chunks) {
    const last = result.at(-1);
    if (text === '') continue;
    if (last?.stream === stream) last.text += text;
    else result.push({ stream, text });
  }
  return result;
}

/** Half a character does not survive the way to UTF-8 and back. */
function isWhole(text: string): boolean {
  return Buffer.from(text).toString() === text;
}

function allOf(chunks: OutputChunk[], stream: OutputChunk['stream']): string {
  return chunks.map((item) => (item.stream === stream ? item.text : '')).join('');
}

describe('the output log', () => {
  it('gives back what was printed, in order, from any position on', () => {
    fc.assert(
      fc.property(fc.array(chunk), fc.array(chunk), (first, second) => {
        const log = logOf(first);
        const position = log.end;
        for (const item of second) log.append(item);
        expect(joined(readAll(log))).toEqual(joined([...first, ...second]));
        expect(joined(readAll(log, position))).toEqual(joined(second));
        expect(log.text('stdout')).toBe(allOf([...first, ...second], 'stdout'));
        expect(log.isTruncated).toBe(false);
      }),
    );
  });

  it('keeps an end of each stream that fits the caps and tears no character', () => {
    fc.assert(
      fc.property(fc.array(chunk), fc.nat(60), fc.nat(4), (chunks, bytes, lines) => {
        const log = logOf(chunks, { bytes, lines });
        for (const stream of ['stdout', 'stderr'] as const) {
          const whole = allOf(chunks, stream);
          const kept = log.text(stream);
          expect(whole.endsWith(kept)).toBe(true);
          expect(isWhole(kept)).toBe(true);
          expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(bytes);
          expect(kept.split('\n').length - 1).toBeLessThanOrEqual(lines);
          if (kept !== whole) expect(log.isTruncated).toBe(true);
        }
      }),
    );
  });

  it('cuts a huge text into pieces between characters', () => {
    const text = 'x' + '😀'.repeat(PIECE_LENGTH);
    const pieces = readAll(logOf([{ stream: 'stdout', text }])).map((piece) => piece.text);
    expect(pieces.join('') === text).toBe(true);
    expect(pieces.every((piece) => isWhole(piece) && piece.length <= PIECE_LENGTH)).toBe(true);
  });

  it('does not let one stream push out the other', () => {
    const log = logOf([], { bytes: 1_000, lines: 100 });
    log.append({ stream: 'stderr', text: 'warning' });
    for (let count = 0; count < 1_000; count += 1)
      log.append({ stream: 'stdout', text: 'x'.repeat(PIECE_LENGTH) });
    expect(log.text('stderr')).toBe('warning');
    expect(readAll(log)).toHaveLength(2);
  });

  it('holds a bounded number of pieces where the streams alternate', () => {
    const log = logOf([], { bytes: 1e9, lines: 1e9 });
    for (let count = 0; count < 40_000; count += 1) {
      log.append({ stream: 'stdout', text: 'o' });
      log.append({ stream: 'stderr', text: 'e' });
    }
    expect(readAll(log).length).toBeLessThan(40_000);
    expect(log.isTruncated).toBe(true);
  });

  it('tells a reader that is far behind from one that is not', () => {
    const log = logOf([{ stream: 'stdout', text: 'x'.repeat(80) }], { bytes: 100, lines: 100 });
    expect(log.isFarBehind(0)).toBe(true);
    expect(log.isFarBehind(log.end)).toBe(false);
  });
});
