import { displayWidth, fitWidth } from './display-width.js';
import { markdownLines, settledLines } from './markdown-lines.js';
import { createPaint, wantsColor } from './palette.js';
import type { Paint, Span } from './palette.js';
import type { RunScreen } from './screen.js';
import { FRAME_MS, printParagraph, spinner, textColumns } from './screen-layout.js';
import type { ParagraphOptions } from './screen-layout.js';
import { wrapText } from './text-flow.js';

/** A terminal, as far as the screen needs it. */
export interface LiveTerminal {
  write(text: string): unknown;
  columns?: number;
  rows?: number;
}

/** What is typed, broken into rows, and where the cursor stands in it. */
export interface InputView {
  rows: readonly string[];
  row: number;
  column: number;
}

const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;
/** What is printed is gathered for so long, so that a flood of it leaves time for keys. */
const GATHER_MS = 25;
/** Of text that is not settled yet so many rows are shown. */
const MAX_OPEN_ROWS = 12;

interface DrawnRow {
  text: string;
  width: number;
}

/**
 * Lines that stay, and below them what changes: text as it streams, a status line, the line being typed. The changing part
 * is erased and drawn anew, from the row in which it began: its rows are counted as the terminal shows them now, since one
 * that was made narrower has broken them. No row is as wide as the terminal, and the cursor is never hidden, so that
 * nothing is left to restore, however the process ends.
 */
export class LiveScreen implements RunScreen, Disposable {
  readonly paint: Paint;
  readonly isLive = true;
  readonly #terminal: LiveTerminal;
  #printed: string[] = [];
  #endsBlank = true;
  #open: { text: string; isAside: boolean } | undefined;
  #status: ((frame: string) => string) | undefined;
  #input: InputView | undefined;
  #hint: readonly string[] = [];
  /** Rows above the cursor and the one in which it stands. */
  #drawn: { above: readonly DrawnRow[]; column: number } | undefined;
  #frame = 0;
  #ticker: NodeJS.Timeout | undefined;
  #gathering: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(terminal: LiveTerminal, env: NodeJS.ProcessEnv = process.env) {
    this.#terminal = terminal;
    this.paint = createPaint(wantsColor(true, env));
    process.on('exit', this.#erase);
  }

  get columns(): number {
    return textColumns(this.#width);
  }

  get #width(): number {
    return this.#terminal.columns || DEFAULT_COLUMNS;
  }

  line(text = ''): void {
    this.#settle();
    this.#print(text);
  }

  resultLine(text: string): void {
    this.line(text);
  }

  note(text: string): void {
    this.paragraph(text, { margin: '  ', style: 'dim' });
  }

  paragraph(text: string, options?: ParagraphOptions): void {
    printParagraph(this, text, options);
  }

  gap(): void {
    this.#settle();
    if (!this.#endsBlank) this.line();
  }

  /** Takes Markdown as it comes; blocks that are complete are printed for good. */
  flow(text: string, { isAside = false } = {}): void {
    if (this.#open !== undefined && this.#open.isAside !== isAside) this.#settle();
    const begun = this.#open?.text ?? '';
    this.#open = { text: begun === '' ? text.replace(/^\s*\n/, '') : begun + text, isAside };
    this.#gather();
  }

  status(render: (frame: string) => string): void {
    this.#status = render;
    this.#ticker ??= setInterval(() => {
      this.#frame += 1;
      this.draw();
    }, FRAME_MS).unref();
    this.#gather();
  }

  clearStatus(): void {
    clearInterval(this.#ticker);
    this.#ticker = undefined;
    this.#status = undefined;
    this.#gather();
  }

  /** Shows what is being typed, at once; undefined takes the input line away. */
  input(view: InputView | undefined, hint: readonly string[] = []): void {
    this.#input = view;
    this.#hint = hint;
    this.draw();
  }

  /** Prints what was gathered and draws what changes below it. */
  draw(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    if (this.#isClosed) return;
    this.#printSettled();
    const lines = this.#printed.map((text) => `${text}\r\n`).join('');
    this.#printed = [];
    this.#terminal.write(this.#erasure() + lines + this.#region());
  }

  /** Something else writes to the terminal from here on; the next drawing takes it back. */
  leave(): void {
    this.draw();
    this.#erase();
  }

  clear(): void {
    this.#drawn = undefined;
    this.#terminal.write('\u001B[2J\u001B[H');
    this.draw();
  }

  /** Ends open text and removes the status line. */
  [Symbol.dispose](): void {
    this.#settle();
    this.clearStatus();
  }

  /** Leaves the terminal to others for good. */
  close(): void {
    if (this.#isClosed) return;
    this[Symbol.dispose]();
    this.#input = undefined;
    this.#hint = [];
    this.draw();
    this.#isClosed = true;
    clearTimeout(this.#gathering);
    process.off('exit', this.#erase);
  }

  #print(text: string): void {
    this.#printed.push(text);
    this.#endsBlank = text === '';
    this.#gather();
  }

  #gather(): void {
    if (this.#isClosed) return;
    this.#gathering ??= setTimeout(() => {
      this.draw();
    }, GATHER_MS);
  }

  /** Prints the blocks of the open text that nothing can change any more. */
  #printSettled(): void {
    if (this.#open === undefined) return;
    const { text, isAside } = this.#open;
    const count = isAside ? 0 : settledLines(text);
    if (count === 0) return;
    const lines = text.split('\n');
    const settled = lines.slice(0, count).join('\n');
    this.#open = { text: lines.slice(count).join('\n'), isAside };
    for (const row of this.#rowsOf(settled, isAside)) this.#print(row);
    this.#print('');
  }

  #settle(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    for (const row of this.#rowsOf(open.text, open.isAside)) this.#print(row);
  }

  #rowsOf(text: string, isAside: boolean): string[] {
    if (text.trim() === '') return [];
    if (isAside) return wrapText(text, this.columns).map((row) => this.paint(row, 'dim'));
    return markdownLines(text, this.columns).map((row) => this.#painted(row));
  }

  #painted(row: readonly Span[]): string {
    return row.map(({ text, style }) => this.paint(text, style)).join('');
  }

  #region(): string {
    const above: DrawnRow[] = [];
    const add = (text: string, width: number): void => {
      above.push({ text, width });
    };
    const height = this.#terminal.rows || DEFAULT_ROWS;
    const input = this.#input;
    const inputRows = input?.rows.length ?? 1;
    const room = Math.max(0, Math.min(MAX_OPEN_ROWS, height - inputRows - this.#hint.length - 3));
    for (const row of this.#openRows(room)) add(row, displayWidthOf(row));
    if (this.#status !== undefined) {
      const text = fitWidth(this.#status(spinner(this.#frame)), this.#width - 1);
      add(this.paint(text, 'dim'), displayWidth(text));
    }
    const rows = input?.rows ?? [];
    for (const row of rows.slice(0, input?.row ?? 0)) add(row, displayWidthOf(row));
    const below = [
      ...rows.slice(input?.row ?? 0),
      ...this.#hint.map((text) => this.#fitHint(text)),
    ];
    const column = input?.column ?? 0;
    this.#drawn = { above, column };
    const back = below.length > 1 ? `\u001B[${below.length - 1}A` : '';
    const to = column > 0 ? `\u001B[${column}C` : '';
    return `${above.map(({ text }) => `${text}\r\n`).join('')}${below.join('\r\n')}${back}\r${to}`;
  }

  #fitHint(text: string): string {
    return this.paint(fitWidth(text, this.#width - 1), 'dim');
  }

  #openRows(limit: number): string[] {
    if (this.#open === undefined || limit === 0) return [];
    return this.#rowsOf(this.#open.text, this.#open.isAside).slice(-limit);
  }

  /** Goes back to where the changing part began, and clears from there. */
  #erasure(): string {
    if (this.#drawn === undefined) return '';
    const { above, column } = this.#drawn;
    const width = this.#width;
    const rows = above.reduce(
      (sum, row) => sum + Math.max(1, Math.ceil(row.width / width)),
      Math.floor(column / width),
    );
    this.#drawn = undefined;
    return `${rows > 0 ? `\u001B[${rows}A` : ''}\r\u001B[J`;
  }

  /** A field, since it is also called when the process ends with something still drawn. */
  readonly #erase = (): void => {
    const erasure = this.#erasure();
    if (erasure !== '') this.#terminal.write(erasure);
  };
}

function displayWidthOf(painted: string): number {
  return displayWidth(painted.replace(/\u001B\[[0-9;]*m/g, ''));
}
