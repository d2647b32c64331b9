import type { RunEvent } from '../agent/events.js';
import type { SampleRecord } from './sample-record.js';
import type { Tally } from './tally.js';

/** Names one run of one sample. */
export interface SampleName {
  id: string;
  /** From 1. */
  epoch: number;
}

/** What happens in a batch. */
export type BatchEvent =
  /** All was checked; `tally` counts what is there from before. */
  | { type: 'batch-start'; total: number; tally: Readonly<Tally> }
  | { type: 'notice'; text: string }
  | { type: 'sample-start'; sample: SampleName }
  /** Something happened in a run. */
  | { type: 'sample-event'; sample: SampleName; event: RunEvent }
  /** The record is on disk and counted in `tally`. */
  | { type: 'sample-end'; record: SampleRecord; tally: Readonly<Tally> }
  /** The model's service asked for a slower pace; nothing starts for `holdMs`. */
  | { type: 'slow-down'; concurrency: number; holdMs: number }
  /** No further sample begins; those that run are waited for, at most for `graceMs`. */
  | { type: 'stopping'; running: number; graceMs: number };
