import { cellsOf, displayWidth } from './display-width.js';

const FENCE = '```';

/**
 * Breaks streaming text between words at the terminal's width. Blank lines at both ends are dropped;
 * lines inside code fences stay as they are, so that code can be copied.
 */
export class TextFlow {
  readonly #columns: () => number;
  #hasPrinted = false;
  #isFenced = false;
  /** What of the line was placed so far, as far as it matters for fences. */
  #lineStart = '';
  #column = 0;
  /** Kept until something follows: line breaks, then blanks, then an incomplete word. */
  #breaks = 0;
  #blanks = '';
  #word = '';

  constructor(columns: () => number) {
    this.#columns = columns;
  }

  /** What can be printed now; the last word is kept until it is complete. */
  write(text: string): string {
    let printed = '';
    for (const cell of cellsOf(text)) {
      if (cell.text === '\n') printed += this.#endLine();
      else if (cell.text === ' ' && !this.#isFenced) printed += this.#endWord(cell.text);
      else if (cell.width === 2 || this.#isFenced)
        printed += this.#endWord('') + this.#place(cell.text);
      else this.#word += cell.text;
    }
    return printed;
  }

  /** What was kept, with the line's end where anything was printed; the next text starts afresh. */
  end(): string {
    const rest = this.#endWord('');
    const printed = this.#hasPrinted ? `${rest}\n` : rest;
    this.#hasPrinted = false;
    this.#isFenced = false;
    this.#startLine();
    this.#breaks = 0;
    return printed;
  }

  #endLine(): string {
    const rest = this.#endWord('');
    if (this.#lineStart.startsWith(FENCE)) this.#isFenced = !this.#isFenced;
    this.#startLine();
    if (this.#hasPrinted) this.#breaks += 1;
    return rest;
  }

  #startLine(): void {
    this.#column = 0;
    this.#lineStart = '';
    this.#blanks = '';
  }

  #endWord(blank: string): string {
    const printed = this.#word === '' ? '' : this.#place(this.#word);
    this.#word = '';
    this.#blanks += blank;
    return printed;
  }

  #place(word: string): string {
    if (this.#lineStart.length < FENCE.length) this.#lineStart += this.#blanks + word;
    const width = displayWidth(word);
    const isTooWide = this.#column + this.#blanks.length + width > this.#columns();
    const isBroken = isTooWide && this.#column > 0 && !this.#isFenced;
    const lead = isBroken ? '\n' : this.#blanks;
    const printed = '\n'.repeat(this.#breaks) + lead + word;
    this.#column = isBroken ? width : this.#column + lead.length + width;
    this.#breaks = 0;
    this.#blanks = '';
    this.#hasPrinted = true;
    return printed;
  }
}

/** The rows of a whole text, broken between words. */
export function wrapText(text: string, columns: number): string[] {
  const flow = new TextFlow(() => columns);
  return (flow.write(text) + flow.end()).trimEnd().split('\n');
}
