import { expect, it } from 'vitest';
import { visibleSource } from '../../src/parts/visible-source.js';

it('shows what a carriage return or backspace would hide from a reader, and Python runs', () => {
  expect(visibleSource('# fine\rrun()\r\nx')).toBe('# fine\nrun()\nx');
  expect(visibleSource('run()\b\b\b\b\bsafe')).toBe('run()␈␈␈␈␈safe');
  expect(visibleSource('a = "\u202Eevil\u2066"')).toBe('a = "\uFFFDevil\uFFFD"');
  expect(visibleSource('a\t= 1\f# 😀 é')).toBe('a\t= 1 # 😀 é');
});
