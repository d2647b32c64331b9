import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { ExecutionResult } from './execution.js';
import type { Session } from './sandbox.js';

/** Beside `src` and `dist` alike. */
const SOURCE = new URL('../../python/session_reset.py', import.meta.url);
const RESTORE = "__import__('IPython').get_ipython().colab_session_baseline.restore()";

const BASELINE_MS = 60_000;
/** A kernel start costs about a second, so a reset that takes longer than this is not worth waiting for. */
const RESET_MS = 5_000;

const ReportSchema = z.looseObject({ problems: z.array(z.string()) });

/** Remembers how the session is now. False where it cannot be reset later, for example since it is no IPython kernel. */
export async function captureBaseline(
  session: Session,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<boolean> {
  const source = JSON.stringify(readFileSync(SOURCE, 'utf8'));
  const code = `exec(compile(${source}, '<session reset>', 'exec'), {'__name__': 'session_reset'})`;
  const result = await session.execute(code, { timeoutMs: BASELINE_MS, ...defined(options) });
  return result.status === 'ok';
}

/**
 * Brings the interpreter back to the baseline and checks from inside that it is there: names, built-ins, modules,
 * environment, working directory, hooks, settings of libraries, threads and child processes. Files are left alone, since
 * the sessions of a runtime share one working directory.
 * @returns what could not be undone; empty where the session is as good as new.
 */
export async function resetSession(
  session: Session,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<string[]> {
  const result = await session.execute(RESTORE, { timeoutMs: RESET_MS, ...defined(options) });
  return problemsOf(result);
}

function problemsOf(result: ExecutionResult): string[] {
  if (result.status !== 'ok') return [`the reset ended with ${result.status}`];
  const lastLine = result.stdout.trimEnd().split('\n').at(-1) ?? '';
  try {
    return ReportSchema.parse(JSON.parse(lastLine)).problems;
  } catch {
    return ['the reset gave no report'];
  }
}

function defined({ signal }: { signal?: AbortSignal | undefined }): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}
