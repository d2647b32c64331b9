import { pairExecutions } from './code-part.js';
import type { Content } from './content.js';
import type {
  CodeExecutionResult,
  FileData,
  FunctionCall,
  FunctionResponse,
  InlineData,
  Part,
} from './part.js';

/** A run or conversation as it is written down; a recorded run is one. */
export interface Transcript {
  prompt: string;
  contents: readonly Content[];
  /** See `RunDetails`; fields unknown to us are left alone. */
  metadata?: Readonly<Record<string, unknown>>;
}

type Role = Content['role'];

/** What a reader sees of a transcript, one piece after another. */
export type TranscriptPiece =
  | { kind: 'text'; role: Role; text: string }
  /** `result` is absent where the script never ran. */
  | { kind: 'script'; code: string; result?: CodeExecutionResult; images: InlineData[] }
  /** A result that belongs to no script. */
  | { kind: 'result'; result: CodeExecutionResult }
  | { kind: 'data'; role: Role; data: InlineData }
  | { kind: 'file'; role: Role; file: FileData }
  | { kind: 'call'; call: FunctionCall }
  | { kind: 'response'; response: FunctionResponse }
  /** A kind of part unknown to us. */
  | { kind: 'other'; part: Part };

/** Thoughts and signatures are left out, texts that follow each other joined, scripts told with what came of them. */
export function transcriptPieces(contents: readonly Content[]): TranscriptPiece[] {
  const entries = contents.flatMap(({ role, parts }) => parts.map((part) => ({ role, part })));
  const { executions, unpaired } = pairExecutions(entries.map(({ part }) => part));
  const scripts = new Map(executions.map((execution) => [execution.code as Part, execution]));
  const lone = new Set<Part>(unpaired.map(({ result }) => result));
  const told = new Set<Part>(executions.flatMap(({ results, images }) => [...results, ...images]));
  const pieces: TranscriptPiece[] = [];
  for (const { role, part } of entries) {
    if (part.thought === true || told.has(part)) continue;
    const script = scripts.get(part);
    if (script !== undefined) {
      const result = joinedResult(script.results.map((each) => each.codeExecutionResult));
      const images = script.images.flatMap(({ inlineData }) => inlineData ?? []);
      const { code } = script.code.executableCode;
      pieces.push({ kind: 'script', code, ...(result !== undefined && { result }), images });
    } else if (part.codeExecutionResult !== undefined && lone.has(part)) {
      pieces.push({ kind: 'result', result: part.codeExecutionResult });
    } else {
      add(pieces, role, part);
    }
  }
  return pieces;
}

/** Several results of one script are its output in pieces; the last one says how it ended. */
export function joinedResult(
  results: readonly CodeExecutionResult[],
): CodeExecutionResult | undefined {
  const last = results.at(-1);
  if (last === undefined || results.length === 1) return last;
  return { outcome: last.outcome, output: results.map(({ output }) => output).join('\n') };
}

function add(pieces: TranscriptPiece[], role: Role, part: Part): void {
  const { text, inlineData, fileData, functionCall, functionResponse } = part;
  if (text !== undefined) {
    const last = pieces.at(-1);
    if (last?.kind === 'text' && last.role === role) last.text += text;
    else if (text !== '') pieces.push({ kind: 'text', role, text });
  } else if (inlineData !== undefined) {
    pieces.push({ kind: 'data', role, data: inlineData });
  } else if (fileData !== undefined) {
    pieces.push({ kind: 'file', role, file: fileData });
  } else if (functionCall !== undefined) {
    pieces.push({ kind: 'call', call: functionCall });
  } else if (functionResponse !== undefined) {
    pieces.push({ kind: 'response', response: functionResponse });
  } else {
    const { thoughtSignature, ...rest } = part;
    if (Object.keys(rest).length > 0) pieces.push({ kind: 'other', part: rest });
  }
}
