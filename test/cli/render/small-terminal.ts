import type { TerminalStream } from '../../../src/cli/render/screen.js';

const TOKEN = /\u001B\[[0-9;?]*[A-Za-z]|[^]/gu;

/** Enough of a terminal to see what a person would see: lines, carriage returns, erasing to the end of the screen. */
export class SmallTerminal implements TerminalStream {
  readonly isTTY: boolean;
  columns: number;
  /** Everything that was written, as it came. */
  written = '';
  readonly #rows = [''];
  #column = 0;

  constructor({ columns = 80, isTTY = true } = {}) {
    this.columns = columns;
    this.isTTY = isTTY;
  }

  write(text: string): void {
    this.written += text;
    for (const [token] of text.matchAll(TOKEN)) this.#take(token);
  }

  get rows(): string[] {
    return this.#rows.map((row) => row.trimEnd());
  }

  get picture(): string {
    return this.rows.join('\n').trimEnd();
  }

  #take(token: string): void {
    const row = this.#rows.length - 1;
    const text = this.#rows[row] ?? '';
    if (token === '\n') {
      this.#rows.push('');
      this.#column = 0;
    } else if (token === '\r') {
      this.#column = 0;
    } else if (token === '\u001B[J') {
      this.#rows[row] = text.slice(0, this.#column);
    } else if (!token.startsWith('\u001B')) {
      this.#rows[row] =
        text.slice(0, this.#column) + token + text.slice(this.#column + token.length);
      this.#column += token.length;
    } else if (!/^\u001B\[[0-9;]*m$/.test(token)) {
      throw new Error(
        `an escape sequence that only a script could have sent: ${JSON.stringify(token)}`,
      );
    }
  }
}
