import type { ExecutionResult, PythonError, RichOutput } from '../sandbox/execution.js';
import { plainText } from './ansi.js';
import { displayText } from './display.js';
import { outcomeOf } from './outcome.js';
import type {
  CodeExecutionResult,
  FunctionCall,
  FunctionResponsePart,
  InlineData,
  ResultPart,
} from './part.js';
import { truncate } from './truncate.js';

/** About 5,000 tokens. */
export const DEFAULT_MAX_OUTPUT_CHARACTERS = 20_000;

/** Said in place of an empty output: a model that reads nothing runs the same script again. */
export const PRINTED_NOTHING = 'The script finished and printed nothing; print values to see them.';

/** Said before an output of which the sandbox kept the end only. */
export const START_NOT_KEPT = '[... the start of the output was not kept by the sandbox ...]';

export interface ResultPartOptions {
  /** The id of the code the result belongs to. */
  id?: string;
  /** The longest `output`, in characters (UTF-16 units). Default {@link DEFAULT_MAX_OUTPUT_CHARACTERS}. */
  maxOutputCharacters?: number;
  /** How many of the displayed images go with the result; said where it is not all of them. */
  attachedImages?: number;
}

/**
 * What became of a script, as the part that goes into the transcript.
 * - ok: stdout, what was displayed, then the last expression's value, then stderr; {@link PRINTED_NOTHING} where all are empty.
 * - failed: stdout, displays, then stderr, then the traceback.
 * - deadline-exceeded: stdout, displays, then stderr, then a line with the limit.
 *
 * All as a terminal would show it (see `plainText`). Each begins on a line of its own; nothing is added at the end.
 */
export function resultPart(result: ExecutionResult, options: ResultPartOptions = {}): ResultPart {
  const { id, maxOutputCharacters = DEFAULT_MAX_OUTPUT_CHARACTERS, attachedImages } = options;
  const codeExecutionResult = {
    outcome: outcomeOf(result),
    output: outputText(result, maxOutputCharacters, attachedImages),
    ...(id === undefined ? {} : { id }),
  };
  executions.set(codeExecutionResult, { ...result, richOutputs: result.richOutputs.map(light) });
  return { codeExecutionResult };
}

/** Without content that would fill the memory of a long run. */
function light(output: RichOutput): RichOutput {
  const { data: _, ...rest } = output;
  return (output.sizeBytes ?? 0) > LIGHT_BYTES ? rest : output;
}

const LIGHT_BYTES = 512 * 1024;

/** What the text of a result no longer tells, for as long as the result itself is kept. */
const executions = new WeakMap<CodeExecutionResult, ExecutionResult>();

/** The execution that a result was made from by {@link resultPart}; undefined for one that was read from a file. */
export function executionOf(result: CodeExecutionResult): ExecutionResult | undefined {
  return executions.get(result);
}

/**
 * The answer to the call that handed over the code; `error` is the outcome, absent where the script succeeded. Images
 * inside it are for models of Gemini 3 and later.
 */
export function functionResponsePart(
  result: CodeExecutionResult,
  call: Pick<FunctionCall, 'id' | 'name'>,
  images: readonly InlineData[] = [],
): FunctionResponsePart {
  const { outcome, output } = result;
  return {
    functionResponse: {
      ...(call.id === undefined ? {} : { id: call.id }),
      name: call.name,
      response: outcome === 'OUTCOME_OK' ? { output } : { error: outcome, output },
      ...(images.length > 0 && { parts: images.map((inlineData) => ({ inlineData })) }),
    },
  };
}

function outputText(result: ExecutionResult, limit: number, attachedImages?: number): string {
  const printed = piecesOf(result, displayText(result.richOutputs, attachedImages))
    .map(plainText)
    .filter((piece) => piece !== '');
  const before = result.outputTruncated ? [START_NOT_KEPT] : [];
  const after = result.status === 'deadline-exceeded' ? [limitLine(result.limitMs)] : [];
  if (printed.length + before.length + after.length === 0) return truncate(PRINTED_NOTHING, limit);
  const fixed = [...before, ...after].reduce((sum, line) => sum + line.length + 1, printed.length);
  const shares = fairShares(
    printed.map((piece) => piece.length),
    limit - fixed,
  );
  const pieces = printed.map((piece, index) => truncate(piece, shares[index] ?? 0));
  return truncate([...before, ...pieces, ...after].reduce(onNewLine, ''), limit);
}

function piecesOf(result: ExecutionResult, displayed: string): string[] {
  switch (result.status) {
    case 'ok':
      return [result.stdout, displayed, result.value, result.stderr];
    case 'failed':
      return [result.stdout, displayed, result.stderr, tracebackOf(result.error)];
    case 'deadline-exceeded':
      return [result.stdout, displayed, result.stderr];
  }
}

function tracebackOf({ name, value, traceback }: PythonError): string {
  const text = plainText(traceback.join('\n'));
  if (text.trim() !== '') return text;
  return [name || 'Error', value].filter((word) => word !== '').join(': ');
}

export function limitLine(limitMs: number): string {
  return `The script was stopped at its limit of ${limitMs / 1000} s.`;
}

function onNewLine(text: string, piece: string): string {
  return text === '' || text.endsWith('\n') ? text + piece : `${text}\n${piece}`;
}

/** Splits `room` evenly, save that what needs less than its share leaves the rest to the others. */
function fairShares(needs: readonly number[], room: number): number[] {
  const shares = needs.map(() => 0);
  let left = Math.max(0, room);
  const ascending = [...needs.entries()].sort(([, a], [, b]) => a - b);
  for (const [position, [index, need]] of ascending.entries()) {
    const share = Math.min(need, Math.floor(left / (ascending.length - position)));
    shares[index] = share;
    left -= share;
  }
  return shares;
}
