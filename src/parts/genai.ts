import { isDeepStrictEqual } from 'node:util';
import type { Content as GenaiContent, Part as GenaiPart } from '@google/genai';
import { z } from 'zod';
import { ModelError } from '../errors.js';
import type { Content } from './content.js';
import { PartSchema } from './part.js';
import type { Part } from './part.js';

/**
 * A response's parts as the SDK hands them over, which is as they came over the wire: unknown fields and kinds stay.
 * @throws {ModelError} `NOT_GEMINI` where a known field has a shape that the API does not have.
 */
export function partsFromGenai(parts: readonly GenaiPart[] | undefined): Part[] {
  const parsed = z.array(PartSchema).safeParse(parts ?? []);
  if (parsed.success) return parsed.data;
  throw new ModelError(
    'NOT_GEMINI',
    `The model's response cannot be read: ${z.prettifyError(parsed.error)}. ` +
      'Check that the base URL leads to the Gemini API.',
    { cause: parsed.error },
  );
}

export interface VerbatimRequest {
  /** For `generateContent`'s own `contents`: an empty turn, which the API would refuse if it ever arrived. */
  contents: GenaiContent[];
  /** For `config.httpOptions.extraBody`: what is really sent. */
  extraBody: Record<string, unknown>;
}

/**
 * What to give the SDK so that `contents` reach the wire exactly as they are. Given plainly, the SDK rebuilds each part
 * from the fields it knows, so that a new kind of part is lost and an unexpected field throws; what stands in
 * `extraBody` replaces the body's field of the same name untouched (@google/genai 2.32.0).
 */
export function verbatim(contents: readonly Content[]): VerbatimRequest {
  return { contents: [{ role: 'user', parts: [] }], extraBody: { contents } };
}

/**
 * Takes the parts of one streamed chunk into the content so far, which is left as it was. Neighbouring pieces of text
 * become one part; an empty one is dropped; a call or code sent twice under one id counts once. Everything else, and
 * every part with a signature, stands as it came and where it came.
 */
export function appendParts(content: Content, chunkParts: readonly Part[]): Content {
  const parts = [...content.parts];
  for (const part of chunkParts) appendPart(parts, part);
  return { ...content, parts };
}

function appendPart(parts: Part[], part: Part): void {
  if (isPlainText(part)) {
    appendText(parts, part);
    return;
  }
  const twin = parts.findIndex((earlier) => isRepeat(earlier, part));
  if (twin === -1) parts.push(part);
  else parts[twin] = { ...parts[twin], ...part };
}

function appendText(parts: Part[], part: PlainText): void {
  if (part.text === '') return;
  const last = parts.at(-1);
  const continues = last !== undefined && isPlainText(last) && isThought(last) === isThought(part);
  if (continues) parts[parts.length - 1] = { ...last, text: last.text + part.text };
  else parts.push(part);
}

type PlainText = Part & { text: string };

/** Text with nothing to it but, perhaps, that it is a thought. */
function isPlainText(part: Part): part is PlainText {
  return (
    part.text !== undefined && Object.keys(part).every((key) => key === 'text' || key === 'thought')
  );
}

function isThought(part: Part): boolean {
  return part.thought === true;
}

/** The same call or code once more. One of the two may lack the signature; two different ones are two parts. */
function isRepeat(earlier: Part, part: Part): boolean {
  const id = part.functionCall?.id ?? part.executableCode?.id;
  if (id === undefined) return false;
  const { thoughtSignature: earlierSignature, ...earlierRest } = earlier;
  const { thoughtSignature, ...rest } = part;
  const isSigned = earlierSignature !== undefined && thoughtSignature !== undefined;
  return (
    isDeepStrictEqual(earlierRest, rest) && (!isSigned || earlierSignature === thoughtSignature)
  );
}
