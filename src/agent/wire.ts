import { codePartOfCall, EXECUTE_CODE } from '../parts/code-part.js';
import type { Content } from '../parts/content.js';
import type { Part } from '../parts/part.js';
import type { CodeMode } from './ask.js';
import { prompt } from './prompt.js';

/**
 * A model's content as it goes back to the API: as it came, with two exceptions. Native code parts, which the API takes
 * only with its own code tool declared, become fenced text; calls in a last answer, which nobody answers, are left out.
 */
export function wireContent(content: Content, mode: CodeMode): Content {
  const parts = content.parts
    .filter((part) => mode !== 'none' || part.functionCall === undefined)
    .map(withoutNativeCode);
  return { ...content, parts };
}

function withoutNativeCode(part: Part): Part {
  const { executableCode, codeExecutionResult, ...rest } = part;
  if (executableCode !== undefined) return { ...rest, text: fence('python', executableCode.code) };
  if (codeExecutionResult !== undefined)
    return { ...rest, text: fence('', codeExecutionResult.output) };
  return part;
}

/**
 * A content for a request that declares no `execute_code`: calls of it and their answers as the text they would have been,
 * so that what was done stays known and nobody is shown a way that is closed.
 */
export function withoutCalls(content: Content): Content {
  if (!content.parts.some(isExecuteCode)) return content;
  return { ...content, parts: content.parts.map(callAsText) };
}

function isExecuteCode({ functionCall, functionResponse }: Part): boolean {
  return (functionCall ?? functionResponse)?.name === EXECUTE_CODE;
}

function callAsText(part: Part): Part {
  const code = codePartOfCall(part);
  if (code !== undefined) return { text: fence('python', code.executableCode.code) };
  if (part.functionResponse?.name !== EXECUTE_CODE)
    return part.functionCall?.name === EXECUTE_CODE ? { text: fence('python', '') } : part;
  const { output, error } = part.functionResponse.response;
  const outcome = typeof error === 'string' ? error : 'OUTCOME_OK';
  return fencedResult({ outcome, output: typeof output === 'string' ? output : '' });
}

/** A result for a script that came as text. */
export function fencedResult({ outcome, output }: { outcome: string; output: string }): Part {
  return { text: prompt('fenced-result', { outcome, output }) };
}

function fence(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}

const FENCE =
  /^[ \t]*```(?:python3?|py|tool_code)[ \t]*\r?\n([\s\S]*?)(?:\r?\n[ \t]*```|(?:\r?\n)?(?![\s\S]))/im;

/** The first fenced Python block of a text part that is no thought, with the text before it; the last may be open. */
export function firstFence(part: Part): { before: string; code: string } | undefined {
  if (part.text === undefined || part.thought === true) return undefined;
  const match = FENCE.exec(part.text);
  if (match === null) return undefined;
  return { before: part.text.slice(0, match.index).trimEnd(), code: match[1] ?? '' };
}
