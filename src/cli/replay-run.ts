import type { AttachedFile } from '../agent/attached-file.js';
import { recordedExecutions } from '../agent/recorded-run.js';
import type { RecordedRun } from '../agent/recorded-run.js';
import { ConfigError, SandboxError } from '../errors.js';
import { resultPart } from '../parts/result-part.js';
import { joinedResult } from '../parts/transcript.js';
import type { Session } from '../sandbox/sandbox.js';
import type { SessionPool } from '../sandbox/session-pool.js';
import { judgeAnswer } from './replay-answer.js';
import type { AnswerVerdict } from './replay-answer.js';
import { compareResults } from './replay-compare.js';
import type { Comparison } from './replay-compare.js';
import { filesOfRun } from './replay-files.js';

export interface ReplayOptions {
  /** Where the runs are from; the files that a run names are looked for beside it. */
  path: string;
  executionTimeoutMs: number;
  /** For every run. */
  files: readonly AttachedFile[];
  signal: AbortSignal;
}

/** What one script came to; `not-judged` where no result was recorded. */
export type ScriptVerdict = Comparison | 'not-judged';

export interface RunVerdict {
  id: string;
  scripts: ScriptVerdict[];
  /** Absent where the answer has no number that a script had printed, or not every script ran. */
  answer?: AnswerVerdict;
  /** Set where the sandbox failed or a file is missing, so that the run's other scripts did not run. */
  fault?: SandboxError | ConfigError;
}

/** Runs a run's scripts, in order, in a session of its own, its files in place. @throws the signal's reason when cancelled. */
export async function replayRun(
  run: RecordedRun,
  pool: SessionPool,
  options: ReplayOptions,
): Promise<RunVerdict> {
  const verdict: RunVerdict = { id: run.id, scripts: [] };
  try {
    const files = await filesOfRun(run, options);
    await inSession(pool, options.signal, async (session) => {
      const observed = await runScripts(run, session, { ...options, files }, verdict.scripts);
      const answer = judgeAnswer(run, observed);
      if (answer !== undefined) verdict.answer = answer;
    });
  } catch (error) {
    options.signal.throwIfAborted();
    if (!(error instanceof SandboxError || error instanceof ConfigError)) throw error;
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
): Promise<string[]> {
  const observed: string[] = [];
  for (const { name, path } of files) await session.uploadFile(name, { path }, { signal });
  for (const { code, results } of recordedExecutions(run)) {
    const execution = await session.execute(code, { timeoutMs: executionTimeoutMs, signal });
    const recorded = joinedResult(results);
    verdicts.push(recorded === undefined ? 'not-judged' : compareResults(recorded, execution));
    observed.push(resultPart(execution).codeExecutionResult.output);
  }
  return observed;
}
