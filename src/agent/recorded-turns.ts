import { EXECUTE_CODE } from '../parts/code-part.js';
import type { Content } from '../parts/content.js';
import type { Part } from '../parts/part.js';
import type { RecordedRun } from './recorded-run.js';

/** What the model said between two answers of the sandbox: the end of a turn is what it was answered to. */
export interface RecordedTurns {
  /** Parts of one response each, scripts as calls of `execute_code`. */
  turns: Part[][];
  /** False where the recording breaks off before the model's last word. */
  isComplete: boolean;
}

/**
 * Cuts a run, up to its second prompt if it has one, into the responses of the model. Calls that stand together were
 * made together. `lineNumber` goes into the ids of the calls, by which {@link lineOfCall} knows the run again.
 */
export function recordedTurns(run: RecordedRun, lineNumber: number): RecordedTurns {
  const turns: Part[][] = [];
  let turn: Part[] = [];
  let calls = 0;
  let isAnswered = false;
  for (const part of spokenParts(run.contents)) {
    if (isAnswer(part, isAnswered)) {
      isAnswered = true;
      continue;
    }
    if (isAnswered) {
      turns.push(turn);
      turn = [];
      isAnswered = false;
    }
    if (isCall(part)) calls += 1;
    turn.push(isCall(part) ? asCall(part, `replay-${lineNumber}-${calls}`) : part);
  }
  if (turn.length > 0) turns.push(turn);
  return { turns, isComplete: turn.length > 0 && !turn.some(isCall) };
}

/** The line of the run that a call came from; undefined for calls of other models. */
export function lineOfCall(part: Part): number | undefined {
  const digits = /^replay-(\d+)-\d+$/.exec(part.functionCall?.id ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** All parts after the first prompt and before the second. */
function spokenParts(contents: readonly Content[]): Part[] {
  const first = contents.findIndex(isPrompt);
  const second = contents.findIndex((content, index) => index > first && isPrompt(content));
  return contents
    .slice(first + 1, second === -1 ? undefined : second)
    .flatMap(({ parts }) => parts);
}

function isPrompt({ role, parts }: Content): boolean {
  return role === 'user' && parts.some((part) => part.functionResponse === undefined);
}

/** Images count as answers where they stand right behind one. */
function isAnswer(part: Part, afterAnswer: boolean): boolean {
  if (part.codeExecutionResult !== undefined || part.functionResponse !== undefined) return true;
  return afterAnswer && part.inlineData !== undefined;
}

function isCall(part: Part): boolean {
  return part.executableCode !== undefined || part.functionCall !== undefined;
}

function asCall({ executableCode, functionCall, ...rest }: Part, id: string): Part {
  if (functionCall !== undefined) return { ...rest, functionCall: { ...functionCall, id } };
  const args = { code: executableCode?.code ?? '' };
  return { ...rest, functionCall: { id, name: EXECUTE_CODE, args } };
}
