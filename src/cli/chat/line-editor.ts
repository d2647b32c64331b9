import { createInterface } from 'node:readline';
import type { Interface, Key } from 'node:readline';
import { PassThrough, Writable } from 'node:stream';
import { cellsOf } from '../render/display-width.js';
import type { InputView } from '../render/live-screen.js';
import { printable } from '../render/printable.js';

export interface LineEditorOptions {
  /** Earlier entries, latest first. */
  history: string[];
  /** What could stand in place of the end of the text before the cursor. */
  complete: (before: string) => Promise<Completion>;
  onSubmit: (text: string) => void;
  /** Something has changed that is to be seen. */
  onChange: () => void;
}

export interface Completion {
  /** Whole replacements. */
  candidates: string[];
  /** The end of the text that they replace. */
  replaced: string;
}

/** Stands for a line break in the line of the library, which takes none. */
const BREAK = '\uE00A';
const HISTORY_SIZE = 1_000;
/** Rows of a long entry that are shown around the cursor. */
const MAX_ROWS = 10;
const PROMPT = '› ';
const INDENT = '  ';

/**
 * The text being typed. Node's readline does the editing (keys, history, undo); it draws into nothing, and what it holds
 * is shown by whoever asks for a {@link view}. A paste in brackets is text, line breaks included.
 */
export class LineEditor implements Disposable {
  readonly #options: LineEditorOptions;
  readonly #library: Interface;
  #paste: string | undefined;
  #candidates: readonly string[] = [];

  constructor(options: LineEditorOptions) {
    this.#options = options;
    const nowhere = Object.assign(
      new Writable({
        write: (_data, _encoding, done) => {
          done();
        },
      }),
      {
        columns: 1_000_000,
        isTTY: true,
      },
    );
    this.#library = createInterface({
      input: new PassThrough(),
      output: nowhere,
      terminal: true,
      prompt: '',
      history: options.history,
      historySize: HISTORY_SIZE,
      removeHistoryDuplicates: true,
    });
    this.#library.on('line', (line) => {
      options.onSubmit(withBreaks(line));
    });
  }

  get text(): string {
    return withBreaks(this.#library.line);
  }

  /** What Tab has found, to be shown below the text. */
  get candidates(): readonly string[] {
    return this.#candidates;
  }

  /** Takes a key as `emitKeypressEvents` tells of it. */
  press(text: string | undefined, key: Key): void {
    if (this.#paste !== undefined) {
      this.#takePaste(text, key);
      return;
    }
    this.#candidates = [];
    switch (key.name) {
      case 'paste-start':
        this.#paste = '';
        return;
      case 'return':
      case 'enter':
        this.#enter(key);
        break;
      case 'tab':
        void this.#complete();
        return;
      default:
        this.#library.write(isText(text, key) ? printable(text ?? '') : (text as string), key);
    }
    this.#options.onChange();
  }

  insert(text: string): void {
    this.#library.write(forLibrary(text));
    this.#options.onChange();
  }

  clear(): void {
    this.#library.write(null as never, { ctrl: true, name: 'e' });
    this.#library.write(null as never, { ctrl: true, name: 'u' });
    this.#candidates = [];
    this.#options.onChange();
  }

  /** The text in rows of at most `columns` cells, those around the cursor where there are many. */
  view(columns: number): InputView {
    const { line, cursor } = this.#library;
    const rows: string[] = [PROMPT];
    let width = PROMPT.length;
    let at = { row: 0, column: width };
    let index = 0;
    const newRow = (): void => {
      rows.push(INDENT);
      width = INDENT.length;
    };
    for (const cell of cellsOf(line)) {
      if (cell.text !== BREAK && width + cell.width > columns) newRow();
      if (index <= cursor) at = { row: rows.length - 1, column: width };
      if (cell.text === BREAK) newRow();
      else {
        rows[rows.length - 1] = `${rows.at(-1) ?? ''}${cell.text}`;
        width += cell.width;
      }
      index += cell.text.length;
    }
    if (index <= cursor) at = { row: rows.length - 1, column: width };
    return windowAround(rows, at);
  }

  [Symbol.dispose](): void {
    this.#library.close();
  }

  #enter(key: Key): void {
    const { line, cursor } = this.#library;
    if (key.meta === true) this.insert('\n');
    else if (cursor === line.length && line.endsWith('\\')) {
      this.#library.write(null as never, { name: 'backspace' });
      this.insert('\n');
    } else this.#library.write(null as never, { name: 'return' });
  }

  #takePaste(text: string | undefined, key: Key): void {
    if (key.name === 'paste-end') {
      const pasted = this.#paste ?? '';
      this.#paste = undefined;
      this.insert(printable(pasted.replace(/\r\n?/g, '\n')));
      return;
    }
    this.#paste = `${this.#paste ?? ''}${text ?? key.sequence ?? ''}`;
  }

  async #complete(): Promise<void> {
    const before = this.text.slice(0, this.#library.cursor);
    const { candidates, replaced } = await this.#options.complete(before);
    const common = commonStart(candidates);
    // The text may have changed while files were looked for.
    if (this.text.slice(0, this.#library.cursor) === before && common.length > replaced.length) {
      this.insert(common.slice(replaced.length));
    }
    this.#candidates = candidates.length > 1 ? candidates : [];
    this.#options.onChange();
  }
}

function isText(text: string | undefined, key: Key): boolean {
  return text !== undefined && key.ctrl !== true && key.meta !== true && text >= ' ';
}

function forLibrary(text: string): string {
  return text.replaceAll(BREAK, '').replaceAll('\n', BREAK);
}

function withBreaks(line: string): string {
  return line.replaceAll(BREAK, '\n');
}

function windowAround(
  rows: readonly string[],
  { row, column }: { row: number; column: number },
): InputView {
  if (rows.length <= MAX_ROWS) return { rows, row, column };
  const start = Math.min(Math.max(0, row - MAX_ROWS + 2), rows.length - MAX_ROWS);
  const shown = rows.slice(start, start + MAX_ROWS);
  const left = rows.length - start - MAX_ROWS;
  if (start > 0 && row > start) shown[0] = `${INDENT}… ${start + 1} rows above`;
  if (left > 0 && row < start + MAX_ROWS - 1)
    shown[MAX_ROWS - 1] = `${INDENT}… ${left + 1} rows below`;
  return { rows: shown, row: row - start, column };
}

function commonStart(texts: readonly string[]): string {
  const [first = '', ...others] = texts;
  let length = first.length;
  for (const text of others) while (!text.startsWith(first.slice(0, length))) length -= 1;
  return first.slice(0, length);
}
