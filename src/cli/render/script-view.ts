import type { CodeExecutionResult, Outcome } from '../../parts/part.js';
import { PRINTED_NOTHING } from '../../parts/result-part.js';
import { visibleSource } from '../../parts/visible-source.js';
import type { OutputChunk } from '../../sandbox/execution.js';
import { countOf, formatDuration, formatElapsed } from './amounts.js';
import { wrapSpans } from './display-width.js';
import { FoldedLines } from './folded-lines.js';
import { OutputLines } from './output-lines.js';
import type { Span, Style } from './palette.js';
import { printable } from './printable.js';
import { pythonLines } from './python-spans.js';
import type { RunScreen } from './screen.js';
import { SeenOutput } from './seen-output.js';

const INDENT = '  ';
const GUTTER_COLUMNS = 4;
const CODE_LINES = { head: 80, tail: 5 };
const OUTPUT_LINES = { head: 40, tail: 8 };
/** One line of output that is longer than this many rows is cut. */
const MAX_ROWS = 6;
/** What IPython draws above a traceback. */
const TRACEBACK_RULE = /^-{70,}$/;

const OUTCOMES: Record<Outcome, { text: string; style: Style }> = {
  OUTCOME_OK: { text: '✓ ok', style: 'green' },
  OUTCOME_FAILED: { text: '✗ failed', style: 'red' },
  OUTCOME_DEADLINE_EXCEEDED: { text: '✗ out of time', style: 'yellow' },
  OUTCOME_UNSPECIFIED: { text: '? unknown', style: 'yellow' },
};

/** One script in a frame: its code, its output as it appears, what became of it. */
export class ScriptView {
  readonly #screen: RunScreen;
  readonly #number: number;
  readonly #startedAt = performance.now();
  readonly #seen = new SeenOutput();
  readonly #streams = { stdout: new OutputLines(), stderr: new OutputLines() };
  readonly #output: FoldedLines<Span[]>;
  #lastStream: OutputChunk['stream'] = 'stdout';

  readonly #showAll: string | undefined;

  /** `showAll` is what to type in order to see what is not shown. */
  constructor(
    screen: RunScreen,
    number: number,
    { showAll }: { showAll?: string | undefined } = {},
  ) {
    this.#screen = screen;
    this.#showAll = showAll;
    this.#number = number;
    this.#output = this.#folded(OUTPUT_LINES);
  }

  showCode(code: string): void {
    this.#edge('╭', `script ${this.#number}`);
    const lines = this.#folded(CODE_LINES);
    for (const line of pythonLines(printable(visibleSource(code.trim())))) lines.add(line);
    lines.end();
    if (this.#screen.isLive) this.#screen.status((frame) => this.#running(frame));
    else this.#edge('├', 'running');
  }

  showOutput(chunk: OutputChunk): void {
    this.#seen.add(chunk);
    this.#lastStream = chunk.stream;
    for (const line of this.#streams[chunk.stream].add(chunk.text)) this.#add(line, chunk.stream);
  }

  /** Something that happened meanwhile, within the frame. */
  notice(text: string): void {
    for (const line of printable(text).split('\n'))
      this.#inGutter([{ text: line, style: 'dim' }], '├');
  }

  end(result: CodeExecutionResult, durationMs: number): void {
    this.#endStreams();
    this.#showUnseen(result);
    this.#close(OUTCOMES[result.outcome], formatDuration(durationMs));
  }

  /** The run was cancelled or broke while the script ran. */
  cut(): void {
    this.#endStreams();
    this.#close({ text: '✗ stopped', style: 'yellow' }, this.#elapsed());
  }

  #close(outcome: { text: string; style: Style }, duration: string): void {
    this.#output.end();
    this.#screen.clearStatus();
    const { paint } = this.#screen;
    this.#screen.line(
      `${INDENT}${paint('╰', 'dim')} ${paint(outcome.text, outcome.style)}${paint(` · ${duration}`, 'dim')}`,
    );
  }

  #showUnseen(result: CodeExecutionResult): void {
    const unseen = this.#seen.unseenOf(result);
    if (unseen === '') return;
    if (unseen === PRINTED_NOTHING) {
      this.#edge('├', 'no output');
      return;
    }
    const style = result.outcome === 'OUTCOME_OK' ? undefined : OUTCOMES[result.outcome].style;
    for (const line of unseen.split('\n').filter((text) => !TRACEBACK_RULE.test(text))) {
      this.#addLine(line, style);
    }
  }

  #endStreams(): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      for (const line of this.#streams[stream].end()) this.#add(line, stream);
    }
  }

  #add(line: string, stream: OutputChunk['stream']): void {
    this.#addLine(line, stream === 'stderr' ? 'yellow' : undefined);
  }

  #addLine(line: string, style?: Style): void {
    if (this.#output.count === 0) this.#edge('├', 'output');
    const text = printable(line);
    this.#output.add([style === undefined ? { text } : { text, style }]);
  }

  #running(frame: string): string {
    const lines = this.#output.count;
    const pending = printable(this.#streams[this.#lastStream].pending);
    return [
      `${INDENT}╰ ${frame} running · ${this.#elapsed()}`,
      ...(lines > 0 ? [countOf(lines, 'line')] : []),
      ...(pending === '' ? [] : [pending]),
    ].join(' · ');
  }

  #elapsed(): string {
    return formatElapsed(performance.now() - this.#startedAt);
  }

  #folded(limits: { head: number; tail: number }): FoldedLines<Span[]> {
    return new FoldedLines<Span[]>({
      ...limits,
      print: (line) => {
        this.#inGutter(line);
      },
      printFold: (count) => {
        const hint = this.#showAll === undefined ? '' : `; ${this.#showAll} shows all`;
        this.#inGutter([{ text: `… ${countOf(count, 'line')} not shown${hint} …`, style: 'dim' }]);
      },
    });
  }

  #inGutter(line: Span[], start = '│'): void {
    const { paint, columns } = this.#screen;
    const rows = wrapSpans(line, columns - GUTTER_COLUMNS);
    if (rows.length > MAX_ROWS) rows.splice(MAX_ROWS, Infinity, [{ text: '…', style: 'dim' }]);
    for (const [index, row] of rows.entries()) {
      const gutter = paint(index === 0 ? start : '┊', 'dim');
      const text = row.map((span) => paint(span.text, span.style)).join('');
      this.#screen.line(`${INDENT}${gutter} ${text}`.trimEnd());
    }
  }

  #edge(corner: '╭' | '├', label: string): void {
    this.#screen.line(`${INDENT}${this.#screen.paint(`${corner} ${label}`, 'dim')}`);
  }
}
