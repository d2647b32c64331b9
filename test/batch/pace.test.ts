import { describe, expect, it } from 'vitest';
import { Pace } from '../../src/batch/pace.js';

function paceAt(most: number) {
  const clock = { ms: 0 };
  return { clock, pace: new Pace({ most, now: () => clock.ms }) };
}

describe('the pace', () => {
  it('grows while all is well, up to the most', () => {
    const { pace } = paceAt(64);
    expect(pace.limit).toBe(4);
    for (let runs = 0; runs < 30; runs += 1) pace.wentWell(pace.limit);
    expect(pace.limit).toBe(34);
    for (let runs = 0; runs < 100; runs += 1) pace.wentWell(pace.limit);
    expect(pace.limit).toBe(64);
  });

  it('does not grow where less is under way than may be', () => {
    const { pace } = paceAt(64);
    pace.wentWell(2);
    expect(pace.limit).toBe(4);
  });

  it('halves at a refusal, once for a burst, and waits as long as was asked for', () => {
    const { clock, pace } = paceAt(64);
    for (let runs = 0; runs < 12; runs += 1) pace.wentWell(pace.limit);
    for (let refusals = 0; refusals < 5; refusals += 1) pace.wasRefused(30_000);
    expect(pace.limit).toBe(8);
    expect(pace.holdMs).toBe(30_000);
    clock.ms = 30_000;
    expect(pace.holdMs).toBe(0);
    pace.wasRefused(0);
    expect(pace.limit).toBe(4);
  });

  it('grows by one a round after a refusal', () => {
    const { clock, pace } = paceAt(64);
    for (let runs = 0; runs < 12; runs += 1) pace.wentWell(pace.limit);
    pace.wasRefused(0);
    clock.ms = 2_000;
    for (let runs = 0; runs < 9; runs += 1) pace.wentWell(pace.limit);
    expect(pace.limit).toBe(9);
  });

  it('never falls below one', () => {
    const { clock, pace } = paceAt(3);
    for (let refusals = 0; refusals < 5; refusals += 1) {
      pace.wasRefused(0);
      clock.ms += 10_000;
    }
    expect(pace.limit).toBe(1);
  });
});
