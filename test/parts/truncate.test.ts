import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { truncate } from '../../src/parts/truncate.js';

const MARKER = /^\[\.\.\. (\d+) characters(?: in (\d+) lines)? cut \.\.\.\]$/m;
const text = fc.string({
  unit: fc.constantFrom('a', 'b', ' ', '\n', '😀', 'é'),
  maxLength: 600,
  size: 'max',
});
const limit = fc.integer({ min: -1, max: 700 });

describe('truncate', () => {
  it('leaves a text that fits as it is', () => {
    expect(truncate('12345', 5)).toBe('12345');
    expect(truncate('', 0)).toBe('');
  });

  it('keeps the first and the last lines and says what is missing', () => {
    const lines = Array.from({ length: 1000 }, (_, index) => `line ${index}\n`).join('');
    const cut = truncate(lines, 200);
    expect(cut).toMatch(/^line 0\nline 1\n/);
    expect(cut).toMatch(/\nline 998\nline 999\n$/);
    for (const line of cut.split('\n')) expect(line).toMatch(/^(?:line \d+|)$|^\[\.\.\. /);
    const [, characters, count] = MARKER.exec(cut) ?? [];
    const kept = cut.replace(MARKER, '').replace('\n\n', '\n');
    expect(Number(characters)).toBe(lines.length - kept.length);
    expect(Number(count)).toBe(1000 - kept.trim().split('\n').length);
  });

  it('one long line is cut within, on both sides of a line of its own', () => {
    const cut = truncate(`begin${'x'.repeat(10_000)}end`, 100);
    expect(cut).toMatch(/^beginx+\n\[\.\.\. \d+ characters cut \.\.\.\]\nx+end$/);
  });

  it('a limit without room for head and tail still says that something was cut', () => {
    expect(truncate('x'.repeat(500), 31)).toBe('[... 500 characters cut ...]');
    expect(truncate('x'.repeat(500), 5)).toBe('[... ');
    expect(truncate('x'.repeat(500), 0)).toBe('');
  });

  it('is never longer than the limit, and cutting again changes nothing', () => {
    fc.assert(
      fc.property(text, limit, (original, most) => {
        const cut = truncate(original, most);
        expect(cut.length).toBeLessThanOrEqual(Math.max(0, most));
        expect(truncate(cut, most)).toBe(cut);
      }),
      { numRuns: 2000 },
    );
  });

  it('what is kept and what is said to be cut add up, and no pair is split', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 100, max: 300 }), (original, most) => {
        fc.pre(original.length > most);
        const cut = truncate(original, most);
        expect(cut).not.toMatch(/\p{Surrogate}/u);
        const match = MARKER.exec(cut);
        const start = match?.index ?? 0;
        const characters = Number(match?.[1]);
        const head = original.startsWith(cut.slice(0, start))
          ? cut.slice(0, start)
          : cut.slice(0, start - 1);
        const tail = cut.slice(start + (match?.[0].length ?? 0) + 1);
        const missing = original.slice(head.length, head.length + characters);
        expect(head + missing + tail).toBe(original);
        expect(Number(match?.[2] ?? 0)).toBe(missing.split('\n').length - 1);
      }),
      { numRuns: 2000 },
    );
  });
});
