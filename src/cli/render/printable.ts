import { plainText } from '../../parts/ansi.js';

/** Marks that reorder what follows them: a script could show other code than it runs. */
const REORDERING = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;
const TAB = '    ';

/**
 * Text from a model or a script, made harmless for a terminal: no escape sequences, control codes made
 * visible, tabs as blanks. Newlines stay.
 */
export function printable(text: string): string {
  return plainText(text).replaceAll('\t', TAB).replace(REORDERING, '\uFFFD');
}
