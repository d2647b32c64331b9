import { plainText } from '../../parts/ansi.js';
import type { CodeExecutionResult } from '../../parts/part.js';
import type { OutputChunk } from '../../sandbox/execution.js';

/** More than this is not compared; the reader has long stopped reading. */
const MAX_SEEN = 200_000;
const TAIL_LINES = 20;

/** What a script printed while it ran, to tell which of its final output is news. */
export class SeenOutput {
  readonly #text: Record<OutputChunk['stream'], string> = { stdout: '', stderr: '' };

  add(chunk: OutputChunk): void {
    if (this.#text[chunk.stream].length < MAX_SEEN) this.#text[chunk.stream] += chunk.text;
  }

  /**
   * The part of the final output that was not printed while the script ran: the last expression's value,
   * the traceback, the notice of a limit. Where the output was shortened, its end if it tells of a failure.
   */
  unseenOf({ output, outcome }: CodeExecutionResult): string {
    const stdout = plainText(this.#text.stdout).trimEnd();
    const stderr = plainText(this.#text.stderr).trim();
    if (!output.startsWith(stdout)) return outcome === 'OUTCOME_OK' ? '' : endOf(output);
    const rest = output.slice(stdout.length).replace(/^\n+/, '').trimEnd();
    if (stderr === '') return rest;
    if (rest.startsWith(stderr)) return rest.slice(stderr.length).replace(/^\n+/, '');
    return rest.endsWith(stderr) ? rest.slice(0, -stderr.length).trimEnd() : rest;
  }
}

function endOf(output: string): string {
  return output.trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
}
