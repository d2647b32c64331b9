import { describe, expect, it } from 'vitest';
import {
  compareResults,
  isSameOutput,
  isSameResult,
  shortDiff,
} from '../../src/cli/replay-compare.js';
import type { ExecutionResult } from '../../src/sandbox/execution.js';

const base = { stdout: '', stderr: '', outputTruncated: false, richOutputs: [], durationMs: 1 };
const ok = (fields: Partial<ExecutionResult & { status: 'ok' }>): ExecutionResult => ({
  ...base,
  status: 'ok',
  value: '',
  ...fields,
});
const failed = (name: string): ExecutionResult => ({
  ...base,
  status: 'failed',
  error: { name, value: 'why', traceback: [`${name}: why`] },
});
const recordedOk = (output: string) => ({ outcome: 'OUTCOME_OK' as const, output });

describe('outputs', () => {
  it.each([
    ['18', '18\n'],
    ['  a b ', 'a b'],
    ['-9867630', '-9867630.0'],
    ['1,234.5', '1234.5'],
    ['0.3333333333', '1/3'],
    ['1000000', '1000000.5'],
    ['0', '0.0000005'],
    ['1e3', '1000'],
    ['.5', '1/2'],
  ])('%j equals %j', (recorded, observed) => {
    expect(isSameOutput(recorded, observed)).toBe(true);
  });

  it.each([
    ['18', '18.1'],
    ['a', 'b'],
    ['1000000', '1000002'],
    ['0', '0.000002'],
    ['1/0', '2/0'],
    ['nan', '0'],
    ['', '0'],
    ['(1, 2)', '(1, 3)'],
    ['1 2', '12'],
    ['18 dollars', '18'],
    ['1e999', '2e999'],
  ])('%j differs from %j', (recorded, observed) => {
    expect(isSameOutput(recorded, observed)).toBe(false);
  });
});

describe('outcomes', () => {
  it('must agree, whatever was printed', () => {
    const execution: ExecutionResult = {
      ...base,
      stdout: '18\n',
      status: 'deadline-exceeded',
      limitMs: 20_000,
    };
    expect(compareResults(recordedOk('18'), execution)).toMatchObject({ equal: false });
    expect(
      compareResults({ outcome: 'OUTCOME_DEADLINE_EXCEEDED', output: 'gone' }, execution),
    ).toEqual({ equal: true, ignoresStderr: false });
  });

  it('a warning on stderr that the record lacks makes no difference, and is told', () => {
    const execution = ok({ stdout: '18\n', stderr: 'DeprecationWarning: old\n' });
    expect(compareResults(recordedOk('18'), execution)).toEqual({
      equal: true,
      ignoresStderr: true,
    });
    expect(compareResults(recordedOk('18\nDeprecationWarning: old'), execution)).toEqual({
      equal: true,
      ignoresStderr: false,
    });
    expect(compareResults(recordedOk('19'), execution)).toMatchObject({ equal: false });
  });

  it('nothing printed equals nothing recorded, also where a record says so in words', () => {
    expect(compareResults(recordedOk(''), ok({}))).toMatchObject({ equal: true });
    const words = 'The script finished and printed nothing; print values to see them.';
    expect(compareResults(recordedOk(words), ok({}))).toMatchObject({ equal: true });
    expect(compareResults(recordedOk('4'), ok({}))).toMatchObject({ equal: false });
  });

  it('how many of the images a model was shown makes no difference', () => {
    const png = { index: 0, mimeTypes: ['image/png'], data: { 'image/png': 'cG5n' } };
    const execution = { ...ok({ stdout: '1\n', value: '2' }), richOutputs: [png] };
    const recorded = (output: string) => ({ outcome: 'OUTCOME_OK' as const, output });
    const isEqual = (output: string) => compareResults(recorded(output), execution).equal;
    expect(isEqual('1\n[Displayed 1 image, not attached.]\n2')).toBe(true);
    expect(isEqual('1\n2')).toBe(true);
    expect(isEqual('1\n[Displayed 1 image.]\n3')).toBe(false);
  });

  it('the last expression’s value counts as output', () => {
    expect(compareResults(recordedOk('a\n4'), ok({ stdout: 'a\n', value: '4' }))).toMatchObject({
      equal: true,
    });
  });

  it('of failures only the exception class is compared, where one is recorded', () => {
    const recorded = (output: string) => ({ outcome: 'OUTCOME_FAILED' as const, output });
    const { equal } = compareResults(
      recorded('SyntaxError: invalid syntax'),
      failed('SyntaxError'),
    );
    expect(equal).toBe(true);
    expect(compareResults(recorded(''), failed('NameError')).equal).toBe(true);
    expect(compareResults(recorded('NameError: x'), failed('ValueError')).equal).toBe(false);
    expect(compareResults(recorded('NameError: x'), ok({ stdout: 'NameError: x' })).equal).toBe(
      false,
    );
  });

  it('two stored results are compared alike', () => {
    const stored = (output: string) => ({ outcome: 'OUTCOME_FAILED' as const, output });
    expect(isSameResult(stored('a\nValueError: 1'), stored('b\nValueError: 2'))).toBe(true);
    expect(isSameResult(stored('ValueError: 1'), stored('TypeError: 1'))).toBe(false);
  });
});

describe('a difference for a reader', () => {
  it('leaves out what is equal at the beginning', () => {
    expect(shortDiff('OUTCOME_OK\na\nb', 'OUTCOME_OK\na\nc')).toEqual(['- b', '+ c']);
  });

  it('shows an end that is missing on one side', () => {
    expect(shortDiff('OUTCOME_OK\na\nb', 'OUTCOME_OK\na')).toEqual(['- b']);
  });

  it('is cut when long', () => {
    const long = Array.from({ length: 10 }, (_, index) => `line ${index}`).join('\n');
    expect(shortDiff(long, 'x', 2)).toEqual(['- line 0', '- line 1', '- … 8 more', '+ x']);
  });
});
