import { EXECUTE_CODE, pairExecutions } from '../../parts/code-part.js';
import type { Content } from '../../parts/content.js';
import type { CodeExecutionResult, FunctionCall, Part } from '../../parts/part.js';
import { DEFAULT_MAX_OUTPUT_CHARACTERS } from '../../parts/result-part.js';
import { truncate } from '../../parts/truncate.js';
import { printedBefore } from '../printed-output.js';
import { prompt } from '../prompt.js';
import type { TurnRecord } from '../run-state.js';
import { fencedResult } from '../wire.js';

export interface CutTurn extends TurnRecord {
  /** Why it ended before its answer, as a sentence. */
  reason: string;
  /** What the script with this id had printed. */
  printed: (id: string) => string;
}

/**
 * Ends a turn that was cut short in such a way that the API accepts it in a history and the model knows what happened:
 * every call has its answer, a script that was stopped says what it had printed, and a last word tells that and why
 * there was no answer. Nothing that is there is changed.
 */
export function closeTurn({ wire, shown, reason, printed }: CutTurn): TurnRecord {
  const stopped = stoppedScript(shown, reason, printed);
  const results: Part[] = [
    ...(stopped === undefined ? [] : [{ codeExecutionResult: stopped }]),
    ...unansweredFunctions(shown, reason),
  ];
  return {
    wire: [
      ...answered(wire, stopped, reason),
      { role: 'user', parts: [{ text: prompt('turn-stopped', { reason }) }] },
    ],
    shown: [...shown, ...results],
  };
}

/** What the script that was running came to; undefined where none was. */
function stoppedScript(
  shown: readonly Part[],
  reason: string,
  printed: (id: string) => string,
): CodeExecutionResult | undefined {
  const last = pairExecutions(shown).executions.at(-1);
  if (last === undefined || last.results.length > 0) return undefined;
  const { id } = last.code.executableCode;
  const before = printedBefore(id === undefined ? '' : printed(id));
  const output = before + prompt('script-stopped', { reason });
  return {
    outcome: 'OUTCOME_FAILED',
    output: truncate(output, DEFAULT_MAX_OUTPUT_CHARACTERS),
    ...(id !== undefined && { id }),
  };
}

function unansweredFunctions(shown: readonly Part[], reason: string): Part[] {
  const last = shown.at(-1)?.functionCall;
  return last === undefined ? [] : [notPerformed(last, reason)];
}

/** The wire form with an answer for every call. The first one unanswered is the one that was under way. */
function answered(
  wire: readonly Content[],
  stopped: CodeExecutionResult | undefined,
  reason: string,
): Content[] {
  const at = wire.findLastIndex(({ role }) => role === 'model');
  const asking = wire[at];
  if (asking === undefined) return [...wire];
  const calls = asking.parts.flatMap(({ functionCall }) => functionCall ?? []);
  const given = wire[at + 1]?.parts ?? [];
  const missing = calls
    .slice(given.filter(({ functionResponse }) => functionResponse !== undefined).length)
    .map((call, index) =>
      index === 0 && stopped !== undefined && call.name === EXECUTE_CODE
        ? stoppedCall(call, stopped)
        : notPerformed(call, reason),
    );
  const inText = calls.length === 0 && stopped !== undefined ? [fencedResult(stopped)] : [];
  const parts = [...given, ...missing, ...inText];
  return parts.length === 0
    ? wire.slice(0, at + 1)
    : [...wire.slice(0, at + 1), { role: 'user', parts }];
}

function stoppedCall({ id, name }: FunctionCall, { outcome, output }: CodeExecutionResult): Part {
  const response = { error: outcome, output };
  return { functionResponse: { ...(id !== undefined && { id }), name, response } };
}

function notPerformed({ id, name }: FunctionCall, reason: string): Part {
  const response = { error: prompt('call-not-performed', { reason }) };
  return { functionResponse: { ...(id !== undefined && { id }), name, response } };
}
