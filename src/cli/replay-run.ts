import type { AttachedFile } from '../agent/attached-file.js';
import { recordedExecutions } from '../agent/recorded-run.js';
import type { RecordedRun } from '../agent/recorded-run.js';
import { SandboxError } from '../errors.js';
import type { CodeExecutionResult } from '../parts/part.js';
import type { Session } from '../sandbox/sandbox.js';
import type { SessionPool } from '../sandbox/session-pool.js';
import { compareResults } from './replay-compare.js';
import type { Comparison } from './replay-compare.js';

export interface ReplayOptions {
  executionTimeoutMs: number;
  files: readonly AttachedFile[];
  signal: AbortSignal;
}

/** What one script came to; `not-judged` where no result was recorded. */
export type ScriptVerdict = Comparison | 'not-judged';

export interface RunVerdict {
  id: string;
  scripts: ScriptVerdict[];
  /** Set where the sandbox failed, so that the run's other scripts did not run. */
  fault?: SandboxError;
}

/** Runs a run's scripts, in order, in a session of its own. @throws the signal's reason when cancelled. */
export async function replayRun(
  run: RecordedRun,
  pool: SessionPool,
  options: ReplayOptions,
): Promise<RunVerdict> {
  const verdict: RunVerdict = { id: run.id, scripts: [] };
  try {
    await inSession(pool, options.signal, async (session) => {
      await runScripts(run, session, options, verdict.scripts);
    });
  } catch (error) {
    options.signal.throwIfAborted();
    if (!(error instanceof SandboxError)) throw error;
    verdict.fault = error;
  }
  return verdict;
}

/** A session that something went wrong in is not lent again. */
async function inSession(
  pool: SessionPool,
  signal: AbortSignal,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  const lease = await pool.lease({ signal });
  try {
    await work(lease.session);
  } catch (error) {
    await lease.discard();
    throw error;
  }
  await lease.release();
}

async function runScripts(
  run: RecordedRun,
  session: Session,
  { executionTimeoutMs, files, signal }: ReplayOptions,
  verdicts: ScriptVerdict[],
): Promise<void> {
  for (const { name, path } of files) await session.uploadFile(name, { path }, { signal });
  for (const { code, results } of recordedExecutions(run)) {
    const execution = await session.execute(code, { timeoutMs: executionTimeoutMs, signal });
    const recorded = recordedResult(results);
    verdicts.push(recorded === undefined ? 'not-judged' : compareResults(recorded, execution));
  }
}

/** Several results of one script are its output in pieces; the last one says how it ended. */
function recordedResult(results: readonly CodeExecutionResult[]): CodeExecutionResult | undefined {
  const last = results.at(-1);
  if (last === undefined) return undefined;
  return { outcome: last.outcome, output: results.map(({ output }) => output).join('\n') };
}
