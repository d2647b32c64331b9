import { writeFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { ConfigError } from '../../errors.js';
import { textOf } from '../../parts/content.js';
import { recordedRunLine } from '../recorded-run.js';
import type { RecordedRun } from '../recorded-run.js';
import { shownContents } from './conversation-state.js';
import type { ConversationState } from './conversation-state.js';

export type SavedConversation = ConversationState & { model: string };

const WRITERS: Readonly<Record<string, (run: RecordedRun) => string>> = {
  '.jsonl': recordedRunLine,
};

/** @throws {ConfigError} `BAD_OPTION` for an ending that is none of ours, or where the file cannot be written. */
export async function saveConversation(path: string, saved: SavedConversation): Promise<void> {
  const ending = extname(path).toLowerCase();
  const writer = WRITERS[ending];
  if (writer === undefined) {
    throw new ConfigError(
      'BAD_OPTION',
      `${path} ends with none of ${Object.keys(WRITERS).join(', ')}, by which the format is chosen.`,
    );
  }
  try {
    await writeFile(path, writer(recordedConversation(saved)));
  } catch (cause) {
    throw new ConfigError(
      'BAD_OPTION',
      `${path} cannot be written: ${String(cause)}. Name another file.`,
      { cause },
    );
  }
}

function recordedConversation({
  id,
  turns,
  model,
  startedAt,
  usage,
}: SavedConversation): RecordedRun {
  const sum = (of: 'steps' | 'executions' | 'durationMs'): number =>
    turns.reduce((total, turn) => total + turn[of], 0);
  return {
    id,
    prompt: textOf(turns.find(({ kind }) => kind === 'prompt')?.prompt ?? []),
    contents: shownContents(turns),
    metadata: {
      ...{ model, startedAt, usage },
      ...{ steps: sum('steps'), executions: sum('executions'), durationMs: sum('durationMs') },
    },
  };
}
