import type { Content } from '../parts/content.js';
import type { CodeMode } from './ask.js';
import type { FunctionTable } from './caller-function.js';
import { executeCodeDeclaration } from './execute-code.js';
import type { FunctionDeclaration, ModelRequest } from './model.js';
import { prompt } from './prompt.js';
import { withoutCalls } from './wire.js';

/** What the model should know of the place where its scripts run. */
export interface SandboxFacts {
  /** A sentence on the Python and its libraries. */
  python: string;
  /** A sentence on network access. */
  network: string;
  /** Attached files, one description a file. */
  files: readonly string[];
}

interface RequestParts {
  history: readonly Content[];
  turn: readonly Content[];
  functions: FunctionTable;
  facts: SandboxFacts;
  signal: AbortSignal;
}

/** The next request of a run; with a `limit` it asks for an answer without code. */
export function modelRequest(run: RequestParts, mode: CodeMode, limit?: string): ModelRequest {
  const past = [...run.history, ...run.turn];
  const contents = mode === 'fenced' ? past.map(withoutCalls) : past;
  if (limit !== undefined) {
    contents.push({ role: 'user', parts: [{ text: prompt('last-step', { reason: limit }) }] });
  }
  return {
    contents,
    systemInstruction: systemInstruction(run.facts, mode),
    functions: declarations(run.functions, mode),
    functionCalling: mode === 'none' ? 'none' : 'auto',
    signal: run.signal,
  };
}

function systemInstruction(facts: SandboxFacts, mode: CodeMode): string {
  const files =
    facts.files.length === 0
      ? ''
      : prompt('files', { list: facts.files.map((file) => `- ${file}`).join('\n') });
  const name = mode === 'fenced' ? 'system-fenced' : 'system';
  return prompt(name, { python: facts.python, network: facts.network, files }).trimEnd();
}

function declarations(functions: FunctionTable, mode: CodeMode): FunctionDeclaration[] {
  return mode === 'fenced'
    ? functions.declarations
    : [executeCodeDeclaration(), ...functions.declarations];
}
