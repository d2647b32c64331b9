import type { Span } from './palette.js';

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Letters that take two cells: East Asian wide and full-width blocks. */
const WIDE =
  /^[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1B000}-\u{1B2FF}\u{1F200}-\u{1F2FF}\u{20000}-\u{3FFFD}]/u;
const EMOJI = /\p{Emoji_Presentation}|\uFE0F/u;
const ZERO = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;
const ASCII = /^[\x20-\x7E]*$/;

/** What a reader sees as one letter, with the cells it takes. */
export interface Cell {
  text: string;
  width: 0 | 1 | 2;
}

export function* cellsOf(text: string): Generator<Cell, void, undefined> {
  for (const { segment } of graphemes.segment(text)) {
    yield { text: segment, width: cellWidth(segment) };
  }
}

function cellWidth(grapheme: string): 0 | 1 | 2 {
  if (ASCII.test(grapheme)) return 1;
  if (ZERO.test(grapheme)) return 0;
  return WIDE.test(grapheme) || EMOJI.test(grapheme) ? 2 : 1;
}

/** Cells that printable text without escape sequences takes in a terminal. */
export function displayWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const cell of cellsOf(text)) width += cell.width;
  return width;
}

/** Shortens printable text to `columns` cells, with an ellipsis where something was cut. */
export function fitWidth(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let fitted = '';
  let width = 0;
  for (const cell of cellsOf(text)) {
    if (width + cell.width > columns - 1) break;
    fitted += cell.text;
    width += cell.width;
  }
  return columns > 0 ? `${fitted}…` : '';
}

/** Breaks one line of spans into rows of at most `columns` cells; always at least one row. */
export function wrapSpans(spans: readonly Span[], columns: number): Span[][] {
  const rows: Span[][] = [[]];
  let width = 0;
  for (const span of spans) {
    let piece = '';
    const flush = (): void => {
      if (piece !== '') rows.at(-1)?.push({ ...span, text: piece });
      piece = '';
    };
    for (const cell of cellsOf(span.text)) {
      if (width + cell.width > columns && width > 0) {
        flush();
        rows.push([]);
        width = 0;
      }
      piece += cell.text;
      width += cell.width;
    }
    flush();
  }
  return rows;
}
