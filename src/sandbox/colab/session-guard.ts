import { readFileSync } from 'node:fs';
import type { ExecuteCodeResult } from './tool-results.js';

/** Beside `src` and `dist` alike. */
const SOURCE = new URL('../../../python/session_guard.py', import.meta.url);

/** Python that marks the kernel with `token`; leaves no name behind. */
export function guardCode(token: string): string {
  const source = readFileSync(SOURCE, 'utf8');
  return `exec(compile(${JSON.stringify(source)}, '<session guard>', 'exec'), {'__name__': 'session_guard', 'token': '${token}'})`;
}

/**
 * `code` under a line that the kernel marked with `token` takes off, to run each execution once; any other kernel fails on
 * that line and runs nothing.
 */
export function headed(token: string, executionId: string, code: string): string {
  const guard = "__import__('IPython').get_ipython().colab_session_guard";
  return `${guard}.require('${token}', '${executionId}')\n${code}`;
}

/** True where the kernel does not carry the mark, so that the script did not begin. */
export function wasNotRun({ executionError }: ExecuteCodeResult): boolean {
  return (
    executionError?.name === 'AttributeError' &&
    executionError.value.includes('colab_session_guard')
  );
}

/**
 * Its value is the kernel's token and what the session watch said of the latest script; fails in a kernel without one.
 * Also a barrier: it runs when what ran before has ended.
 */
export const PROBE_CODE = "__import__('IPython').get_ipython().colab_session_guard.state";

export function carriesToken(result: ExecuteCodeResult, token: string): boolean {
  return result.result.includes(token);
}

/** The watch's report in the value of {@link PROBE_CODE}, JSON or empty. */
export function reportIn({ result }: ExecuteCodeResult): string {
  return result.slice(result.indexOf(' ') + 1);
}

/** True where the kernel refused to run an execution for the second time. */
export function wasRefusedAsRepeated({ executionError }: ExecuteCodeResult): boolean {
  return (
    executionError?.name === 'InputRejected' && executionError.value.includes('has begun before')
  );
}
