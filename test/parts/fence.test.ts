import { describe, expect, it } from 'vitest';
import { codeSpan, fenced, withClosedFence } from '../../src/parts/fence.js';

describe('a fence', () => {
  it('is longer than any in the text', () => {
    expect(fenced('a', 'text')).toBe('```text\na\n```');
    expect(fenced('say ```` so\n')).toBe('`````\nsay ```` so\n`````');
    expect(codeSpan('`a`\nb')).toBe('`` `a` b ``');
  });

  it('left open is closed by its own kind', () => {
    expect(withClosedFence('a\n```py\nb')).toBe('a\n```py\nb\n```');
    expect(withClosedFence('~~~~\n```\n~~~\n')).toBe('~~~~\n```\n~~~\n~~~~');
    const whole = 'a\n```py\nb\n````\nc ```d``` \n```e``` f';
    expect(withClosedFence(whole)).toBe(whole);
  });
});
