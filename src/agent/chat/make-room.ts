import type { Content } from '../../parts/content.js';
import { textOf } from '../../parts/content.js';
import { addUsage, emptyUsage } from '../../parts/usage.js';
import type { Usage } from '../../parts/usage.js';
import { ask } from '../ask.js';
import type { FunctionTable } from '../caller-function.js';
import { endOf } from '../end-of.js';
import { executeCodeDeclaration } from '../execute-code.js';
import type { Model } from '../model.js';
import { prompt } from '../prompt.js';
import type { ConversationLine } from './conversation-line.js';
import type { ConversationState } from './conversation-state.js';
import { estimateTokens } from './token-estimate.js';
import { wireHistory } from './wire-history.js';

/** The last turns go to the model whole: what is being talked about is in them. */
const WHOLE_TURNS = 2;

export interface RoomOptions {
  model: Model;
  functions: FunctionTable;
  state: ConversationState;
  /** Tokens that the conversation may take. */
  limitTokens: number;
  signal: AbortSignal;
}

/**
 * What to do so that the next request fits: outputs of early turns in short first, then early turns as a summary, which
 * costs a request. Each comes with a notice for the user; nothing comes where there is room.
 */
export async function* makeRoom({
  model,
  functions,
  state,
  limitTokens,
  signal,
}: RoomOptions): AsyncGenerator<{ line: ConversationLine; notice: string }, void, undefined> {
  const isTooLong = (shortenedTurns: number): boolean =>
    estimateTokens(wireHistory({ ...state, shortenedTurns })) > limitTokens;
  if (!isTooLong(state.shortenedTurns)) return;

  const old = state.turns.length - WHOLE_TURNS;
  let turns = state.shortenedTurns;
  while (turns < old && isTooLong(turns)) turns += 1;
  if (turns > state.shortenedTurns) {
    yield {
      line: { type: 'shortened', turns },
      notice: `The conversation has grown long: from now on the model sees outputs of its first ${turns} turns in short. Yours is whole.`,
    };
  }
  const done = state.summary?.turns ?? 0;
  if (!isTooLong(turns) || old <= done) return;
  const { text, usage } = await summarise(
    { model, functions, signal },
    wireHistory(firstTurns(state, old)),
  );
  yield {
    line: { type: 'summary', turns: old, text, usage },
    notice: `The conversation has grown long: from now on the model sees its first ${old} turns as a summary. Yours is whole.`,
  };
}

function firstTurns(state: ConversationState, count: number) {
  return { ...state, turns: state.turns.slice(0, count), shortenedTurns: count };
}

/** @throws {ModelError} where the model cannot be asked. */
async function summarise(
  { model, functions, signal }: Pick<RoomOptions, 'model' | 'functions' | 'signal'>,
  contents: readonly Content[],
): Promise<{ text: string; usage: Usage }> {
  let usage = emptyUsage();
  const events = ask({
    model,
    mode: 'none',
    request: () => ({
      contents: [...contents, { role: 'user', parts: [{ text: prompt('summarise') }] }],
      systemInstruction: prompt('summarise'),
      functions: [executeCodeDeclaration(), ...functions.declarations],
      functionCalling: 'none',
      signal,
    }),
    onUsage: (more) => {
      usage = addUsage(usage, more);
    },
  });
  const end = await endOf(events);
  const text = end.kind === 'response' ? textOf(end.response.content.parts) : '';
  // Where the model will not summarise, what happened is told by the turns that follow.
  return { text: text || 'No summary could be made.', usage };
}
