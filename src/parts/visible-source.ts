/** Marks that reorder what follows them. */
const REORDERING = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;
const UNPRINTABLE = /[\x00-\x08\x0B\x0E-\x1F\x7F-\x9F]|\p{Surrogate}/gu;

/**
 * Source code so that a reader sees what runs: Python's line breaks as newlines, and nothing that a terminal or browser
 * would hide or reorder. A form feed, which Python takes as a blank, is one.
 */
export function visibleSource(code: string): string {
  return withoutReordering(
    code.replace(/\r\n?/g, '\n').replaceAll('\f', ' ').replace(UNPRINTABLE, visible),
  );
}

/** A script could show other code, or a text other words, than there are; the marks become U+FFFD. */
export function withoutReordering(text: string): string {
  return text.replace(REORDERING, '\uFFFD');
}

function visible(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\uFFFD';
}
