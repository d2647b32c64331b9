import type { ChatTurn } from '../../agent/chat/conversation-state.js';
import { textOf } from '../../parts/content.js';
import { printable } from '../render/printable.js';

/** What a turn began with, on one line. */
export function headline({ kind, prompt }: ChatTurn): string {
  const text = kind === 'python' ? `/run ${prompt[0]?.executableCode?.code ?? ''}` : textOf(prompt);
  return printable(text).replace(/\s+/g, ' ').trim();
}
