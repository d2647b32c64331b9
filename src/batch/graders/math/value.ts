import { applied, parseExpression } from './expression.js';
import type { Expression } from './expression.js';
import { NoExpression } from './tokens.js';

/** What an answer of mathematics may be. */
export type Value =
  | { kind: 'expression'; expression: Expression }
  /** A tuple, or an interval with its ends; `open` and `close` are `(`, `)`, `[`, `]`. */
  | { kind: 'tuple'; open: string; close: string; items: Value[] }
  /** Unordered, each member once: in braces, between commas, or by plus-minus. */
  | { kind: 'set'; items: Value[]; braced: boolean }
  | { kind: 'union'; parts: Value[] }
  | { kind: 'equation'; left: Expression; right: Expression }
  | { kind: 'matrix'; rows: Value[][] }
  | { kind: 'based'; digits: string; base: string }
  | { kind: 'words'; text: string };

const MAX_ITEMS = 2_000;

/** Reads a folded text as an answer of mathematics; what is none of its notation is words. */
export function readValue(folded: string): Value {
  const text = clean(folded);
  try {
    return readClean(text);
  } catch (error) {
    if (!(error instanceof NoExpression)) throw error;
    return { kind: 'words', text };
  }
}

/** Whether a text is a value of mathematics rather than words. */
export function isMathematical(folded: string): boolean {
  return readValue(folded).kind !== 'words';
}

function clean(text: string): string {
  return text
    .slice(0, 20_000)
    .replace(/\\\(|\\\)|\\\[|\\\]|\$/g, ' ')
    .replace(/\\(?:left|right|,|;|!|:)/g, ' ')
    .replace(/\\(?:begin|end)\{(?:equation|align|aligned|gathered|split)\*?\}|&(?=\s?=)/g, ' ')
    .replace(/\\(?:leqslant|leq|le)(?![a-zA-Z])|≤|⩽|<=/g, ' \\le ')
    .replace(/\\(?:geqslant|geq|ge)(?![a-zA-Z])|≥|⩾|>=/g, ' \\ge ')
    .replace(/\\(?:neq|ne)(?![a-zA-Z])|≠|!=/g, ' \\ne ')
    .replace(/\\lt(?![a-zA-Z])/g, '<')
    .replace(/\\gt(?![a-zA-Z])/g, '>')
    .replace(/\\(?:cup|bigcup)(?![a-zA-Z])|∪/g, ' \\cup ')
    .replace(/\\(?:in)(?![a-zA-Z])|∈/g, ' \\in ')
    .replace(/\\(?:langle)(?![a-zA-Z])|⟨/g, '(')
    .replace(/\\(?:rangle)(?![a-zA-Z])|⟩/g, ')')
    .replace(/\\(?:emptyset|varnothing)(?![a-zA-Z])|∅|\\\{\s*\\\}/g, '\\emptyset')
    .replace(/\\mathbb\s?\{?R\}?|ℝ/g, '(-\\infty,\\infty)')
    .replace(/\\(?:mathbb|mathcal|mathfrak|mathbf|boldsymbol|mathrm)\s?\{([^{}]{0,100})\}/g, '$1')
    .replace(/∞/g, '\\infty')
    .replace(/√/g, '\\sqrt')
    .replace(/\\sqrt\s?\(([^()]{1,200})\)/g, '\\sqrt{$1}')
    .replace(/[−–]/g, '-')
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/(?<!\\[a-zA-Z]{0,20})[.,;:]$/, '')
    .trim();
}

function readClean(text: string): Value {
  if (text === '') throw new NoExpression('nothing to read');
  if (text === '\\emptyset') return { kind: 'set', items: [], braced: true };
  const matrix = readMatrix(text);
  if (matrix !== undefined) return matrix;
  const based = /^([\dA-Fa-f]{1,200})_\s?\{?\s?(\d{1,2})\s?\}?$/.exec(text);
  if (based !== null)
    return { kind: 'based', digits: (based[1] ?? '').toUpperCase(), base: based[2] ?? '' };
  if (/^-?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$/.test(text))
    return readClean(text.replaceAll(',', ''));

  const member = splitAt(text, ['\\in ']);
  if (member.length === 2 && /^[a-zA-Z](?:_\w)?$/.test((member[0] ?? '').trim()))
    return readClean((member[1] ?? '').trim());
  const parts = splitAt(text, ['\\cup ']);
  if (parts.length > 1)
    return { kind: 'union', parts: parts.map((part) => readClean(part.trim())) };

  const items = splitAt(text, [',', ';', ' and ', ' or ', '\\quad '])
    .map((item) => item.trim())
    .filter((item) => item !== '');
  if (items.length > MAX_ITEMS) throw new NoExpression('too many members');
  if (items.length > 1) {
    const values = items.map(readClean);
    const inequality =
      values.some(({ kind }) => kind === 'union' || kind === 'tuple') &&
      / or /.test(text) &&
      /[<>]|\\[lg]e /.test(text);
    return inequality
      ? { kind: 'union', parts: values }
      : { kind: 'set', items: values.flatMap(membersOf), braced: false };
  }

  const enclosed = readEnclosed(text);
  if (enclosed !== undefined) return enclosed;
  const relation = readRelation(text);
  if (relation !== undefined) return relation;
  return ofExpression(parseExpression(text));
}

/** Members of a bare list or of plus-minus join the list around them. */
function membersOf(value: Value): Value[] {
  return value.kind === 'set' && !value.braced ? value.items : [value];
}

function ofExpression(expression: Expression): Value {
  if (!hasPlusMinus(expression)) return { kind: 'expression', expression };
  const items = ([1, -1] as const).map((sign): Value => ({
    kind: 'expression',
    expression: signed(expression, sign),
  }));
  return { kind: 'set', items, braced: false };
}

function hasPlusMinus(expression: Expression): boolean {
  if (expression.type !== 'apply') return false;
  return expression.name === 'plus-minus' || expression.arguments.some(hasPlusMinus);
}

function signed(expression: Expression, sign: 1 | -1): Expression {
  if (expression.type !== 'apply') return expression;
  const args = expression.arguments.map((each) => signed(each, sign));
  if (expression.name !== 'plus-minus') return applied(expression.name, ...args);
  const [left, right] = args as [Expression, Expression];
  return applied('add', left, sign === 1 ? right : applied('negate', right));
}

const OPENING = '([{';
const CLOSING = ')]}';

/** Splits where no bracket is open; `[0,1[` closes with an opening bracket, so square ones count by their place. */
function splitAt(text: string, separators: readonly string[]): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < text.length; index++) {
    const sign = text[index] as string;
    if (sign === '\\' && /[{}]/.test(text[index + 1] ?? '')) {
      depth += text[index + 1] === '{' ? 1 : -1;
      index += 1;
      continue;
    }
    if (sign === '[' || sign === ']') depth += squareStep(text, index, depth);
    else if (OPENING.includes(sign)) depth += 1;
    else if (CLOSING.includes(sign)) depth -= 1;
    if (depth > 0) continue;
    const separator = separators.find((each) => text.startsWith(each, index));
    if (separator === undefined) continue;
    parts.push(text.slice(start, index));
    index += separator.length - 1;
    start = index + 1;
  }
  return [...parts, text.slice(start)];
}

/** A square bracket opens where none is open, and closes else; after `\sqrt` it is part of the root. */
function squareStep(text: string, index: number, depth: number): number {
  if (
    text[index] === '[' &&
    (depth === 0 || /\\sqrt ?$/.test(text.slice(Math.max(0, index - 6), index)))
  )
    return 1;
  if (text[index] === ']' && depth === 0) return 1;
  if (text[index] === '[')
    return /[\w)\]} ]$/.test(text.slice(0, index)) &&
      /^\[\s*(?:$|\\cup|[,;])/.test(text.slice(index, index + 40))
      ? -1
      : 1;
  return -1;
}

function readEnclosed(text: string): Value | undefined {
  const inner =
    text.startsWith('\\{') && text.endsWith('\\}') ? text.slice(2, -2) : text.slice(1, -1);
  const open = text.startsWith('\\{') ? '{' : (text[0] ?? '');
  const close = text.endsWith('\\}') ? '}' : (text.at(-1) ?? '');
  if (!/^[([\]{]$/.test(open) || !/^[)\][}]$/.test(close) || !isOneBracket(text)) return undefined;
  const items = splitAt(inner, [',', ';']).map((item) => item.trim());
  if (open === '{' && close === '}') {
    if (inner.trim() === '') return { kind: 'set', items: [], braced: true };
    const condition = splitAt(inner, ['\\mid ', '|', ':']);
    if (condition.length === 2 && /[<>=]|\\[lgn]e /.test(condition[1] ?? ''))
      return readClean((condition[1] ?? '').trim());
    return { kind: 'set', items: items.map(readClean).flatMap(membersOf), braced: true };
  }
  if (items.length < 2) return undefined;
  // `]0,1[` is open at both ends.
  const ends = { open: open === ']' ? '(' : open, close: close === '[' ? ')' : close };
  return { kind: 'tuple', ...ends, items: items.map(readClean) };
}

/** Whether the first bracket is closed by the last one. */
function isOneBracket(text: string): boolean {
  if (/^[\]]/.test(text)) return true;
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const sign = text[index] as string;
    if (sign === '\\') {
      if (/[{}]/.test(text[index + 1] ?? '')) {
        depth += text[index + 1] === '{' ? 1 : -1;
        index += 1;
      }
    } else if (sign === '[' || sign === ']') depth += squareStep(text, index, depth);
    else if (OPENING.includes(sign)) depth += 1;
    else if (CLOSING.includes(sign)) depth -= 1;
    if (depth === 0 && index < text.length - 1) return false;
  }
  return true;
}

function readMatrix(text: string): Value | undefined {
  const match = /^\\begin ?\{([bpvBV]?matrix|array)\} ?(?:\{[lcr|]*\})?(.*)\\end ?\{\1\}$/s.exec(
    text,
  );
  if (match === null) return undefined;
  const rows = (match[2] ?? '')
    .split(/\\\\/)
    .filter((row) => row.trim() !== '')
    .map((row) => row.split('&').map((cell) => readClean(cell.trim())));
  return { kind: 'matrix', rows };
}

const RELATION = /\\[lgn]e |[<>=]/g;
const NAME =
  /^(?:\\?[a-zA-Z]+(?:_\s?(?:\w|\{\w{1,5}\}))?(?:'{0,2})(?:\s?\([\w, ]{1,10}\))?|\\angle [A-Z]{1,3}|\|?[A-Z]{2}\|?)$/;

/** `x = 5` names a value, `-1 < x \le 2` an interval, other equations are compared as such. */
function readRelation(text: string): Value | undefined {
  const signs = [...text.matchAll(RELATION)];
  if (signs.length === 0) return undefined;
  const sides = text.split(RELATION).map((side) => side.trim());
  const kinds = signs.map(([sign]) => sign.trim());
  if (kinds.every((sign) => sign === '=')) {
    const last = sides.at(-1) ?? '';
    const [first = ''] = sides;
    if (NAME.test(first) || sides.length > 2) return readClean(last);
    if (NAME.test(last) && last.length <= 2) return readClean(first);
    return { kind: 'equation', left: parseExpression(first), right: parseExpression(last) };
  }
  const [a = '', b = '', c = ''] = sides;
  const isName = (side: string): boolean =>
    /^\\?[a-zA-Z]+(?:_\w)?$/.test(side) && side !== '\\infty';
  if (sides.length === 3 && isName(b)) {
    const [left, right] = kinds as [string, string];
    const isRising = /<|le/.test(left) && /<|le/.test(right);
    const isFalling = />|ge/.test(left) && />|ge/.test(right);
    if (isRising) return interval(a, c, left, right);
    if (isFalling) return interval(c, a, right, left);
  }
  if (sides.length === 2) {
    const [kind = ''] = kinds;
    const isTurned = isName(b) && !isName(a);
    const [bound, sign] = isTurned ? [a, turned(kind)] : [b, kind];
    if (!isTurned && !isName(a)) throw new NoExpression('an inequality of expressions');
    if (sign === '\\ne') {
      return {
        kind: 'union',
        parts: [interval('-\\infty', bound, '<', '<'), interval(bound, '\\infty', '<', '<')],
      };
    }
    return /<|le/.test(sign)
      ? interval('-\\infty', bound, '<', sign)
      : interval(bound, '\\infty', sign, '<');
  }
  throw new NoExpression('a relation of another kind');
}

function turned(sign: string): string {
  return { '<': '>', '>': '<', '\\le': '\\ge', '\\ge': '\\le' }[sign] ?? sign;
}

function interval(from: string, to: string, left: string, right: string): Value {
  return {
    kind: 'tuple',
    open: left.startsWith('\\') ? '[' : '(',
    close: right.startsWith('\\') ? ']' : ')',
    items: [readClean(from), readClean(to)],
  };
}
