import { cellsOf, displayWidth, wrapSpans } from './display-width.js';
import type { Span } from './palette.js';

/** Breaks one line of spans between words into rows of at most `columns` cells; a word that is wider is cut. */
export function wrapWords(spans: readonly Span[], columns: number): Span[][] {
  const rows: Span[][] = [[]];
  let width = 0;
  /** Blanks are placed only when a word follows on the same row. */
  let blanks: Span | undefined;
  for (const word of wordsOf(spans)) {
    const wordWidth = word.reduce((sum, { text }) => sum + displayWidth(text), 0);
    if (word.every(({ text }) => text.trim() === '')) {
      if (width > 0) blanks = word[0];
      continue;
    }
    const gap = blanks === undefined ? 0 : displayWidth(blanks.text);
    if (width > 0 && width + gap + wordWidth > columns) {
      rows.push([]);
      width = 0;
    } else if (blanks !== undefined) {
      rows.at(-1)?.push(blanks);
      width += gap;
    }
    blanks = undefined;
    const pieces = wordWidth > columns ? wrapSpans(word, columns) : [word];
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) {
        rows.push([]);
        width = 0;
      }
      rows.at(-1)?.push(...piece);
      width += piece.reduce((sum, { text }) => sum + displayWidth(text), 0);
    }
  }
  return rows;
}

/** Words and the blanks between them; a word may go over several spans. A letter of two cells is a word of its own. */
function* wordsOf(spans: readonly Span[]): Generator<Span[], void, undefined> {
  let word: Span[] = [];
  for (const span of spans) {
    for (const text of span.text.split(/( +)/)) {
      if (text === '') continue;
      if (text.startsWith(' ')) {
        if (word.length > 0) yield word;
        word = [];
        yield [{ ...span, text }];
        continue;
      }
      let run = '';
      for (const cell of cellsOf(text)) {
        if (cell.width !== 2) {
          run += cell.text;
          continue;
        }
        if (run !== '') word.push({ ...span, text: run });
        if (word.length > 0) yield word;
        yield [{ ...span, text: cell.text }];
        [run, word] = ['', []];
      }
      if (run !== '') word.push({ ...span, text: run });
    }
  }
  if (word.length > 0) yield word;
}
