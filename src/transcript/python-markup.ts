import { classHighlighter, highlightCode } from '@lezer/highlight';
import { parser } from '@lezer/python';
import { visibleSource } from '../parts/visible-source.js';
import { markup } from './html.js';
import type { Html } from './html.js';

/** Parsing is linear, but of no use to a reader of a source as long as this. */
const MAX_HIGHLIGHTED = 200_000;

/** Python source with its tokens marked by classes (`tok-keyword` …), as a reader must see it. */
export function pythonMarkup(code: string): Html {
  const source = visibleSource(code);
  if (source.length > MAX_HIGHLIGHTED) return markup`${source}`;
  const pieces: Html[] = [];
  highlightCode(
    source,
    parser.parse(source),
    classHighlighter,
    (text, classes) =>
      pieces.push(
        classes === '' ? markup`${text}` : markup`<span class="${classes}">${text}</span>`,
      ),
    () => pieces.push(markup`${'\n'}`),
  );
  return markup`${pieces}`;
}
