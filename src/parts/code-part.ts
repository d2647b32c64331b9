import { isCodePart, isResultPart } from './part.js';
import type { CodePart, Part, ResultPart } from './part.js';

/** The declared function by which a model hands over a script. */
export const EXECUTE_CODE = 'execute_code';

export function codePart(code: string, options: { id?: string } = {}): CodePart {
  const { id } = options;
  return { executableCode: { language: 'PYTHON', code, ...(id === undefined ? {} : { id }) } };
}

/**
 * A call of `execute_code` as the code it hands over: `functionCall{id, args.code}` becomes `executableCode{id, code}`,
 * all else in the part (its signature) stays. Undefined where the part is no such call or its `code` is no text.
 */
export function codePartOfCall(part: Part): CodePart | undefined {
  const { functionCall, ...rest } = part;
  if (functionCall?.name !== EXECUTE_CODE) return undefined;
  const code = functionCall.args?.['code'];
  if (typeof code !== 'string') return undefined;
  return { ...rest, ...codePart(code, functionCall) };
}

/** A piece of code and all that came back from it. */
export interface PairedExecution {
  /** Position of `code` among the parts. */
  index: number;
  code: CodePart;
  /** Every result, in order; empty where the code never ran. */
  results: ResultPart[];
  /** Charts: the `inlineData` parts right after a result. */
  images: Part[];
}

export interface PairedParts {
  executions: PairedExecution[];
  /** Results that belong to no code, with their positions. */
  unpaired: { index: number; result: ResultPart }[];
}

/**
 * Finds the results of each piece of code. A result with an id belongs to the last code before it with that id; one
 * without, or whose code has none, to the last code before it.
 */
export function pairExecutions(parts: readonly Part[]): PairedParts {
  const executions: PairedExecution[] = [];
  const unpaired: PairedParts['unpaired'] = [];
  const byId = new Map<string, PairedExecution>();
  let owner: PairedExecution | undefined;
  for (const [index, part] of parts.entries()) {
    if (isCodePart(part)) {
      const execution: PairedExecution = { index, code: part, results: [], images: [] };
      executions.push(execution);
      if (part.executableCode.id !== undefined) byId.set(part.executableCode.id, execution);
      owner = undefined;
    } else if (isResultPart(part)) {
      owner = ownerOf(part, byId, executions.at(-1));
      if (owner === undefined) unpaired.push({ index, result: part });
      else owner.results.push(part);
    } else if (part.inlineData !== undefined) {
      owner?.images.push(part);
    } else {
      owner = undefined;
    }
  }
  return { executions, unpaired };
}

function ownerOf(
  part: ResultPart,
  byId: ReadonlyMap<string, PairedExecution>,
  last: PairedExecution | undefined,
): PairedExecution | undefined {
  const { id } = part.codeExecutionResult;
  if (id === undefined) return last;
  return byId.get(id) ?? (last?.code.executableCode.id === undefined ? last : undefined);
}
