import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { displayWidth } from '../../../src/cli/render/display-width.js';
import { TextFlow } from '../../../src/cli/render/text-flow.js';

function flowed(pieces: readonly string[], columns: number): string {
  const flow = new TextFlow(() => columns);
  return pieces.map((piece) => flow.write(piece)).join('') + flow.end();
}

describe('flowing text', () => {
  it('breaks between words', () => {
    expect(flowed(['the quick brown fox'], 10)).toBe('the quick\nbrown fox\n');
  });

  it('keeps the blanks and blank lines within', () => {
    expect(flowed(['- a\n  - b\n\nc'], 20)).toBe('- a\n  - b\n\nc\n');
  });

  it('drops blank lines at both ends', () => {
    expect(flowed(['\n\na\n\n\n'], 20)).toBe('a\n');
  });

  it('prints nothing where there is nothing', () => {
    expect(flowed(['', '\n', '  '], 20)).toBe('');
  });

  it('leaves code in fences as it is', () => {
    const text = 'see\n```python\nprint("a line that is too long")  # x\n```\nand that is all';
    expect(flowed([text], 12)).toBe(
      'see\n```python\nprint("a line that is too long")  # x\n```\nand that is\nall\n',
    );
  });

  it('breaks between wide letters, which have no blanks', () => {
    expect(flowed(['日本語日本語'], 7)).toBe('日本語\n日本語\n');
  });

  it('is the same however the text is cut into pieces', () => {
    const word = fc.stringMatching(/^[a-z.]{1,12}$/);
    const text = fc
      .array(fc.tuple(word, fc.constantFrom(' ', '  ', '\n', '\n\n', '\n```\n')))
      .map((pairs) => pairs.flat().join(''));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 5 }), (whole, size) => {
        const pieces = whole.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
        expect(flowed(pieces, 20)).toBe(flowed([whole], 20));
      }),
    );
  });

  it('never makes a line of several words wider than the terminal, and loses no word', () => {
    const word = fc.stringMatching(/^[a-z日]{1,9}$/);
    fc.assert(
      fc.property(fc.array(word, { minLength: 1 }), (words) => {
        const text = flowed([words.join(' ')], 20);
        expect(text.split('\n').every((line) => displayWidth(line) <= 20)).toBe(true);
        expect(text.replace(/\s/g, '')).toBe(words.join(''));
      }),
    );
  });
});
