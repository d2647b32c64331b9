// Turns what a terminal shows into a picture for the README:
//   tmux capture-pane -p -e | node scripts/terminal-picture.js > docs/images/demo.svg
import { readFileSync } from 'node:fs';

const CELL = { width: 8.4, height: 19 };
const PADDING = 18;
const PALETTE = [
  ['#484f58', '#ff7b72', '#7ee787', '#e3b341', '#79c0ff', '#d2a8ff', '#76e3ea', '#c9d1d9'],
  ['#6e7681', '#ffa198', '#aff5b4', '#f2cc60', '#a5d6ff', '#e2c5ff', '#b3f0ff', '#ffffff'],
];
const PLAIN = { color: '#c9d1d9', bold: false, dim: false, italic: false };

let style = PLAIN;
const lines = readFileSync(0, 'utf8').trimEnd().split('\n');
const rows = lines.map(spansOf);
const columns = Math.max(
  80,
  ...rows.map((spans) => spans.reduce((sum, span) => sum + span.text.length, 0)),
);
const width = Math.ceil(columns * CELL.width + 2 * PADDING);
const height = Math.ceil(rows.length * CELL.height + 2 * PADDING);

process.stdout.write(
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">\n` +
    `<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n` +
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">\n` +
    rows.map(rowElement).join('') +
    '</g>\n</svg>\n',
);

function rowElement(spans, index) {
  const y = PADDING + index * CELL.height + 14;
  let column = 0;
  const pieces = spans.map(({ text, style }) => {
    const x = (PADDING + column * CELL.width).toFixed(1);
    const length = (text.length * CELL.width).toFixed(1);
    column += text.length;
    if (text.trim() === '') return '';
    const look = [
      `fill="${style.color}"`,
      style.bold ? 'font-weight="bold"' : '',
      style.dim ? 'opacity="0.6"' : '',
      style.italic ? 'font-style="italic"' : '',
    ];
    return `<text style="white-space:pre" x="${x}" y="${y}" textLength="${length}" ${look.filter(Boolean).join(' ')}>${escape(text)}</text>\n`;
  });
  return pieces.join('');
}

/** A style lasts from line to line until it is changed. */
function spansOf(line) {
  const spans = [];
  for (const piece of line.split(/(\x1b\[[\d;]*m)/)) {
    const codes = /^\x1b\[([\d;]*)m$/.exec(piece);
    if (codes !== null) style = restyled(style, codes[1].split(';').map(Number));
    else if (piece !== '') spans.push({ text: piece, style });
  }
  return spans;
}

function restyled(style, codes) {
  let next = { ...style };
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index];
    if (code === 0) next = { ...PLAIN };
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 3) next.italic = true;
    else if (code === 22) next = { ...next, bold: false, dim: false };
    else if (code === 23) next.italic = false;
    else if (code === 39) next.color = PLAIN.color;
    else if (code >= 30 && code <= 37) next.color = PALETTE[0][code - 30];
    else if (code >= 90 && code <= 97) next.color = PALETTE[1][code - 90];
    else if (code === 38 && codes[index + 1] === 5) {
      next.color = indexedColor(codes[index + 2]);
      index += 2;
    }
  }
  return next;
}

function indexedColor(index) {
  if (index < 16) return PALETTE[index < 8 ? 0 : 1][index % 8];
  if (index >= 232) {
    const level = 8 + (index - 232) * 10;
    return `rgb(${level},${level},${level})`;
  }
  const levels = [0, 95, 135, 175, 215, 255];
  const cube = index - 16;
  return `rgb(${levels[Math.floor(cube / 36)]},${levels[Math.floor(cube / 6) % 6]},${levels[cube % 6]})`;
}

function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
