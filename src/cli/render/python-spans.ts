import type { Span, Style } from './palette.js';

const KEYWORDS = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from ' +
    'global if import in is lambda nonlocal not or pass raise return try while with yield match case'
  ).split(' '),
);

const TOKEN = new RegExp(
  [
    '(?<comment>#[^\\n]*)',
    '(?<string>[rRbBuUfF]{0,2}(?:"""[\\s\\S]*?(?:"""|$)|\'\'\'[\\s\\S]*?(?:\'\'\'|$)|"(?:\\\\.|[^"\\\\\\n])*"?|\'(?:\\\\.|[^\'\\\\\\n])*\'?))',
    '(?<number>\\b\\d[\\w.]*)',
    '(?<word>[A-Za-z_]\\w*)',
  ].join('|'),
  'g',
);

/** Python source as lines of spans, lightly coloured; it never fails, whatever the source is. */
export function pythonLines(code: string): Span[][] {
  const lines: Span[][] = [[]];
  const add = (text: string, style?: Style): void => {
    for (const [index, piece] of text.split('\n').entries()) {
      if (index > 0) lines.push([]);
      const line = lines.at(-1) ?? [];
      const last = line.at(-1);
      if (piece === '') continue;
      if (last !== undefined && last.style === style) last.text += piece;
      else line.push(style === undefined ? { text: piece } : { text: piece, style });
    }
  };
  let end = 0;
  for (const match of code.matchAll(TOKEN)) {
    add(code.slice(end, match.index));
    add(match[0], styleOf(match.groups ?? {}));
    end = match.index + match[0].length;
  }
  add(code.slice(end));
  return lines;
}

function styleOf(groups: Record<string, string | undefined>): Style | undefined {
  if (groups['comment'] !== undefined) return 'dim';
  if (groups['string'] !== undefined) return 'green';
  if (groups['number'] !== undefined) return 'yellow';
  return KEYWORDS.has(groups['word'] ?? '') ? 'blue' : undefined;
}
