import type { RunEvent } from '../../agent/events.js';
import { DEFAULT_MAX_OUTPUT_CHARACTERS } from '../../parts/result-part.js';

/** Of the last scripts, and up to so many characters of each. */
const KEPT_SCRIPTS = 50;
const KEPT_CHARACTERS = 1_000_000;

/** What scripts printed, for a reader who wants to see all of it. */
export class ScriptOutputs {
  readonly #outputs = new Map<number, string>();
  #count = 0;
  #printed = '';

  take(event: RunEvent): void {
    if (event.type === 'code') {
      this.#count += 1;
      this.#printed = '';
    } else if (event.type === 'output') {
      this.#printed += event.text.slice(0, Math.max(0, KEPT_CHARACTERS - this.#printed.length));
      this.#outputs.set(this.#count, this.#printed);
    } else if (event.type === 'code-result') {
      const { output } = event.result;
      // The result has the last value and the error as well, but it is cut short where it is long.
      const isWhole = output.length < DEFAULT_MAX_OUTPUT_CHARACTERS - 200;
      this.#outputs.set(this.#count, isWhole ? output : this.#printed);
    }
    this.#outputs.delete(this.#count - KEPT_SCRIPTS);
  }

  /** Of the script with this number, or of the last one. */
  of(number = this.#count): string | undefined {
    return this.#outputs.get(number);
  }
}
