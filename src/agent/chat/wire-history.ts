import type { Content } from '../../parts/content.js';
import type { Part } from '../../parts/part.js';
import { truncate } from '../../parts/truncate.js';
import { prompt } from '../prompt.js';
import type { ChatTurn, ConversationState } from './conversation-state.js';

/** Of an output in short. */
const SHORT_CHARACTERS = 400;

type History = Pick<ConversationState, 'turns' | 'shortenedTurns' | 'summary'>;

/** What the model is sent of a conversation, early turns in short where it would be too long otherwise. */
export function wireHistory({ turns, shortenedTurns, summary }: History): Content[] {
  const past: Content[] =
    summary === undefined
      ? []
      : [
          {
            role: 'user',
            parts: [{ text: prompt('earlier-conversation', { summary: summary.text }) }],
          },
        ];
  for (const [index, turn] of turns.entries()) {
    if (index < (summary?.turns ?? 0)) continue;
    past.push(...(index < shortenedTurns ? shortened(turn) : turn.wire));
  }
  return past;
}

/** A turn with its outputs cut short and what is no text left out; signatures stay, as the parts of the model do. */
function shortened({ wire }: ChatTurn): Content[] {
  return wire.map((content) =>
    content.role === 'model' ? content : { ...content, parts: content.parts.map(shortPart) },
  );
}

function shortPart(part: Part): Part {
  if (part.functionResponse !== undefined) {
    const { parts: _, ...functionResponse } =
      part.functionResponse as typeof part.functionResponse & {
        parts?: unknown;
      };
    const response = Object.fromEntries(
      Object.entries(functionResponse.response).map(([key, value]) => [key, shortValue(value)]),
    );
    return { ...part, functionResponse: { ...functionResponse, response } };
  }
  if (part.inlineData !== undefined) return { text: `[${part.inlineData.mimeType}, left out]` };
  return part.text === undefined
    ? part
    : { ...part, text: truncate(part.text, SHORT_CHARACTERS * 5) };
}

function shortValue(value: unknown): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
  return text.length <= SHORT_CHARACTERS ? value : truncate(text, SHORT_CHARACTERS);
}
