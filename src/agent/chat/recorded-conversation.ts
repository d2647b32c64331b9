import { ConfigError } from '../../errors.js';
import { textOf } from '../../parts/content.js';
import { packageVersion } from '../../package-version.js';
import type { RecordedRun } from '../recorded-run.js';
import { shownContents } from './conversation-state.js';
import type { ConversationState } from './conversation-state.js';

/** A conversation as a recorded run; its prompt is the first one. @throws {ConfigError} where nothing was said yet. */
export function recordedConversation(
  { id, turns, startedAt, usage }: ConversationState,
  { model, runtime }: { model: string; runtime: string | undefined },
): RecordedRun {
  const [first] = turns;
  if (first === undefined) {
    throw new ConfigError('BAD_OPTION', 'There is nothing to save yet. Say something first.');
  }
  const sum = (of: 'steps' | 'executions' | 'durationMs'): number =>
    turns.reduce((total, turn) => total + turn[of], 0);
  return {
    id,
    prompt: textOf((turns.find(({ kind }) => kind === 'prompt') ?? first).prompt),
    contents: shownContents(turns),
    metadata: {
      ...{ model, startedAt, usage },
      ...(runtime !== undefined && { runtime }),
      ...{ steps: sum('steps'), executions: sum('executions'), durationMs: sum('durationMs') },
      versions: { 'colab-solver': packageVersion(), node: process.versions.node },
    },
  };
}
