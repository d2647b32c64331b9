import type { Paint, Style } from './palette.js';
import { wrapText } from './text-flow.js';

/** Text wider than this is hard to read. */
const MAX_COLUMNS = 110;
const MIN_COLUMNS = 20;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/** How long one frame of a status line stays. */
export const FRAME_MS = 100;

/** What a status line shows to be seen moving. */
export function spinner(frame: number): string {
  return FRAMES[frame % FRAMES.length] ?? '';
}

/** Cells that a line of text may take on a terminal; the last one stays free, since some break the line there. */
export function textColumns(terminalColumns: number): number {
  return Math.min(MAX_COLUMNS, Math.max(MIN_COLUMNS, terminalColumns - 1));
}

export interface ParagraphOptions {
  /** Stands before each row. */
  margin?: string;
  style?: Style;
}

/** Prints text broken between words. */
export function printParagraph(
  screen: { columns: number; paint: Paint; line(text: string): void },
  text: string,
  { margin = '', style }: ParagraphOptions = {},
): void {
  for (const row of wrapText(text, screen.columns - margin.length)) {
    screen.line(screen.paint(`${margin}${row}`, style));
  }
}
