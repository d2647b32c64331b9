import { describe, expect, it } from 'vitest';
import { exceptionName } from '../../src/parts/exception-name.js';

describe('the exception of an error text', () => {
  it.each([
    ['SyntaxError: invalid syntax', 'SyntaxError'],
    ["timeout_decorator.timeout_decorator.TimeoutError: 'Timed Out'", 'TimeoutError'],
    ['KeyboardInterrupt', 'KeyboardInterrupt'],
    [
      'ZeroDivisionError                         Traceback (most recent call last)\nCell In[1], line 1\n\nZeroDivisionError: division by zero',
      'ZeroDivisionError',
    ],
    [
      'KeyError   Traceback (most recent call last)\n…\nDuring handling …\nValueError   Traceback (most recent call last)\n…\nValueError: Note: see this\nHint: more',
      'ValueError',
    ],
    ['Traceback (most recent call last):\n  File "a.py"\nmy.Trouble: it broke', 'Trouble'],
    ['ValueError: first line\nsecond: line', 'ValueError'],
    ['printed: before\nTypeError: no', 'TypeError'],
  ])('%j is %s', (text, name) => {
    expect(exceptionName(text)).toBe(name);
  });

  it('is unknown where none is named', () => {
    expect(exceptionName('')).toBeUndefined();
    expect(exceptionName('it broke')).toBeUndefined();
  });
});
