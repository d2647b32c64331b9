/**
 * Terminal control in text that programs printed. Escape forms as in ECMA-48 and xterm's "Control Sequences".
 * Node's `util.stripVTControlCharacters` does not serve: it leaves titles with blanks, colon-separated colours and
 * device control strings behind. Every pattern here is linear: no two of its neighbours can match the same character.
 */

/** Title, hyperlink, device control: up to BEL or ST. An unterminated one ends with its line, so that no line is lost. */
const STRING = String.raw`\x1B[\]PX^_][^\x07\x1B\x9C\n]*(?:\x07|\x1B\\|\x9C)?`;
/** The 8-bit forms must be complete: their introducers also occur in wrongly decoded text. */
const STRING_8_BIT = String.raw`\x9D\d+;[^\x07\x1B\x9C\x9D\n]*(?:\x07|\x1B\\|\x9C)`;
const CONTROL = String.raw`\x1B\[[0-?]*[ -/]*[@-~]?`;
const CONTROL_8_BIT = String.raw`\x9B(?:[0-?]+[ -/]*[@-~]|[mK])`;
const SINGLE = String.raw`\x1B[ -/]*[0-~]?`;

const ANY_ESCAPE = [STRING, STRING_8_BIT, CONTROL, CONTROL_8_BIT, SINGLE].join('|');

/** "Erase to the end of the line", the one escape that changes which characters of a rewritten line are seen. */
const ERASE = '\x1B[K';
const ESCAPE_BUT_ERASE = new RegExp(String.raw`(?!\x1B\[K)(?:${ANY_ESCAPE})`, 'g');
const ERASE_REST = /(?:\x1B\[|\x9B)0?K/g;
const ERASE_WHOLE = /(?:\x1B\[|\x9B)2K/g;

const REWRITES = /[\b\r\x1B]/g;
const UNPRINTABLE = /[\x00-\x08\x0B-\x1F\x7F-\x9F]|\p{Surrogate}/gu;

/**
 * What a terminal would show of `text`, line by line: escape sequences are gone, text overwritten by carriage
 * returns and backspaces (progress bars) too, `\r\n` is a newline. Other control characters become visible (`␀`),
 * broken surrogates U+FFFD. Newlines and tabs stay; text without control characters comes back as it is.
 * One UTF-16 unit counts as one column; movements of the cursor between lines are dropped.
 */
export function plainText(text: string): string {
  if (text.search(UNPRINTABLE) === -1) return text;
  const unescaped = text
    .replaceAll('\r\n', '\n')
    .replace(ERASE_WHOLE, `\r${ERASE}`)
    .replace(ERASE_REST, ERASE)
    .replace(ESCAPE_BUT_ERASE, '');
  return withRewrittenLines(unescaped).replace(UNPRINTABLE, visible);
}

function withRewrittenLines(text: string): string {
  let shown = '';
  let done = 0;
  for (;;) {
    REWRITES.lastIndex = done;
    const match = REWRITES.exec(text);
    if (match === null) return shown + text.slice(done);
    const start = Math.max(done, text.lastIndexOf('\n', match.index) + 1);
    const newline = text.indexOf('\n', match.index);
    const end = newline === -1 ? text.length : newline;
    shown += text.slice(done, start) + rewrittenLine(text.slice(start, end));
    done = end;
  }
}

/** Lays the passes over the line upon each other, the last one first, so that each character is looked at once. */
function rewrittenLine(line: string): string {
  let shown = '';
  let end = line.length;
  for (;;) {
    const start = end === 0 ? 0 : line.lastIndexOf('\r', end - 1) + 1;
    const pass = line.slice(start, end);
    const erases = pass.includes(ERASE);
    const text = pass.includes('\b') ? backspaced(pass) : pass.replaceAll(ERASE, '');
    if (text.length > shown.length) shown += text.slice(shown.length);
    if (erases || start === 0) return shown.replace(/(?<! ) +$/, '');
    end = start - 1;
  }
}

function backspaced(pass: string): string {
  const units = new Uint16Array(pass.length);
  let column = 0;
  let length = 0;
  for (let at = 0; at < pass.length; at += 1) {
    const character = pass[at];
    if (character === '\b') {
      column = Math.max(0, column - 1);
    } else if (character === '\x1B') {
      length = column;
      at += ERASE.length - 1;
    } else {
      units[column] = pass.charCodeAt(at);
      column += 1;
      length = Math.max(length, column);
    }
  }
  return new TextDecoder('utf-16le', { ignoreBOM: true }).decode(units.subarray(0, length));
}

function visible(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : '\uFFFD';
}
