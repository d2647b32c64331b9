import { fitWidth } from './display-width.js';
import { createPaint, wantsColor } from './palette.js';
import type { Paint } from './palette.js';
import { FRAME_MS, printParagraph, spinner, textColumns } from './screen-layout.js';
import type { ParagraphOptions } from './screen-layout.js';
import { TextFlow } from './text-flow.js';

/** The part of a writable stream that the screen needs. */
export interface TerminalStream {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

/** Shows nothing. */
export const NOWHERE: TerminalStream = { write: () => undefined };

export interface ScreenOptions {
  /** Takes the live view; standard error. */
  log: TerminalStream;
  /** Where flowing text goes; default: `log`. */
  text?: TerminalStream;
  env?: NodeJS.ProcessEnv;
}

/** Where a run is shown. */
export type RunScreen = Pick<Screen, keyof Screen>;

const DEFAULT_COLUMNS = 100;
/** Clears from the start of the status line to the end of the screen. */
const ERASE = '\r\u001B[J';

/**
 * Whole lines, flowing text and, on a terminal, one status line below them that redraws itself.
 * After each drawing the cursor goes back to the start of the status line: erasing from there is right
 * even where the terminal was made narrower and the line now takes several rows, and as the cursor is
 * never hidden there is nothing to restore, however the process ends.
 */
export class Screen implements Disposable {
  readonly paint: Paint;
  /** True where a status line can be shown. */
  readonly isLive: boolean;
  readonly #log: TerminalStream;
  readonly #text: TerminalStream;
  readonly #flow = new TextFlow(() => this.columns);
  #isFlowing = false;
  #flowsTo: TerminalStream;
  #endsBlank = true;
  #status: ((frame: string) => string) | undefined;
  #isDrawn = false;
  #frame = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor({ log, text = log, env = process.env }: ScreenOptions) {
    const isTerminal = log.isTTY === true;
    this.#log = log;
    this.#text = text;
    this.#flowsTo = text;
    this.paint = createPaint(wantsColor(isTerminal, env));
    this.isLive = isTerminal && env['TERM'] !== 'dumb';
  }

  /** Cells a line may take; read anew each time, as a terminal can be resized. */
  get columns(): number {
    return textColumns(this.#terminalColumns);
  }

  /** A terminal that does not know its width says 0. */
  get #terminalColumns(): number {
    return this.#log.columns || DEFAULT_COLUMNS;
  }

  /** Prints a whole line. */
  line(text = ''): void {
    this.#erase();
    this.#endFlow();
    this.#log.write(`${text}\n`);
    this.#endsBlank = text === '';
    this.#draw();
  }

  /** Prints a whole line of the result, which goes where flowing text goes. */
  resultLine(text: string): void {
    this.#erase();
    this.#endFlow();
    this.#text.write(`${text}\n`);
    this.#endsBlank = text === '';
    this.#draw();
  }

  /** Prints a dim, indented paragraph. It must be printable. */
  note(text: string): void {
    this.paragraph(text, { margin: '  ', style: 'dim' });
  }

  /** Prints text broken between words, each row after `margin`. It must be printable. */
  paragraph(text: string, options?: ParagraphOptions): void {
    printParagraph(this, text, options);
  }

  /** Makes sure that a blank line comes before what follows. */
  gap(): void {
    this.#endFlow();
    if (!this.#endsBlank) this.line();
  }

  /** Prints text as it comes, broken between words; an aside is dim and no answer. It must be printable. */
  flow(text: string, { isAside = false } = {}): void {
    this.#erase();
    this.#isFlowing = true;
    this.#flowsTo = isAside ? this.#log : this.#text;
    this.#flowsTo.write(this.paint(this.#flow.write(text), isAside ? 'dim' : undefined));
  }

  /** Shows a line that is asked for anew several times a second; nothing where the screen is not live. */
  status(render: (frame: string) => string): void {
    if (!this.isLive) return;
    this.#status = render;
    if (this.#timer === undefined) {
      process.on('exit', this.#erase);
      this.#timer = setInterval(() => {
        this.#frame += 1;
        this.#draw();
      }, FRAME_MS).unref();
    }
    this.#draw();
  }

  clearStatus(): void {
    this.#erase();
    process.off('exit', this.#erase);
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#status = undefined;
  }

  /** Ends open text and removes the status line. */
  [Symbol.dispose](): void {
    this.clearStatus();
    this.#endFlow();
  }

  #endFlow(): void {
    if (!this.#isFlowing) return;
    this.#isFlowing = false;
    const rest = this.#flow.end();
    if (rest === '') return;
    this.#flowsTo.write(rest);
    this.#endsBlank = false;
  }

  /** Flowing text leaves the cursor inside a line, so nothing is drawn then. */
  #draw(): void {
    if (this.#status === undefined || this.#isFlowing) return;
    const line = fitWidth(this.#status(spinner(this.#frame)), this.#terminalColumns - 1);
    this.#log.write(`${ERASE}${this.paint(line, 'dim')}\r`);
    this.#isDrawn = true;
  }

  /** A field, since it is also called when the process ends with a status line still shown. */
  readonly #erase = (): void => {
    if (!this.#isDrawn) return;
    this.#log.write(ERASE);
    this.#isDrawn = false;
  };
}
