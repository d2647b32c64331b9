import { SandboxError } from '../errors.js';
import type { CodeExecutionResult } from '../parts/part.js';
import { DEFAULT_MAX_OUTPUT_CHARACTERS, resultPart } from '../parts/result-part.js';
import { truncate } from '../parts/truncate.js';
import type { ExecutionResult } from '../sandbox/execution.js';
import type { RunEvent } from './events.js';
import { printedBefore, PrintedOutput } from './printed-output.js';
import { prompt } from './prompt.js';
import type { Run } from './run-state.js';
import { streamed } from './streamed.js';

export interface Script {
  id: string;
  code: string;
}

/** Runs one script, showing its output as it appears. A lost session is a failed result, with a fresh one in place. */
export async function* runScript(
  run: Pick<Run, 'sessions' | 'signal' | 'cancelled' | 'executionTimeoutMs' | 'endsAt'>,
  { id, code }: Script,
): AsyncGenerator<RunEvent, CodeExecutionResult, undefined> {
  const session = await run.sessions.current(run.signal);
  yield { type: 'code', id, code };
  const startedAt = performance.now();
  const printed = new PrintedOutput();
  let result: CodeExecutionResult;
  try {
    const execution = yield* streamed<RunEvent, ExecutionResult>(
      (emit, stop) =>
        session.execute(code, {
          signal: stop,
          timeoutMs: timeLeft(run),
          onOutput: (chunk) => {
            printed.add(chunk);
            emit({ type: 'output', id, ...chunk });
          },
        }),
      run.cancelled,
    );
    result = resultPart(execution, { id }).codeExecutionResult;
  } catch (error) {
    if (!isLost(error)) throw error;
    yield { type: 'notice', text: `${error.message} Opening a fresh session.` };
    await run.sessions.replace(run.signal);
    result = {
      id,
      outcome: 'OUTCOME_FAILED',
      output: truncate(
        printedBefore(printed.text) + prompt('session-lost', { detail: error.message }),
        DEFAULT_MAX_OUTPUT_CHARACTERS,
      ),
    };
  }
  yield { type: 'code-result', id, result, durationMs: Math.round(performance.now() - startedAt) };
  return result;
}

/** The run's own limit ends a script as the script's limit does, so that its output is not lost. */
function timeLeft({
  executionTimeoutMs,
  endsAt,
}: Pick<Run, 'executionTimeoutMs' | 'endsAt'>): number {
  return Math.max(1, Math.ceil(Math.min(executionTimeoutMs, endsAt - performance.now())));
}

function isLost(error: unknown): error is SandboxError {
  return (
    error instanceof SandboxError &&
    (error.code === 'SESSION_LOST' || error.code === 'RUNTIME_LOST')
  );
}
