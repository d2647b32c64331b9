import MarkdownIt from 'markdown-it';
import type { Token } from 'markdown-it';
import { displayWidth, wrapSpans } from './display-width.js';
import type { Span, Style } from './palette.js';
import { pythonLines } from './python-spans.js';
import { tableLines } from './table.js';
import { wrapWords } from './wrap-words.js';

const markdown = new MarkdownIt({ html: false, linkify: false });
/** Narrower text cannot be read; a list as deep as that is broken off less deep. */
const MIN_COLUMNS = 12;
const RULE_COLUMNS = 24;

/** Where a block of a text ends for good, so that it can be shown once: in lines from the start. */
export function settledLines(text: string): number {
  const starts = markdown
    .parse(text, {})
    .filter(({ level, map, nesting }) => level === 0 && map !== null && nesting >= 0)
    .map(({ map }) => map?.[0] ?? 0);
  return starts.length > 1 ? Math.max(...starts) : 0;
}

/** Printable Markdown as rows of at most `columns` cells. Between blocks stands an empty row. */
export function markdownLines(text: string, columns: number): Span[][] {
  return blocks(markdown.parse(text, {}), columns);
}

function blocks(tokens: readonly Token[], columns: number, isTight = false): Span[][] {
  const rows: Span[][] = [];
  for (let at = 0; at < tokens.length;) {
    const end = endOfBlock(tokens, at);
    const block = blockRows(tokens.slice(at, end), Math.max(MIN_COLUMNS, columns));
    if (rows.length > 0 && block.length > 0 && !isTight) rows.push([]);
    rows.push(...block);
    at = end;
  }
  return rows;
}

/** The index after the block that begins at `start`. */
function endOfBlock(tokens: readonly Token[], start: number): number {
  let depth = 0;
  for (let at = start; at < tokens.length; at += 1) {
    depth += tokens[at]?.nesting ?? 0;
    if (depth === 0) return at + 1;
  }
  return tokens.length;
}

function blockRows(tokens: readonly Token[], columns: number): Span[][] {
  const [first] = tokens;
  if (first === undefined) return [];
  const inside = tokens.slice(1, -1);
  switch (first.type) {
    case 'paragraph_open':
      return proseRows(inside, columns);
    case 'heading_open':
      return proseRows(inside, columns, 'bold');
    case 'bullet_list_open':
    case 'ordered_list_open':
      return listRows(first, inside, columns);
    case 'blockquote_open':
      return withMargin(blocks(inside, columns - 2), '▌ ', '▌ ');
    case 'fence':
    case 'code_block':
      return codeRows(first, columns);
    case 'table_open':
      return tableRows(inside, columns);
    case 'hr':
      return [[{ text: '─'.repeat(Math.min(columns, RULE_COLUMNS)), style: 'dim' }]];
    default:
      return proseRows(tokens, columns);
  }
}

function proseRows(tokens: readonly Token[], columns: number, style?: Style): Span[][] {
  const lines = tokens.flatMap((token) => inlineLines(token, style));
  return lines.flatMap((line) => wrapWords(line, columns));
}

function listRows(list: Token, items: readonly Token[], columns: number): Span[][] {
  const rows: Span[][] = [];
  let number = Number(list.attrGet('start') ?? 1);
  for (let at = 0; at < items.length;) {
    const end = endOfBlock(items, at);
    const marker = list.type === 'ordered_list_open' ? `${number}. ` : '• ';
    const inside = items.slice(at + 1, end - 1);
    const isTight = inside.some(({ type, hidden }) => type === 'paragraph_open' && hidden);
    const body = blocks(inside, columns - marker.length, isTight);
    if (rows.length > 0 && !isTight) rows.push([]);
    rows.push(
      ...withMargin(body.length > 0 ? body : [[]], marker, ' '.repeat(marker.length), 'dim'),
    );
    number += 1;
    at = end;
  }
  return rows;
}

function withMargin(
  rows: readonly Span[][],
  first: string,
  others: string,
  style: Style = 'dim',
): Span[][] {
  return rows.map((row, index) => [{ text: index === 0 ? first : others, style }, ...row]);
}

function codeRows({ info, content }: Token, columns: number): Span[][] {
  const source = content.replace(/\n$/, '');
  const lines = /^(python3?|py|tool_code)\b/i.test(info)
    ? pythonLines(source)
    : source.split('\n').map((text) => [{ text }]);
  return withMargin(
    lines.flatMap((line) => wrapSpans(line, columns - 2)),
    '  ',
    '  ',
  );
}

/** A table that is too wide becomes a list of its rows, each cell under the name of its column. */
function tableRows(tokens: readonly Token[], columns: number): Span[][] {
  const rows: string[][] = [];
  for (const [index, { type }] of tokens.entries()) {
    if (type === 'tr_open') rows.push([]);
    const cell = type === 'th_open' || type === 'td_open' ? tokens[index + 1] : undefined;
    if (cell !== undefined)
      rows.at(-1)?.push(
        inlineLines(cell)
          .flat()
          .map(({ text }) => text)
          .join(''),
      );
  }
  const [head = [], ...body] = rows;
  const lines = tableLines(rows);
  if (lines.every((line) => displayWidth(line) <= columns)) {
    const rule = '─'.repeat(Math.max(...lines.map(displayWidth)));
    const [title = '', ...rest] = lines;
    return [
      [{ text: title, style: 'bold' }],
      [{ text: rule, style: 'dim' }],
      ...rest.map((text) => [{ text }]),
    ];
  }
  return body.flatMap((row, index) => [
    ...(index > 0 ? [[]] : []),
    ...row.flatMap((cell, column) =>
      wrapWords([{ text: `${head[column] ?? ''}: `, style: 'bold' }, { text: cell }], columns),
    ),
  ]);
}

/** Inline text as lines of spans; of styles within each other the inner one shows. */
function inlineLines({ children, content }: Token, style?: Style): Span[][] {
  const lines: Span[][] = [[]];
  const styles: (Style | undefined)[] = [style];
  const links: string[] = [];
  const add = (text: string, own = styles.at(-1)): void => {
    if (text !== '') lines.at(-1)?.push(own === undefined ? { text } : { text, style: own });
  };
  for (const token of children ?? []) {
    switch (token.type) {
      case 'strong_open':
        styles.push('bold');
        break;
      case 'em_open':
        styles.push('italic');
        break;
      case 's_open':
        styles.push('dim');
        break;
      case 'strong_close':
      case 'em_close':
      case 's_close':
        styles.pop();
        break;
      case 'link_open':
        links.push(String(token.attrGet('href') ?? ''));
        break;
      case 'link_close': {
        const url = links.pop() ?? '';
        const said =
          lines
            .at(-1)
            ?.map(({ text }) => text)
            .join('') ?? '';
        if (url !== '' && !said.endsWith(url)) add(` (${url})`, 'dim');
        break;
      }
      case 'code_inline':
        add(token.content, 'cyan');
        break;
      case 'softbreak':
        add(' ');
        break;
      case 'hardbreak':
        lines.push([]);
        break;
      default:
        add(token.content);
    }
  }
  if (children === null) add(content);
  return lines;
}
