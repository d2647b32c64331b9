import { describe, expect, it } from 'vitest';
import { displayWidth, fitWidth, wrapSpans } from '../../../src/cli/render/display-width.js';

describe('cells', () => {
  it.each([
    ['abc', 3],
    ['日本', 4],
    ['é', 1],
    ['e\u0301', 1],
    ['👩‍👩‍👧', 2],
    ['✓ ok', 4],
    ['한', 2],
    ['a\u200Bb', 2],
    ['│╭╰├', 4],
    ['⠋', 1],
  ])('%j takes %i', (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });
});

describe('a line that is too wide', () => {
  it('ends with an ellipsis and never exceeds the width', () => {
    expect(fitWidth('abcdef', 6)).toBe('abcdef');
    expect(fitWidth('abcdef', 5)).toBe('abcd…');
    expect(displayWidth(fitWidth('日本語', 4))).toBeLessThanOrEqual(4);
  });

  it('becomes rows that keep every letter and its style', () => {
    const rows = wrapSpans([{ text: 'ab日' }, { text: '本cd', style: 'green' }], 3);
    expect(rows).toEqual([
      [{ text: 'ab' }],
      [{ text: '日' }],
      [{ text: '本c', style: 'green' }],
      [{ text: 'd', style: 'green' }],
    ]);
  });

  it('has a row even when empty', () => {
    expect(wrapSpans([], 10)).toEqual([[]]);
  });
});
