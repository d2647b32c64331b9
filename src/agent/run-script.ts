import { SandboxError } from '../errors.js';
import type { CodeExecutionResult } from '../parts/part.js';
import { resultPart } from '../parts/result-part.js';
import type { ExecutionResult } from '../sandbox/execution.js';
import type { RunEvent } from './events.js';
import { prompt } from './prompt.js';
import type { SessionSource } from './session-source.js';
import { streamed } from './streamed.js';

export interface ScriptOptions {
  id: string;
  code: string;
  sessions: SessionSource;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Runs one script, showing its output as it appears. A lost session is a failed result, with a fresh one in place. */
export async function* runScript(
  options: ScriptOptions,
): AsyncGenerator<RunEvent, CodeExecutionResult, undefined> {
  const { id, code, sessions, timeoutMs, signal } = options;
  const session = await sessions.current(signal);
  yield { type: 'code', id, code };
  const startedAt = performance.now();
  let result: CodeExecutionResult;
  try {
    const execution = yield* streamed<RunEvent, ExecutionResult>(
      (emit, stop) =>
        session.execute(code, {
          signal: stop,
          timeoutMs,
          onOutput: (chunk) => {
            emit({ type: 'output', id, ...chunk });
          },
        }),
      signal,
    );
    result = resultPart(execution, { id }).codeExecutionResult;
  } catch (error) {
    if (!isLost(error)) throw error;
    yield { type: 'notice', text: `${error.message} Opening a fresh session.` };
    await sessions.replace(signal);
    result = {
      id,
      outcome: 'OUTCOME_FAILED',
      output: prompt('session-lost', { detail: error.message }),
    };
  }
  yield { type: 'code-result', id, result, durationMs: performance.now() - startedAt };
  return result;
}

function isLost(error: unknown): error is SandboxError {
  return (
    error instanceof SandboxError &&
    (error.code === 'SESSION_LOST' || error.code === 'RUNTIME_LOST')
  );
}
