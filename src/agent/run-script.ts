import { SandboxError } from '../errors.js';
import { imageOf } from '../parts/display.js';
import type { CodeExecutionResult } from '../parts/part.js';
import { DEFAULT_MAX_OUTPUT_CHARACTERS, resultPart } from '../parts/result-part.js';
import { truncate } from '../parts/truncate.js';
import type { ExecutionResult } from '../sandbox/execution.js';
import type { RunEvent } from './events.js';
import type { AllowedImages } from './image-allowance.js';
import { printedBefore, PrintedOutput } from './printed-output.js';
import { prompt } from './prompt.js';
import type { RunFiles } from './run-files.js';
import type { Run } from './run-state.js';
import { streamed } from './streamed.js';

export interface Script {
  id: string;
  code: string;
}

/** What a script came to, for the transcript and for the model. */
export interface ScriptEnd extends AllowedImages {
  result: CodeExecutionResult;
}

/** Runs one script, showing its output as it appears. A lost session is a failed result, with a fresh one in place. */
export async function* runScript(
  run: Pick<Run, 'sessions' | 'signal' | 'cancelled' | 'executionTimeoutMs' | 'endsAt' | 'images'>,
  { id, code }: Script,
): AsyncGenerator<RunEvent, ScriptEnd, undefined> {
  const session = await run.sessions.current(run.signal);
  yield { type: 'code', id, code };
  const startedAt = performance.now();
  const printed = new PrintedOutput();
  let result: CodeExecutionResult;
  let images: AllowedImages = { shown: [], attached: [] };
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
    yield* made(run.sessions.made, id, execution);
    images = run.images.take(execution.richOutputs.flatMap((output) => imageOf(output) ?? []));
    const attachedImages = images.attached.length;
    result = resultPart(execution, { id, attachedImages }).codeExecutionResult;
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
  return { result, ...images };
}

/** Notes what a script displayed and wrote, and tells of it. */
async function* made(
  files: RunFiles,
  id: string,
  { richOutputs, changedFiles = [] }: ExecutionResult,
): AsyncGenerator<RunEvent, void, undefined> {
  const written = files.addWritten(changedFiles);
  const { kept, refused } = await files.addDisplays(richOutputs);
  for (const note of kept) yield { type: 'display', id, ...note };
  if (refused > 0) {
    yield { type: 'notice', text: `${refused} displays were not kept: the run has made too many.` };
  }
  if (written.length > 0) yield { type: 'files', id, files: written };
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
