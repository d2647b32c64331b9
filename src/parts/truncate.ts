/**
 * Keeps the head and the tail of a text that is longer than `limit` characters (UTF-16 units), cut between lines
 * where one ends near by; a line between them says how much is missing. The result is never longer than `limit`; one
 * too small for a head and a tail leaves of that line what fits. No surrogate pair is split.
 */
export function truncate(text: string, limit: number): string {
  if (text.length <= limit) return text;
  // Reserved as if everything were cut: the real counts have no more digits. Two newlines set the line apart.
  const everything = marker(text.length, countNewlines(text, 0, text.length));
  const room = limit - everything.length - 2;
  if (room < 2) return everything.slice(0, Math.max(0, limit));
  const headEnd = endOfHead(text, Math.ceil(room / 2));
  const tailStart = startOfTail(text, text.length - Math.floor(room / 2));
  const head = text.slice(0, headEnd);
  const line = marker(tailStart - headEnd, countNewlines(text, headEnd, tailStart));
  return `${head}${head.endsWith('\n') ? '' : '\n'}${line}\n${text.slice(tailStart)}`;
}

function marker(characters: number, lines: number): string {
  return lines === 0
    ? `[... ${characters} characters cut ...]`
    : `[... ${characters} characters in ${lines} lines cut ...]`;
}

function endOfHead(text: string, end: number): number {
  const newline = text.lastIndexOf('\n', end);
  return newline >= end / 2 ? newline + 1 : wholeCharacters(text, end);
}

function startOfTail(text: string, start: number): number {
  const newline = text.indexOf('\n', start - 1);
  const isNear = newline !== -1 && newline + 1 - start <= (text.length - start) / 2;
  return isNear ? newline + 1 : start + (splitsPair(text, start) ? 1 : 0);
}

/** The greatest index up to `end` that splits no surrogate pair. */
function wholeCharacters(text: string, end: number): number {
  return splitsPair(text, end) ? end - 1 : end;
}

function splitsPair(text: string, index: number): boolean {
  return index > 0 && (text.codePointAt(index - 1) ?? 0) > 0xffff;
}

function countNewlines(text: string, start: number, end: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', start); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) {
    count += 1;
  }
  return count;
}
