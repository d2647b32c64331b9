import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainText } from '../../src/parts/ansi.js';

/** Text in which escapes, rewrites and broken pieces of both are frequent. */
const terminalText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\x1b',
        '[',
        ']',
        '0',
        ';',
        'm',
        'K',
        '\r',
        '\n',
        '\b',
        '\x07',
        '\x9b',
        '\x9c',
      ),
      fc.constantFrom('\x1b[31m', '\x1b[K', '\x1b[2K', '\x1b]0;title\x07', '\x9d0;x\x9c', '\x1bP'),
      fc.constantFrom('😀', '\ud83d', '\ude00', '\x00', '\x7f', '\t', 'é', 'word', ' '),
    ),
    { maxLength: 40 },
  )
  .map((pieces) => pieces.join(''));

const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;

describe('escape sequences are removed', () => {
  it.each([
    ['colour', '\x1b[0;31mred\x1b[0m', 'red'],
    ['colour with colons', '\x1b[38:2::1:2:3mred', 'red'],
    ['private mode', '\x1b[?25lhidden cursor', 'hidden cursor'],
    ['intermediate byte', '\x1b[1 qbar', 'bar'],
    ['title up to BEL, with blanks', '\x1b]0;my long title\x07text', 'text'],
    ['hyperlink up to ST', '\x1b]8;;https://example.org/a b\x1b\\link\x1b]8;;\x1b\\', 'link'],
    ['device control', '\x1bPq#0;2;0\x1b\\after', 'after'],
    ['character set', '\x1b(Bplain', 'plain'],
    ['single', '\x1b7saved\x1b8', 'saved'],
    ['8-bit colour', '\x9b31mred\x9b0m', 'red'],
    ['8-bit title', '\x9d0;title\x9ctext', 'text'],
    ['cut at the end', 'text\x1b[3', 'text'],
    ['lone at the end', 'text\x1b', 'text'],
  ])('%s', (_, text, plain) => {
    expect(plainText(text)).toBe(plain);
  });

  it('an unterminated title takes no further line with it', () => {
    expect(plainText('\x1b]0;title\nthe answer is 42')).toBe('\nthe answer is 42');
  });

  it('quotation marks decoded with the wrong character set lose no text', () => {
    expect(plainText('â\x80\x9cyesâ\x80\x9d and â\x80\x9cnoâ\x80\x9d')).toMatch(/yes.* and .*no/);
  });
});

describe('a rewritten line shows what a terminal shows', () => {
  it.each([
    ['progress bar', '\r  0%|   |\r 50%|█  |\r100%|███|\ndone\n', '100%|███|\ndone\n'],
    ['shorter text over longer', 'loading\rdone', 'doneing'],
    ['erase to the end of the line', 'loading\r\x1b[Kdone', 'done'],
    ['erase after the text', 'loading\rdone\x1b[K', 'done'],
    ['erase the whole line', 'loading\x1b[2K\rdone', 'done'],
    ['blanked and gone', '100%|███|\r         \r', ''],
    ['returns at both ends', '\r\rabc\r\r', 'abc'],
    ['spinner', 'wait |\b/\b-\b\\\b done', 'wait  done'],
    ['bold by overstriking', 'b\bbo\bol\bld\bd', 'bold'],
    ['more backspaces than text', 'ab\b\b\b\b\bcd', 'cd'],
    ['backspace, then erase', 'abcdef\b\b\b\x1b[K', 'abc'],
    ['Windows newlines', 'a\r\nb\r\r\n', 'a\nb\n'],
    ['other lines', 'first\nold\rnew\nlast\n', 'first\nnew\nlast\n'],
  ])('%s', (_, text, plain) => {
    expect(plainText(text)).toBe(plain);
  });
});

describe('what is no text becomes visible', () => {
  it('control characters and broken surrogates', () => {
    expect(plainText('\x00\x07\x7f\x85\ud83d|')).toBe('␀␇␡\ufffd\ufffd|');
  });

  it('half an overwritten pair is not left behind', () => {
    expect(plainText('😀b\ra')).toBe('a\ufffdb');
  });
});

describe('for any text', () => {
  it('ordinary text stays as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-composite' }), (text) => {
        fc.pre(!CONTROL.test(text));
        expect(plainText(text)).toBe(text);
      }),
    );
    expect(plainText('a\tb  \n\n  c \n')).toBe('a\tb  \n\n  c \n');
  });

  it('no control character is left, no line is lost or made, and a second pass changes nothing', () => {
    fc.assert(
      fc.property(terminalText, (text) => {
        const plain = plainText(text);
        expect(plain).not.toMatch(CONTROL);
        expect(plain).not.toMatch(/\p{Surrogate}/u);
        expect(plain.split('\n')).toHaveLength(text.split('\n').length);
        expect(plainText(plain)).toBe(plain);
      }),
      { numRuns: 2000 },
    );
  });

  it('a line of carriage returns and letters agrees with a screen of cells', () => {
    const line = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '\r', '\b'), maxLength: 60 });
    fc.assert(
      fc.property(line, (text) => {
        expect(plainText(text)).toBe(onScreen(text));
      }),
      { numRuns: 2000 },
    );
  });
});

function onScreen(line: string): string {
  const cells: string[] = [];
  let column = 0;
  for (const character of line) {
    if (character === '\r') column = 0;
    else if (character === '\b') column = Math.max(0, column - 1);
    else cells[column++] = character;
  }
  return cells.join('');
}

describe('hostile output is handled in one pass', () => {
  // With work that grows as the square, each of these would take hours.
  const length = 4_000_000;
  it.each([
    '\x1b',
    '\r',
    '\b',
    'x\b',
    '\n\r',
    '\x1b]',
    '\x1b]0;a',
    '\x9d1;',
    '\x9b1',
    '\x1b[',
    'x\x1b[2K',
    ' \r',
    '\ud83d',
    '\x90',
  ])('%j repeated', (piece) => {
    const plain = plainText(piece.repeat(length / piece.length));
    expect(plain.length).toBeLessThanOrEqual(length);
    expect(CONTROL.test(plain)).toBe(false);
  });
});
