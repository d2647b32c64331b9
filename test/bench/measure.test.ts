import { expect, it } from 'vitest';
import { measureInTurns, spreadOf } from '../../bench/measure.js';

it('lets contenders take turns and leaves the warm-up out', async () => {
  const calls: string[] = [];
  const contender = (name: string, firstMs: number, laterMs: number) => ({
    name,
    measure: () => {
      calls.push(name);
      return Promise.resolve(calls.length <= 2 ? firstMs : laterMs);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
  const spreads = await measureInTurns([contender('a', 900, 10), contender('b', 900, 20)], {
    warmUpRounds: 1,
    rounds: 2,
  });
  expect(calls.join('')).toBe('ababab');
  expect(spreads.get('a')).toEqual({ samples: 2, medianMs: 10, p10Ms: 10, p90Ms: 10 });
  expect(spreads.get('b')?.medianMs).toBe(20);
});

it('gives median and percentiles of times in any order, between two where need be', () => {
  const times = [100, 0, 50, 10, 90, 20, 80, 30, 70, 40, 60];
  expect(spreadOf(times)).toEqual({ samples: 11, medianMs: 50, p10Ms: 10, p90Ms: 90 });
  expect(spreadOf([4, 1]).medianMs).toBe(2.5);
});
