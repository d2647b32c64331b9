import type { Content } from '../../parts/content.js';
import type { Part } from '../../parts/part.js';
import { addUsage, emptyUsage } from '../../parts/usage.js';
import type { Usage } from '../../parts/usage.js';
import { PrintedOutput } from '../printed-output.js';
import type { ConversationLine, TurnStatus } from './conversation-line.js';

/** One exchange: a prompt with all that came of it, or Python that the user ran. */
export interface ChatTurn {
  kind: 'prompt' | 'python';
  /** RFC 3339. */
  startedAt: string;
  /** What the user said; for Python its code. */
  prompt: Part[];
  /** Text, code, results and images in the order in which they happened. */
  shown: Part[];
  /** What the model is sent of it; empty where nothing may be sent, as for a prompt that was blocked. */
  wire: Content[];
  /** `open` while it goes on, and where the process ended in the middle of it. */
  status: TurnStatus | 'open';
  /** Why there is no answer, for people. */
  reason?: string;
  usage: Usage;
  steps: number;
  executions: number;
  durationMs: number;
}

export interface ConversationState {
  id: string;
  startedAt: string;
  turns: ChatTurn[];
  /** Paths of the attached files. */
  files: string[];
  /** Of everything, turns taken back included. */
  usage: Usage;
  /** So many first turns go to the model with their outputs in short. */
  shortenedTurns: number;
  summary: { turns: number; text: string } | undefined;
  /** What the scripts of the open turn have printed, by id. */
  printed: Map<string, PrintedOutput>;
}

export function emptyState(): ConversationState {
  return {
    id: '',
    startedAt: '',
    turns: [],
    files: [],
    usage: emptyUsage(),
    shortenedTurns: 0,
    summary: undefined,
    printed: new Map(),
  };
}

/** Brings the state forward by one line; a line that fits nowhere, since others are missing, does nothing. */
export function applyLine(state: ConversationState, line: ConversationLine): void {
  const turn = state.turns.at(-1);
  switch (line.type) {
    case 'conversation':
      state.id = line.id;
      state.startedAt = line.startedAt;
      return;
    case 'file':
      if (!state.files.includes(line.path)) state.files.push(line.path);
      return;
    case 'turn':
      state.printed.clear();
      state.turns.push(newTurn(line));
      return;
    case 'progress':
      turn?.wire.splice(line.from, Infinity, ...line.wire);
      turn?.shown.push(...line.shown);
      return;
    case 'output': {
      const printed = state.printed.get(line.id) ?? new PrintedOutput();
      printed.add(line);
      state.printed.set(line.id, printed);
      return;
    }
    case 'turn-end': {
      const { type: _, ...ending } = line;
      if (turn === undefined) return;
      Object.assign(turn, ending);
      state.usage = addUsage(state.usage, line.usage);
      return;
    }
    case 'undo':
      state.turns.pop();
      if (state.turns.length < (state.summary?.turns ?? 0)) state.summary = undefined;
      state.shortenedTurns = Math.min(state.shortenedTurns, state.turns.length);
      return;
    case 'reset':
      Object.assign(state, { turns: [], shortenedTurns: 0, summary: undefined });
      return;
    case 'shortened':
      state.shortenedTurns = line.turns;
      return;
    case 'summary':
      state.summary = { turns: line.turns, text: line.text };
      state.usage = addUsage(state.usage, line.usage);
  }
}

function newTurn({
  kind,
  startedAt,
  prompt,
}: Extract<ConversationLine, { type: 'turn' }>): ChatTurn {
  return {
    kind,
    startedAt,
    prompt,
    shown: [],
    wire: [],
    status: 'open',
    usage: emptyUsage(),
    steps: 0,
    executions: 0,
    durationMs: 0,
  };
}

/** The conversation as people are shown it: a user content, then a model content, for each turn. */
export function shownContents(turns: readonly ChatTurn[]): Content[] {
  return turns.flatMap<Content>(({ kind, prompt, shown }) =>
    kind === 'python'
      ? [{ role: 'user', parts: [...prompt, ...shown] }]
      : [
          { role: 'user', parts: prompt },
          { role: 'model', parts: shown },
        ],
  );
}
