import type { CodeExecutionResult } from '../parts/part.js';

/** A script that fails in the same way this often in a row will not be run again. */
export const REPEATED_FAILURES = 3;

/** Notices that the model runs the same failing script over and over. */
export interface FailureWatch {
  add(code: string, result: CodeExecutionResult): void;
  /** True once the last {@link REPEATED_FAILURES} scripts were equal and failed equally. */
  readonly isStuck: boolean;
}

export function watchFailures(): FailureWatch {
  let last = '';
  let count = 0;
  return {
    add(code, result) {
      const failure =
        result.outcome === 'OUTCOME_OK'
          ? ''
          : JSON.stringify([code, result.outcome, result.output]);
      count = failure !== '' && failure === last ? count + 1 : 1;
      last = failure;
    },
    get isStuck() {
      return last !== '' && count >= REPEATED_FAILURES;
    },
  };
}
