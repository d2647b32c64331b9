/**
 * Gemini's vocabulary as the API sends it over the wire (camelCase JSON).
 * A part of a kind unknown to us keeps all its fields through everything we do.
 */
export type Outcome =
  | 'OUTCOME_UNSPECIFIED'
  | 'OUTCOME_OK'
  | 'OUTCOME_FAILED'
  | 'OUTCOME_DEADLINE_EXCEEDED';

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
