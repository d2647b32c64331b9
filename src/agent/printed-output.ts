import type { OutputChunk } from '../sandbox/execution.js';
import { plainText } from '../parts/ansi.js';

/** Of a script that never ends only so many characters of its beginning and of its end are kept. */
const KEPT_CHARACTERS = 40_000;

/** What a script has printed so far, for where it ends without a result; memory is bounded. */
export class PrintedOutput {
  #head = '';
  #tail = '';
  #cutCharacters = 0;

  add({ text }: Pick<OutputChunk, 'text'>): void {
    const room = KEPT_CHARACTERS - this.#head.length;
    this.#head += text.slice(0, room);
    this.#tail += text.slice(Math.max(0, room));
    const surplus = this.#tail.length - KEPT_CHARACTERS;
    // Cut now and then only, so that many small pieces cost no more than a large one.
    if (surplus > KEPT_CHARACTERS) {
      this.#tail = this.#tail.slice(surplus);
      this.#cutCharacters += surplus;
    }
  }

  /** As a terminal would show it. */
  get text(): string {
    const cut = this.#cutCharacters;
    const marker = cut === 0 ? '' : `\n[... ${cut} characters cut ...]\n`;
    return plainText(this.#head + marker + this.#tail);
  }
}

/** What comes before a word of ours on the script, which begins on a line of its own. */
export function printedBefore(printed: string): string {
  return printed === '' || printed.endsWith('\n') ? printed : `${printed}\n`;
}
