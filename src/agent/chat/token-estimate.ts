import type { Content } from '../../parts/content.js';
import type { Part } from '../../parts/part.js';

const BYTES_PER_TOKEN = 4;
/** Of an image or another file, whatever its size. */
const MEDIA_TOKENS = 1_000;

/**
 * About how many tokens contents are, rather too many than too few. Gemini makes a token of every digit and of about
 * four bytes of other text.
 */
export function estimateTokens(contents: readonly Content[]): number {
  return contents.reduce(
    (sum, { parts }) => sum + parts.reduce((inner, part) => inner + partTokens(part), 0),
    0,
  );
}

function partTokens({ inlineData, fileData, ...rest }: Part): number {
  const media = inlineData === undefined && fileData === undefined ? 0 : MEDIA_TOKENS;
  const text = JSON.stringify(rest);
  const digits = text.match(/\d/g)?.length ?? 0;
  return media + digits + Math.ceil((Buffer.byteLength(text) - digits) / BYTES_PER_TOKEN);
}
