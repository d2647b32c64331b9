import { SandboxError } from '../errors.js';
import type { Content } from '../parts/content.js';
import type { Part } from '../parts/part.js';
import type { AttachedFile } from './attached-file.js';
import type { ResultFile, RunEvent, SolveResult } from './events.js';
import { run } from './loop.js';
import { solveResult } from './recorded-result.js';
import type { RunSession } from './run-session.js';
import type { TurnRecord } from './run-state.js';
import type { Workshop } from './workshop.js';

export interface TurnOptions {
  prompt: readonly Part[];
  /** The conversation before, in wire form. */
  history: Content[];
  session: RunSession;
  files: readonly AttachedFile[];
  signal: AbortSignal;
  record?: TurnRecord;
}

/** One turn in a session that is there, from the prompt to the files of the result; `run-end` is the last event. */
export async function* turnEvents(
  workshop: Workshop,
  { session, files: attached, signal, ...options }: TurnOptions,
): AsyncGenerator<RunEvent, SolveResult, undefined> {
  const startedAt = new Date();
  const started = performance.now();
  const { model, functions, facts, limits } = workshop;
  const outcome = yield* run({
    ...options,
    ...limits,
    model,
    functions,
    sessions: session,
    facts: {
      ...facts,
      files: attached.map(({ name, sizeBytes }) => `${name} (${sizeBytes} bytes)`),
    },
    signal,
  });
  const files = outcome.executions === 0 ? [] : yield* filesMade(session, signal);
  const durationMs = Math.round(performance.now() - started);
  const result = solveResult(
    { ...outcome, files, durationMs },
    { model: model.id, runtime: workshop.runtime(), startedAt, files: attached },
  );
  yield { type: 'run-end', ...result };
  return result;
}

/** An answer is not lost because the sandbox is. */
async function* filesMade(
  session: RunSession,
  signal: AbortSignal,
): AsyncGenerator<RunEvent, ResultFile[], undefined> {
  try {
    return await session.filesMade(signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SandboxError)) throw error;
    yield { type: 'notice', text: `What the scripts made could not be fetched. ${error.message}` };
    return [];
  }
}
