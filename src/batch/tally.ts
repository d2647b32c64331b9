import { addUsage, emptyUsage } from '../parts/usage.js';
import type { Usage } from '../parts/usage.js';
import { standingOf } from './sample-record.js';
import type { SampleRecord } from './sample-record.js';

/** What is known of a batch so far; a handful of numbers, however many samples there are. */
export interface Tally {
  /** Sample-epochs that are finished: the sum of the four after it. */
  finished: number;
  correct: number;
  wrong: number;
  errors: number;
  /** Without a target and a grader. */
  ungraded: number;
  steps: number;
  executions: number;
  usage: Usage;
  retries: { requests: number; runs: number };
}

export function emptyTally(): Tally {
  return {
    finished: 0,
    correct: 0,
    wrong: 0,
    errors: 0,
    ungraded: 0,
    steps: 0,
    executions: 0,
    usage: emptyUsage(),
    retries: { requests: 0, runs: 0 },
  };
}

export function countRecord(tally: Tally, record: SampleRecord): void {
  tally.finished += 1;
  const standing = standingOf(record);
  tally[standing === 'error' ? 'errors' : standing] += 1;
  tally.steps += record.steps;
  tally.executions += record.executions;
  tally.usage = addUsage(tally.usage, record.usage);
  if (record.gradingUsage !== undefined) tally.usage = addUsage(tally.usage, record.gradingUsage);
  tally.retries.requests += record.retries.requests;
  tally.retries.runs += record.retries.runs;
}
