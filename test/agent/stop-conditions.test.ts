import { expect, it } from 'vitest';
import { REPEATED_FAILURES, watchFailures } from '../../src/agent/stop-conditions.js';
import type { CodeExecutionResult } from '../../src/parts/part.js';

const failed = (output: string): CodeExecutionResult => ({ outcome: 'OUTCOME_FAILED', output });

it('the same failing script over and over is noticed at the limit, not before', () => {
  const watch = watchFailures();
  for (let count = 1; count < REPEATED_FAILURES; count++) {
    watch.add('1/0', failed('ZeroDivisionError'));
    expect(watch.isStuck).toBe(false);
  }
  watch.add('1/0', failed('ZeroDivisionError'));
  expect(watch.isStuck).toBe(true);
});

it.each([
  ['another script', () => ['2/0', failed('ZeroDivisionError')] as const],
  ['another error', () => ['1/0', failed('NameError')] as const],
  ['a success', () => ['1/0', { outcome: 'OUTCOME_OK', output: '' }] as const],
])('%s in between starts the count anew', (_, between) => {
  const watch = watchFailures();
  for (let count = 1; count < REPEATED_FAILURES; count++)
    watch.add('1/0', failed('ZeroDivisionError'));
  watch.add(...(between() as [string, CodeExecutionResult]));
  watch.add('1/0', failed('ZeroDivisionError'));
  expect(watch.isStuck).toBe(false);
});

it('a script that succeeds again and again is not a failure', () => {
  const watch = watchFailures();
  for (let count = 0; count < 10; count++) watch.add('1', { outcome: 'OUTCOME_OK', output: '1' });
  expect(watch.isStuck).toBe(false);
});
