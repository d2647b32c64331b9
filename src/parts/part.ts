import { z } from 'zod';

/**
 * Gemini's vocabulary as the API sends it over the wire (camelCase JSON).
 * A part of a kind unknown to us keeps all its fields through everything we do.
 */
export type Outcome =
  'OUTCOME_UNSPECIFIED' | 'OUTCOME_OK' | 'OUTCOME_FAILED' | 'OUTCOME_DEADLINE_EXCEEDED';

export interface ExecutableCode {
  language: 'PYTHON';
  code: string;
  id?: string;
}

export interface CodeExecutionResult {
  outcome: Outcome;
  output: string;
  /** The id of the code it belongs to, where that had one. */
  id?: string;
}

export interface InlineData {
  mimeType: string;
  /** Base64. */
  data: string;
  displayName?: string;
}

export interface FileData {
  mimeType?: string;
  fileUri: string;
  displayName?: string;
}

export interface FunctionCall {
  id?: string;
  name: string;
  args?: Record<string, unknown>;
}

export interface FunctionResponse {
  id?: string;
  name: string;
  response: Record<string, unknown>;
  /** Images and documents of the answer; Gemini 3 and later. */
  parts?: { inlineData?: InlineData }[];
}

export interface Part {
  text?: string;
  thought?: boolean;
  /** Opaque; returned to the API exactly as it came. */
  thoughtSignature?: string;
  executableCode?: ExecutableCode;
  codeExecutionResult?: CodeExecutionResult;
  inlineData?: InlineData;
  fileData?: FileData;
  functionCall?: FunctionCall;
  functionResponse?: FunctionResponse;
  [field: string]: unknown;
}

export type CodePart = Part & { executableCode: ExecutableCode };
export type ResultPart = Part & { codeExecutionResult: CodeExecutionResult };
export type FunctionResponsePart = Part & { functionResponse: FunctionResponse };

export function isCodePart(part: Part): part is CodePart {
  return part.executableCode !== undefined;
}

export function isResultPart(part: Part): part is ResultPart {
  return part.codeExecutionResult !== undefined;
}

/** An enum of the API is an open set; a value unknown to us stays as it came. */
const openEnum = <Known extends string>() =>
  z.custom<Known>((value) => typeof value === 'string', 'expected a string');

const InlineDataSchema = z.looseObject({
  mimeType: z.string().default(''),
  data: z.string().default(''),
  displayName: z.string().exactOptional(),
});

/**
 * A part from outside. Fields unknown to us stay; a text or enum that is absent because it is empty, as the API may
 * send it (proto3 JSON), is filled in where our types need it.
 */
export const PartSchema: z.ZodType<Part> = z.looseObject({
  text: z.string().exactOptional(),
  thought: z.boolean().exactOptional(),
  thoughtSignature: z.string().exactOptional(),
  executableCode: z
    .looseObject({
      language: openEnum<'PYTHON'>().default('PYTHON'),
      code: z.string().default(''),
      id: z.string().exactOptional(),
    })
    .exactOptional(),
  codeExecutionResult: z
    .looseObject({
      outcome: openEnum<Outcome>().default('OUTCOME_UNSPECIFIED'),
      output: z.string().default(''),
      id: z.string().exactOptional(),
    })
    .exactOptional(),
  inlineData: InlineDataSchema.exactOptional(),
  fileData: z
    .looseObject({
      mimeType: z.string().exactOptional(),
      fileUri: z.string().default(''),
      displayName: z.string().exactOptional(),
    })
    .exactOptional(),
  functionCall: z
    .looseObject({
      id: z.string().exactOptional(),
      name: z.string().default(''),
      args: z.record(z.string(), z.unknown()).exactOptional(),
    })
    .exactOptional(),
  functionResponse: z
    .looseObject({
      id: z.string().exactOptional(),
      name: z.string().default(''),
      response: z.record(z.string(), z.unknown()).default({}),
      parts: z
        .array(z.looseObject({ inlineData: InlineDataSchema.exactOptional() }))
        .exactOptional(),
    })
    .exactOptional(),
});
