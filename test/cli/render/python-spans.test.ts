import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pythonLines } from '../../../src/cli/render/python-spans.js';

const textOf = (code: string): string =>
  pythonLines(code)
    .map((line) => line.map((span) => span.text).join(''))
    .join('\n');

describe('coloured Python', () => {
  it('is the same text, whatever the source is', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ab1#"\'\\\n rf=('.split('')) }), (code) => {
        expect(textOf(code)).toBe(code);
      }),
    );
  });

  it('knows strings over several lines, comments and keywords', () => {
    expect(pythonLines('def f():  # no "string"\n    """a\n    for b"""\n    return 1')).toEqual([
      [
        { text: 'def', style: 'blue' },
        { text: ' f():  ' },
        { text: '# no "string"', style: 'dim' },
      ],
      [{ text: '    ' }, { text: '"""a', style: 'green' }],
      [{ text: '    for b"""', style: 'green' }],
      [
        { text: '    ' },
        { text: 'return', style: 'blue' },
        { text: ' ' },
        { text: '1', style: 'yellow' },
      ],
    ]);
  });

  it('takes no time over a long hostile line', () => {
    const code = `${'rb'.repeat(20_000)}${'"\\'.repeat(20_000)}`;
    expect(textOf(code)).toBe(code);
  });
});
