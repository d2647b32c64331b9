import type { Content } from '../../src/parts/content.js';
import type { Part } from '../../src/parts/part.js';
import { status } from './gemini-replies.js';
import type { HttpReply } from './gemini-replies.js';

export interface RequestBody {
  contents: Content[];
  systemInstruction?: Content;
  tools?: {
    functionDeclarations?: { name: string; description?: string; parametersJsonSchema?: unknown }[];
    codeExecution?: object;
  }[];
  toolConfig?: { functionCallingConfig?: { mode?: string } };
  generationConfig?: Record<string, unknown>;
}

export interface Rules {
  /** Kinds of part the API is to know beside those of today. */
  extraPartFields: readonly string[];
  /** Signatures the server sent, by what they belong to. */
  signatures: ReadonlyMap<string, string>;
}

const BODY_FIELDS = [
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'safetySettings',
  'cachedContent',
];

const PART_FIELDS = [
  'text',
  'thought',
  'thoughtSignature',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
  'inlineData',
  'fileData',
  'videoMetadata',
  'mediaResolution',
  'partMetadata',
];

const FIELDS_OF_KIND: Record<string, string[]> = {
  functionCall: ['id', 'name', 'args'],
  functionResponse: ['id', 'name', 'response', 'parts', 'scheduling', 'willContinue'],
  inlineData: ['mimeType', 'data', 'displayName'],
  fileData: ['mimeType', 'fileUri', 'displayName'],
  executableCode: ['id', 'language', 'code'],
  codeExecutionResult: ['id', 'outcome', 'output'],
};

/** The refusal the API would give for this request, in its words; undefined where it would answer. */
export function refusalOf(body: RequestBody, rules: Rules): HttpReply | undefined {
  const reason =
    unknownField(body, rules) ??
    badContents(body) ??
    nativeCodeWithoutTool(body) ??
    unansweredCalls(body.contents) ??
    lostSignature(body.contents, rules);
  return reason === undefined ? undefined : status(400, { message: reason });
}

/** Under which the signature of a part that was sent is remembered. */
export function signatureKey(part: Part): string | undefined {
  return part.functionCall === undefined ? undefined : JSON.stringify(part.functionCall);
}

/** Where the current turn begins: the last user content that is more than answers to calls. */
export function turnStart(contents: readonly Content[]): number {
  return contents.findLastIndex(
    ({ role, parts }) =>
      role === 'user' && parts.some((part) => part.functionResponse === undefined),
  );
}

function unknownField(body: RequestBody, { extraPartFields }: Rules): string | undefined {
  const stray = Object.keys(body).find((key) => !BODY_FIELDS.includes(key));
  if (stray !== undefined) return cannotFind(stray, '');
  for (const [contentIndex, content] of body.contents.entries()) {
    for (const [partIndex, part] of content.parts.entries()) {
      const place = `contents[${contentIndex}].parts[${partIndex}]`;
      const known = [...PART_FIELDS, ...extraPartFields];
      const field = Object.keys(part).find((key) => !known.includes(key));
      if (field !== undefined) return cannotFind(field, place);
      for (const [kind, fields] of Object.entries(FIELDS_OF_KIND)) {
        const inner = Object.keys(part[kind] ?? {}).find((key) => !fields.includes(key));
        if (inner !== undefined) return cannotFind(inner, `${place}.${kind}`);
      }
    }
  }
  return undefined;
}

function cannotFind(name: string, place: string): string {
  const at = place === '' ? '' : ` at '${place}'`;
  return `Invalid JSON payload received. Unknown name "${name}"${at}: Cannot find field.`;
}

function badContents({ contents }: RequestBody): string | undefined {
  if (contents.length === 0)
    return '* GenerateContentRequest.contents: contents is not specified\n';
  for (const [index, { role, parts }] of contents.entries()) {
    if (!['user', 'model'].includes(role)) return 'Please use a valid role: user, model.';
    if (parts.length === 0) {
      return `* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.\n`;
    }
    const bare = parts.findIndex((part) => dataOf(part) === 0);
    if (bare !== -1) {
      return `* GenerateContentRequest.contents[${index}].parts[${bare}].data: required oneof field 'data' must have one initialized field\n`;
    }
    const double = parts.findIndex((part) => dataOf(part) > 1);
    if (double !== -1) {
      return `Invalid value at 'contents[${index}].parts[${double}]' (oneof), oneof field 'data' is already set.`;
    }
  }
  if (contents.at(-1)?.role !== 'user') {
    return 'Please ensure that multiturn requests end with a user role or a function response.';
  }
  return undefined;
}

/** How many kinds of content a part holds; the API wants one. */
function dataOf(part: Part): number {
  const beside = [
    'thought',
    'thoughtSignature',
    'videoMetadata',
    'mediaResolution',
    'partMetadata',
  ];
  return Object.keys(part).filter((key) => !beside.includes(key)).length;
}

function nativeCodeWithoutTool({ contents, tools = [] }: RequestBody): string | undefined {
  if (tools.some(({ codeExecution }) => codeExecution !== undefined)) return undefined;
  const isNative = ({ executableCode, codeExecutionResult }: Part): boolean =>
    executableCode !== undefined || codeExecutionResult !== undefined;
  return contents.some(({ parts }) => parts.some(isNative))
    ? 'Code execution is not enabled for this request.'
    : undefined;
}

function unansweredCalls(contents: readonly Content[]): string | undefined {
  for (const [index, content] of contents.entries()) {
    const calls = content.parts.flatMap((part) => part.functionCall ?? []);
    const answers = contents[index + 1]?.parts.flatMap((part) => part.functionResponse ?? []) ?? [];
    const stray = content.parts.some((part) => part.functionResponse !== undefined);
    const before = contents[index - 1]?.parts.some((part) => part.functionCall !== undefined);
    if (stray && (content.role !== 'user' || before !== true)) {
      return 'Please ensure that function response turn comes immediately after a function call turn.';
    }
    if (calls.length > 0 && calls.length !== answers.length) {
      return 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';
    }
    for (const [position, { id, name }] of calls.entries()) {
      const answer = answers[position];
      if (answer?.name !== name || answer.id !== id) {
        return `Function response ${position + 1} does not match the function call "${name}" (${id ?? 'no id'}).`;
      }
    }
  }
  return undefined;
}

function lostSignature(contents: readonly Content[], { signatures }: Rules): string | undefined {
  for (const [index, { parts }] of contents.entries()) {
    if (index < turnStart(contents)) continue;
    const first = parts.findIndex((part) => part.functionCall !== undefined);
    const part = parts[first];
    const sent = part && signatures.get(signatureKey(part) ?? '');
    if (
      part === undefined ||
      sent === undefined ||
      STAND_INS.includes(part.thoughtSignature ?? '')
    ) {
      continue;
    }
    if (part.thoughtSignature === undefined) {
      const name = part.functionCall?.name ?? '';
      return (
        'Function call is missing a thought_signature in functionCall parts. This is required for tools to work ' +
        `correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\`, position ${index + 1}. ` +
        'Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.'
      );
    }
    if (part.thoughtSignature !== sent) return 'Corrupted thought signature.';
  }
  return undefined;
}

/** Documented values that switch the check off. */
const STAND_INS = ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go'];
