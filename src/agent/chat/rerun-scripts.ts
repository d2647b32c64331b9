import { pairExecutions } from '../../parts/code-part.js';
import type { ChatTurn } from './conversation-state.js';

/**
 * The scripts that make a conversation's variables again, in order: those that ended, well or with an error, since what
 * an error left behind counts, too. One that was stopped or ran out of time would take as long again.
 */
export function scriptsToRerun(turns: readonly ChatTurn[]): { id: string; code: string }[] {
  return turns.flatMap(({ kind, prompt, shown, status }, turn) => {
    const { executions } = pairExecutions(kind === 'python' ? [...prompt, ...shown] : shown);
    const wasCut = status === 'cancelled' || status === 'failed';
    const ended = executions.filter(
      ({ results }, index) =>
        results.length > 0 &&
        !(wasCut && index === executions.length - 1) &&
        results.at(-1)?.codeExecutionResult.outcome !== 'OUTCOME_DEADLINE_EXCEEDED',
    );
    return ended.map(({ code }, index) => ({
      id: `rerun-${turn + 1}-${index + 1}`,
      code: code.executableCode.code,
    }));
  });
}
