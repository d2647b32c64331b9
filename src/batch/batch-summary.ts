import type { Tally } from './tally.js';

/** Why a batch ended: all is done, or a limit of its own was passed. */
export type BatchStatus = 'completed' | 'error-limit' | 'cost-limit';

export interface BatchSummary extends Tally {
  status: BatchStatus;
  /** Why it ended before all was done, for people. */
  reason?: string;
  /** The batch folder. */
  out: string;
  model: string;
  /** Sample-epochs in all. */
  total: number;
  /** Finished by earlier calls. */
  resumed: number;
  /** Share of correct answers among the graded ones, with its 95 % interval (Wilson); null where none was graded. */
  accuracy: Accuracy | null;
  /** US dollars by the price list; null where the model is not in it. */
  cost: number | null;
  /** Of this call. */
  durationMs: number;
}

export interface Accuracy {
  value: number;
  low: number;
  high: number;
}

/** Errors are no wrong answers, so they are not among the graded ones; they are counted beside it. */
export function accuracyOf({ correct, wrong }: Pick<Tally, 'correct' | 'wrong'>): Accuracy | null {
  const graded = correct + wrong;
  if (graded === 0) return null;
  const z = 1.959963984540054;
  const value = correct / graded;
  const scale = 1 + (z * z) / graded;
  const centre = (value + (z * z) / (2 * graded)) / scale;
  const half =
    (z / scale) * Math.sqrt((value * (1 - value)) / graded + (z * z) / (4 * graded * graded));
  return { value, low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}
