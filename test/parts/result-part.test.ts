import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../../src/parts/outcome.js';
import type { Outcome } from '../../src/parts/part.js';
import {
  DEFAULT_MAX_OUTPUT_CHARACTERS,
  PRINTED_NOTHING,
  START_NOT_KEPT,
  functionResponsePart,
  resultPart,
} from '../../src/parts/result-part.js';
import type { ExecutionResult, RichOutput } from '../../src/sandbox/execution.js';

const base = { stdout: '', stderr: '', outputTruncated: false, richOutputs: [], durationMs: 1 };
const ok = { ...base, status: 'ok' as const, value: '' };
const failed = {
  ...base,
  status: 'failed' as const,
  error: { name: 'NameError', value: "name 'x' is not defined", traceback: [] as string[] },
};
const late = { ...base, status: 'deadline-exceeded' as const, limitMs: 20_000 };

function outputOf(result: ExecutionResult, maxOutputCharacters?: number): string {
  const options = maxOutputCharacters === undefined ? {} : { maxOutputCharacters };
  return resultPart(result, options).codeExecutionResult.output;
}

describe('success', () => {
  it('is what was printed, to the letter', () => {
    expect(resultPart({ ...ok, stdout: '5117\n' })).toEqual({
      codeExecutionResult: { outcome: 'OUTCOME_OK', output: '5117\n' },
    });
    expect(outputOf({ ...ok, stdout: '  no newline ' })).toBe('  no newline ');
  });

  it('has stdout, then the value, then stderr, each on a line of its own', () => {
    expect(outputOf({ ...ok, stdout: 'a\n', value: '42', stderr: 'warning\n' })).toBe(
      'a\n42\nwarning\n',
    );
    expect(outputOf({ ...ok, stdout: 'a', value: '42' })).toBe('a\n42');
    expect(outputOf({ ...ok, value: '42' })).toBe('42');
  });

  it('a warning on stderr is seen and makes no failure', () => {
    const part = resultPart({ ...ok, stdout: '1\n', stderr: 'DeprecationWarning: old\n' });
    expect(part.codeExecutionResult).toEqual({
      outcome: 'OUTCOME_OK',
      output: '1\nDeprecationWarning: old\n',
    });
  });

  it('with nothing to see says so', () => {
    expect(outputOf(ok)).toBe(PRINTED_NOTHING);
    expect(outputOf({ ...ok, stderr: '100%|██|\r        \r' })).toBe(PRINTED_NOTHING);
  });
});

describe('failure', () => {
  it('has stdout, then stderr, then the traceback without colours', () => {
    const result = {
      ...failed,
      stdout: 'step 1\n',
      stderr: 'careful',
      error: { ...failed.error, traceback: ['\x1b[0;31m-----\x1b[0m', 'NameError: no x'] },
    };
    expect(resultPart(result).codeExecutionResult).toEqual({
      outcome: 'OUTCOME_FAILED',
      output: 'step 1\ncareful\n-----\nNameError: no x',
    });
  });

  it.each([
    [
      { name: 'NameError', value: "name 'x' is not defined", traceback: [] },
      "NameError: name 'x' is not defined",
    ],
    [{ name: 'KeyboardInterrupt', value: '', traceback: ['\x1b[0m'] }, 'KeyboardInterrupt'],
    [{ name: '', value: '', traceback: [] }, 'Error'],
  ])('without a traceback names the error: %j', (error, output) => {
    expect(outputOf({ ...failed, error })).toBe(output);
  });
});

describe('time out', () => {
  it('has what was printed, then the limit', () => {
    expect(resultPart({ ...late, stdout: '1\n', stderr: '2' }).codeExecutionResult).toEqual({
      outcome: 'OUTCOME_DEADLINE_EXCEEDED',
      output: '1\n2\nThe script was stopped at its limit of 20 s.',
    });
    expect(outputOf({ ...late, limitMs: 1500 })).toBe(
      'The script was stopped at its limit of 1.5 s.',
    );
  });
});

describe('too much output', () => {
  it('says first that the sandbox kept the end only', () => {
    expect(outputOf({ ...ok, stdout: 'the end\n', outputTruncated: true })).toBe(
      `${START_NOT_KEPT}\nthe end\n`,
    );
    expect(outputOf({ ...ok, outputTruncated: true })).toBe(START_NOT_KEPT);
  });

  it('keeps head and tail within the default limit', () => {
    const output = outputOf({ ...ok, stdout: `first\n${'x\n'.repeat(100_000)}last\n` });
    expect(output.length).toBeLessThanOrEqual(DEFAULT_MAX_OUTPUT_CHARACTERS);
    expect(output).toMatch(/^first\n/);
    expect(output).toMatch(/\n\[\.\.\. \d+ characters in \d+ lines cut \.\.\.\]\n/);
    expect(output).toMatch(/\nlast\n$/);
  });

  it('a flood on one stream pushes out neither the value nor the traceback', () => {
    const flood = 'noise\n'.repeat(100_000);
    const value = 'the value';
    const error = {
      ...failed.error,
      traceback: ['Traceback', 'ZeroDivisionError: division by zero'],
    };
    const succeeded = outputOf({ ...ok, stdout: flood, value, stderr: flood });
    expect(succeeded).toContain('\nthe value\n');
    expect(outputOf({ ...failed, stdout: flood, stderr: flood, error })).toMatch(
      /\nTraceback\nZeroDivisionError: division by zero$/,
    );
    const half = DEFAULT_MAX_OUTPUT_CHARACTERS * 0.45;
    expect(succeeded.indexOf(value)).toBeGreaterThan(half);
    expect(succeeded.length - succeeded.indexOf(value)).toBeGreaterThan(half);
    expect(succeeded.length).toBeGreaterThan(DEFAULT_MAX_OUTPUT_CHARACTERS * 0.95);
  });
});

describe('the mapping is total', () => {
  const printed = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.constant('x\n'.repeat(500)),
  );
  const common = {
    stdout: printed,
    stderr: printed,
    outputTruncated: fc.boolean(),
    richOutputs: fc.constant<RichOutput[]>([]),
    durationMs: fc.nat(),
  };
  const anyResult: fc.Arbitrary<ExecutionResult> = fc.oneof(
    fc.record({ ...common, status: fc.constant('ok' as const), value: printed }),
    fc.record({
      ...common,
      status: fc.constant('failed' as const),
      error: fc.record({
        name: fc.string(),
        value: fc.string(),
        traceback: fc.array(printed, { maxLength: 4 }),
      }),
    }),
    fc.record({
      ...common,
      status: fc.constant('deadline-exceeded' as const),
      limitMs: fc.nat(),
    }),
  );
  const expected: Record<ExecutionResult['status'], Outcome> = {
    ok: 'OUTCOME_OK',
    failed: 'OUTCOME_FAILED',
    'deadline-exceeded': 'OUTCOME_DEADLINE_EXCEEDED',
  };

  it('every result has its outcome and a printable output that is not empty', () => {
    fc.assert(
      fc.property(anyResult, (result) => {
        const { outcome, output, id } = resultPart(result, { id: 'call-1' }).codeExecutionResult;
        expect(outcome).toBe(expected[result.status]);
        expect(outcomeOf(result)).toBe(outcome);
        expect(output).not.toBe('');
        expect(output).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
        expect(id).toBe('call-1');
      }),
    );
  });

  it('no output is longer than its limit', () => {
    fc.assert(
      fc.property(anyResult, fc.nat({ max: 1500 }), (result, limit) => {
        expect(outputOf(result, limit).length).toBeLessThanOrEqual(limit);
      }),
    );
  });
});

describe('the answer to a call', () => {
  it('echoes id and name; a failure is an error with its output', () => {
    expect(
      functionResponsePart(
        { outcome: 'OUTCOME_OK', output: '1\n' },
        { id: 'c1', name: 'execute_code' },
      ),
    ).toEqual({
      functionResponse: { id: 'c1', name: 'execute_code', response: { output: '1\n' } },
    });
    expect(
      functionResponsePart(
        { outcome: 'OUTCOME_FAILED', output: 'NameError' },
        { name: 'execute_code' },
      ),
    ).toEqual({
      functionResponse: {
        name: 'execute_code',
        response: { error: 'OUTCOME_FAILED', output: 'NameError' },
      },
    });
  });
});
