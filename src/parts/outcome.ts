import type { ExecutionResult } from '../sandbox/execution.js';
import type { Outcome } from './part.js';

const OUTCOMES: Readonly<Record<ExecutionResult['status'], Outcome>> = {
  ok: 'OUTCOME_OK',
  failed: 'OUTCOME_FAILED',
  'deadline-exceeded': 'OUTCOME_DEADLINE_EXCEEDED',
};

/** How an execution ended, in Gemini's words. What was printed, on stderr or elsewhere, never decides. */
export function outcomeOf(result: Pick<ExecutionResult, 'status'>): Outcome {
  return OUTCOMES[result.status];
}
