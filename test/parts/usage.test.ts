import { describe, expect, it } from 'vitest';
import { addUsage, emptyUsage, laterCounts, requestUsage } from '../../src/parts/usage.js';

function usageOf(...chunks: unknown[]) {
  return requestUsage(chunks.reduce<Parameters<typeof laterCounts>[0]>(laterCounts, {}));
}

describe('usage', () => {
  it('within a response the last count stands, and is not erased by a chunk that lacks it', () => {
    const usage = usageOf(
      { promptTokenCount: 10, candidatesTokenCount: 1, thoughtsTokenCount: 7, totalTokenCount: 18 },
      { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 22 },
      undefined,
      { promptTokenCount: null, totalTokenCount: 'many' },
    );
    expect(usage).toEqual({
      promptTokenCount: 10,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 7,
      totalTokenCount: 22,
      requests: 1,
    });
  });

  it('over requests the counts add up', () => {
    const one = usageOf({ promptTokenCount: 10, candidatesTokenCount: 2, totalTokenCount: 12 });
    const two = usageOf({ promptTokenCount: 30, thoughtsTokenCount: 4, totalTokenCount: 34 });
    expect([one, two].reduce(addUsage, emptyUsage())).toEqual({
      promptTokenCount: 40,
      candidatesTokenCount: 2,
      thoughtsTokenCount: 4,
      totalTokenCount: 46,
      requests: 2,
    });
  });

  it('a total that is not stated is the sum, tool tokens included', () => {
    expect(
      usageOf({
        promptTokenCount: 1,
        candidatesTokenCount: 2,
        thoughtsTokenCount: 4,
        toolUsePromptTokenCount: 8,
        cachedContentTokenCount: 1,
      }).totalTokenCount,
    ).toBe(15);
  });

  it.each([
    undefined,
    null,
    'many',
    [],
    { promptTokenCount: 'x', totalTokenCount: -1 },
    { new: 1 },
  ])('counts it does not understand are 0: %j', (metadata) => {
    expect(usageOf(metadata)).toEqual({ ...emptyUsage(), requests: 1 });
  });
});
