import { readFileSync } from 'node:fs';
import type { ExecuteCodeResult } from './tool-results.js';

/** Beside `src` and `dist` alike. */
const SOURCE = new URL('../../../python/session_guard.py', import.meta.url);

/** Python that marks the kernel with `token`; leaves no name behind. */
export function guardCode(token: string): string {
  const source = readFileSync(SOURCE, 'utf8');
  return `exec(compile(${JSON.stringify(source)}, '<session guard>', 'exec'), {'__name__': 'session_guard', 'token': '${token}'})`;
}

/** `code` under a line that the kernel marked with `token` takes off; any other one fails on it and runs nothing. */
export function headed(token: string, code: string): string {
  return `__import__('IPython').get_ipython().colab_session_guard.require('${token}')\n${code}`;
}

/** True where the kernel does not carry the mark, so that the script did not begin. */
export function wasNotRun({ executionError }: ExecuteCodeResult): boolean {
  return (
    executionError?.name === 'AttributeError' &&
    executionError.value.includes('colab_session_guard')
  );
}

/** Its value is the kernel's token; fails in a kernel without one. Also a barrier: it runs when what ran before has ended. */
export const PROBE_CODE = "__import__('IPython').get_ipython().colab_session_guard.token";

export function carriesToken(result: ExecuteCodeResult, token: string): boolean {
  return result.result.includes(token);
}

/** True where the kernel refused to run a script for the second time. */
export function wasRefusedAsRepeated(result: ExecuteCodeResult): boolean {
  return result.executionError?.name === 'InputRejected';
}

/** Texts that the kernel may take for a repetition; trailing line ends tell a new script from them. */
export class CellTexts {
  readonly #recent = new Set<string>();

  /** `code`, made unlike every text that may have been the last one to run. */
  distinct(code: string): string {
    let text = code;
    while (this.#recent.has(text)) text += '\n';
    this.#recent.add(text);
    return text;
  }

  /** The kernel has run `text`: nothing sent earlier can be its last any more. */
  settled(text: string): void {
    this.#recent.clear();
    this.#recent.add(text);
  }
}
