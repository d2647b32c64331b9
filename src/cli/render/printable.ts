import { plainText } from '../../parts/ansi.js';
import { withoutReordering } from '../../parts/visible-source.js';

const TAB = '    ';

/**
 * Text from a model or a script, made harmless for a terminal: no escape sequences, control codes made
 * visible, tabs as blanks. Newlines stay.
 */
export function printable(text: string): string {
  return withoutReordering(plainText(text).replaceAll('\t', TAB));
}
