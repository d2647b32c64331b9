import { codePart, codePartOfCall, pairExecutions } from '../parts/code-part.js';
import { isCodePart } from '../parts/part.js';
import type {
  CodeExecutionResult,
  CodePart,
  FunctionCall,
  FunctionResponse,
  InlineData,
  Part,
} from '../parts/part.js';
import { abortable } from '../abort.js';
import { InternalError } from '../errors.js';
import { functionResponsePart } from '../parts/result-part.js';
import type { CodeMode } from './ask.js';
import type { RunEvent } from './events.js';
import { runScript } from './run-script.js';
import type { ScriptEnd } from './run-script.js';
import type { Run } from './run-state.js';
import { fencedResult, firstFence } from './wire.js';

/** What a response asks for, in order. */
type Item =
  | { kind: 'shown'; part: Part }
  | {
      kind: 'script';
      part: Part;
      id: string;
      code: string;
      answer: (result: CodeExecutionResult, images: readonly InlineData[]) => Part[];
    }
  | { kind: 'function'; part: Part; call: FunctionCall };

/**
 * Does what a response asks for and writes down what happened: scripts one after another, the caller's functions between
 * two scripts all at once. `answer` gets what the model is told, in call order; nothing where nothing was asked for.
 */
export async function* performCalls(
  run: Run,
  parts: readonly Part[],
  mode: CodeMode,
  answer: (part: Part) => void,
): AsyncGenerator<RunEvent, void, undefined> {
  const items = readItems(parts, mode, `step-${run.steps}`);
  const responses = new Map<Item, Promise<FunctionResponse>>();
  /** Behind all answers: the API counts those that follow the calls. */
  const beside: Part[] = [];
  for (const [index, item] of items.entries()) {
    run.signal.throwIfAborted();
    switch (item.kind) {
      case 'shown':
        run.transcript.push(item.part);
        break;
      case 'script': {
        run.transcript.push(item.part);
        const { result, shown, attached } = yield* perform(run, item);
        run.transcript.push({ codeExecutionResult: result }, ...asParts(shown));
        const isBeside = run.model.images === 'beside';
        item.answer(result, isBeside ? [] : attached).forEach(answer);
        if (isBeside) beside.push(...asParts(attached));
        break;
      }
      case 'function': {
        startFunctions(run, items.slice(index), responses);
        run.transcript.push(item.part);
        yield { type: 'function-call', call: item.call };
        const functionResponse = await startedResponse(responses, item);
        yield { type: 'function-response', response: functionResponse };
        run.transcript.push({ functionResponse });
        answer({ functionResponse });
        break;
      }
    }
  }
  beside.forEach(answer);
}

function asParts(images: readonly InlineData[]): Part[] {
  return images.map((inlineData) => ({ inlineData }));
}

async function* perform(
  run: Run,
  { id, code }: Extract<Item, { kind: 'script' }>,
): AsyncGenerator<RunEvent, ScriptEnd, undefined> {
  const end = yield* runScript(run, { id, code });
  run.executions += 1;
  run.failures.add(code, end.result);
  return end;
}

/** Starts the functions that come before the next script, those not yet started. */
function startFunctions(
  run: Run,
  items: readonly Item[],
  responses: Map<Item, Promise<FunctionResponse>>,
): void {
  for (const item of items) {
    if (item.kind === 'script') return;
    if (item.kind === 'shown' || responses.has(item)) continue;
    const response = abortable(run.functions.call(item.call, run.signal), run.signal);
    // Awaited in its turn; until then a cancelled run must not count it as unhandled.
    response.catch(() => undefined);
    responses.set(item, response);
  }
}

function startedResponse(
  responses: ReadonlyMap<Item, Promise<FunctionResponse>>,
  item: Item,
): Promise<FunctionResponse> {
  const response = responses.get(item);
  if (response === undefined)
    throw new InternalError('A function was answered before it was called.');
  return response;
}

function readItems(parts: readonly Part[], mode: CodeMode, prefix: string): Item[] {
  const items: Item[] = [];
  const unrun = codeWithoutResult(parts);
  let fenceSeen = false;
  for (const part of parts) {
    const isCall = part.functionCall !== undefined || unrun.has(part);
    if (isCall && mode === 'none') continue;
    const id = part.functionCall?.id ?? part.executableCode?.id ?? `${prefix}-${items.length + 1}`;
    const fence = mode === 'fenced' && !fenceSeen ? firstFence(part) : undefined;
    if (part.functionCall !== undefined) {
      items.push(callItem(part, part.functionCall, id));
    } else if (isCodePart(part) && isCall) {
      items.push(textualItem(part, id));
    } else if (fence !== undefined) {
      fenceSeen = true;
      if (fence.before !== '') items.push({ kind: 'shown', part: { text: fence.before } });
      items.push(textualItem(codePart(fence.code), id));
    } else if (part.text !== '') {
      items.push({ kind: 'shown', part });
    }
  }
  return items;
}

/** Code that a model handed over as such; where a result stands with it, the model's service has run it. */
function codeWithoutResult(parts: readonly Part[]): ReadonlySet<Part> {
  const executions = pairExecutions(parts).executions.filter(({ results }) => results.length === 0);
  return new Set(executions.map(({ code }) => code));
}

function callItem(part: Part, call: FunctionCall, id: string): Item {
  const code = codePartOfCall(part);
  if (code === undefined) return { kind: 'function', part, call };
  return scriptItem(code, id, (result, images) => [functionResponsePart(result, call, images)]);
}

/** A script that came without a call is answered in text. */
function textualItem(code: CodePart, id: string): Item {
  return scriptItem(code, id, (result, images) => [fencedResult(result), ...asParts(images)]);
}

function scriptItem(
  part: CodePart,
  id: string,
  answer: (result: CodeExecutionResult, images: readonly InlineData[]) => Part[],
): Item {
  const executableCode = { ...part.executableCode, id };
  return {
    kind: 'script',
    part: { ...part, executableCode },
    id,
    code: executableCode.code,
    answer,
  };
}
