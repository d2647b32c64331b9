import { ModelError } from '../errors.js';
import type { Content } from '../parts/content.js';
import { textOf } from '../parts/content.js';
import { emptyUsage } from '../parts/usage.js';
import type { Usage } from '../parts/usage.js';
import type { RunEvent } from './events.js';
import { describeFinish, judge } from './finish.js';
import type { Verdict } from './finish.js';
import type { Model, ModelEvent, ModelRequest, ModelResponse } from './model.js';
import { prompt } from './prompt.js';

/** How code is handed over: by calls of `execute_code`, by fenced text, or (for the last answer) not at all. */
export type CodeMode = 'call' | 'fenced' | 'none';

export interface AskOptions {
  model: Model;
  mode: CodeMode;
  /** The request in a given mode; asked for again when the mode changes. */
  request: (mode: CodeMode) => ModelRequest;
  /** Counted whether or not a usable response comes. */
  onUsage: (usage: Usage) => void;
}

export type Answer =
  | { kind: 'response'; response: ModelResponse; mode: CodeMode }
  | { kind: 'blocked'; reason: string }
  | { kind: 'none'; reason: string; text: string };

type Remedy = 'again' | 'nudge' | 'correct' | 'fence' | 'shorten' | 'sign';

/** What is tried for an unusable response, in order, before giving up. */
const REMEDIES: Record<Exclude<Verdict, 'usable'>, readonly Remedy[]> = {
  blocked: [],
  account: [],
  empty: ['again', 'again', 'nudge'],
  'bad-call': ['again', 'correct', 'fence'],
  truncated: ['shorten', 'shorten'],
  unsigned: ['sign'],
  unclear: ['again', 'again'],
};

/** Nobody is told to call what is not declared, or may not be called. */
function remedies(verdict: Exclude<Verdict, 'usable'>, mode: CodeMode): readonly Remedy[] {
  const all = REMEDIES[verdict];
  return mode === 'call' ? all : all.filter((each) => each !== 'correct' && each !== 'fence');
}

/** Asks until a response can be used. Nudges go with one request only; the history keeps real turns alone. */
export async function* ask(options: AskOptions): AsyncGenerator<RunEvent, Answer, undefined> {
  const tried = new Map<Verdict, number>();
  let { mode } = options;
  let request = options.request(mode);
  for (let attempt = 2; ; attempt++) {
    const response = yield* generate(options.model, { ...request, onSpent: options.onUsage });
    options.onUsage(response.usage);
    const verdict = judge(response);
    if (verdict === 'usable') return { kind: 'response', response, mode };

    const reason = describeFinish(response);
    const count = tried.get(verdict) ?? 0;
    const remedy = remedies(verdict, mode)[count];
    if (verdict === 'account') throw accountError(options.model, reason);
    if (remedy === undefined) return giveUp(verdict, reason, response);
    tried.set(verdict, count + 1);
    yield { type: 'retry', reason, attempt, delayMs: 0 };
    if (remedy === 'fence') mode = 'fenced';
    request = mend(remedy, options.request(mode), response);
  }
}

/** One request; a refusal for a lost signature is turned into the response that newer models give for it. */
async function* generate(
  model: Model,
  request: ModelRequest,
): AsyncGenerator<ModelEvent, ModelResponse, undefined> {
  try {
    return yield* model.generate(request);
  } catch (error) {
    if (!isMissingSignature(error)) throw error;
    return {
      content: { role: 'model', parts: [] },
      finishReason: 'MISSING_THOUGHT_SIGNATURE',
      usage: emptyUsage(),
    };
  }
}

function mend(remedy: Remedy, request: ModelRequest, response: ModelResponse): ModelRequest {
  switch (remedy) {
    case 'again':
    case 'fence':
      return request;
    case 'nudge':
      return withNote(request, prompt('empty-answer'));
    case 'correct':
      return withNote(
        request,
        prompt('malformed-call', { detail: response.finishMessage ?? response.finishReason }),
      );
    case 'shorten':
      return withNote(request, prompt('truncated'));
    case 'sign':
      return { ...request, contents: signCalls(request.contents) };
  }
}

function withNote(request: ModelRequest, text: string): ModelRequest {
  return { ...request, contents: [...request.contents, { role: 'user', parts: [{ text }] }] };
}

/** Stands in for a signature that was lost (Gemini API, "thought signatures"); used only after the API missed one. */
const SKIP_SIGNATURE = 'skip_thought_signature_validator';

function signCalls(contents: readonly Content[]): Content[] {
  return contents.map((content) => {
    const first = content.parts.findIndex((part) => part.functionCall !== undefined);
    if (content.role !== 'model' || content.parts[first]?.thoughtSignature !== undefined)
      return content;
    const parts = content.parts.map((part, index) =>
      index === first ? { ...part, thoughtSignature: SKIP_SIGNATURE } : part,
    );
    return { ...content, parts };
  });
}

function isMissingSignature(error: unknown): boolean {
  return (
    error instanceof ModelError &&
    error.code === 'INVALID_REQUEST' &&
    /missing a thought_?signature/i.test(error.message)
  );
}

function giveUp(verdict: Verdict, reason: string, response: ModelResponse): Answer {
  if (verdict === 'blocked') return { kind: 'blocked', reason };
  return { kind: 'none', reason, text: textOf(response.content.parts) };
}

function accountError(model: Model, reason: string): ModelError {
  return new ModelError(
    'PERMISSION_DENIED',
    `${model.id} cannot be used with this account. ${reason} Check the project's billing and limits in Google AI Studio.`,
  );
}
