import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codePart, codePartOfCall, pairExecutions } from '../../src/parts/code-part.js';
import type { Part } from '../../src/parts/part.js';

const result = (output: string, id?: string): Part => ({
  codeExecutionResult: { outcome: 'OUTCOME_OK', output, ...(id === undefined ? {} : { id }) },
});
const image: Part = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };

/** `code → its outputs` for each execution. */
function summary(parts: readonly Part[]): [string, string[]][] {
  return pairExecutions(parts).executions.map(({ code, results }) => [
    code.executableCode.code,
    results.map((part) => part.codeExecutionResult.output),
  ]);
}

describe('results find their code', () => {
  it('two results after one code are both kept, in order', () => {
    const parts = [
      codePart('a'),
      result('1'),
      { text: 'so' },
      result('2'),
      codePart('b'),
      result('3'),
    ];
    expect(summary(parts)).toEqual([
      ['a', ['1', '2']],
      ['b', ['3']],
    ]);
  });

  it('by id, whatever lies between', () => {
    const parts = [
      codePart('a', { id: 'x' }),
      codePart('b', { id: 'y' }),
      result('of b', 'y'),
      result('of a', 'x'),
    ];
    expect(summary(parts)).toEqual([
      ['a', ['of a']],
      ['b', ['of b']],
    ]);
  });

  it('an id used again means the latest code with it', () => {
    const parts = [codePart('a', { id: 'x' }), codePart('b', { id: 'x' }), result('1', 'x')];
    expect(summary(parts)).toEqual([
      ['a', []],
      ['b', ['1']],
    ]);
  });

  it('by adjacency where only one of the two has an id', () => {
    expect(summary([codePart('a', { id: 'x' }), result('1')])).toEqual([['a', ['1']]]);
    expect(summary([codePart('a'), result('1', 'x')])).toEqual([['a', ['1']]]);
  });

  it('a result without code is reported, not dropped', () => {
    const parts = [result('early'), codePart('a', { id: 'x' }), result('stray', 'z')];
    const { executions, unpaired } = pairExecutions(parts);
    expect(executions.map(({ results }) => results)).toEqual([[]]);
    expect(unpaired).toEqual([
      { index: 0, result: parts[0] },
      { index: 2, result: parts[2] },
    ]);
  });

  it('charts right after a result belong to its code, other images to none', () => {
    const parts = [
      image,
      codePart('a', { id: 'x' }),
      codePart('b', { id: 'y' }),
      result('1', 'x'),
      image,
      image,
      { text: 'seen' },
      image,
    ];
    const [a, b] = pairExecutions(parts).executions;
    expect(a?.images).toEqual([image, image]);
    expect(b?.images).toEqual([]);
  });

  it('every code and every result stands in exactly one place', () => {
    const id = fc.option(fc.constantFrom('x', 'y', 'z'), { nil: undefined });
    const anyPart = fc.oneof(
      fc
        .tuple(fc.string(), id)
        .map(([code, key]) => codePart(code, key === undefined ? {} : { id: key })),
      fc.tuple(fc.string(), id).map(([output, key]) => result(output, key)),
      fc.constantFrom<Part>({ text: 't' }, image),
    );
    fc.assert(
      fc.property(fc.array(anyPart), (parts) => {
        const { executions, unpaired } = pairExecutions(parts);
        expect(executions.map(({ code }) => code)).toEqual(
          parts.filter((part) => part.executableCode),
        );
        for (const { index, code } of executions) expect(parts[index]).toBe(code);
        const placed = new Set([
          ...executions.flatMap(({ results }) => results),
          ...unpaired.map((entry) => entry.result),
        ]);
        const results = parts.filter((part) => part.codeExecutionResult);
        expect(placed).toEqual(new Set(results));
        expect(placed.size).toBe(results.length);
      }),
    );
  });
});

describe('a call of execute_code as code', () => {
  it('keeps the id, the signature and whatever else the part has', () => {
    const call = {
      functionCall: { id: 'c1', name: 'execute_code', args: { code: 'print(1)' } },
      thoughtSignature: 'c2ln',
      partMetadata: { a: 1 },
    };
    expect(codePartOfCall(call)).toEqual({
      executableCode: { language: 'PYTHON', code: 'print(1)', id: 'c1' },
      thoughtSignature: 'c2ln',
      partMetadata: { a: 1 },
    });
  });

  it.each<Part>([
    { text: 'print(1)' },
    { functionCall: { name: 'execute_code' } },
    { functionCall: { name: 'execute_code', args: { code: 5 } } },
    { functionCall: { name: 'weather', args: { code: 'LHR' } } },
  ])('is not made of %j', (part) => {
    expect(codePartOfCall(part)).toBeUndefined();
  });
});
