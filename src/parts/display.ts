import type { RichOutput } from '../sandbox/execution.js';
import type { InlineData } from './part.js';

/** What models and people look at, as Gemini's own tool hands it over: base64, an SVG drawing as `text/xml`. */
export function imageOf({ data }: RichOutput): InlineData | undefined {
  if (data === undefined) return undefined;
  for (const mimeType of RASTER) {
    const image = data[mimeType];
    if (typeof image === 'string') return { mimeType, data: image.replace(/\s/g, '') };
  }
  const drawing = data[SVG];
  if (typeof drawing !== 'string') return undefined;
  return { mimeType: 'text/xml', data: Buffer.from(drawing).toString('base64') };
}

/** True for images that Gemini models take. */
export function isSeenByModels({ mimeType }: InlineData): boolean {
  return RASTER.includes(mimeType);
}

const RASTER = ['image/png', 'image/jpeg', 'image/webp'];
const SVG = 'image/svg+xml';

/** Something displayed as the file that keeps it. */
export interface DisplayFile {
  /** Without a dot before it. */
  extension: string;
  mimeType: string;
  bytes: Uint8Array;
}

/** Undefined for what is text alone: that stands in the output. */
export function displayFile({ data = {}, isValue = false }: RichOutput): DisplayFile | undefined {
  for (const { pattern, extension, encoding } of FILES) {
    const mimeType = Object.keys(data).find((type) => pattern.test(type));
    if (mimeType === undefined || (isValue && extension === 'tex')) continue;
    const content = data[mimeType];
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    return { extension, mimeType, bytes: new Uint8Array(Buffer.from(text, encoding)) };
  }
  return undefined;
}

/** The best first. */
const FILES: { pattern: RegExp; extension: string; encoding: 'base64' | 'utf8' }[] = [
  { pattern: /^image\/png$/, extension: 'png', encoding: 'base64' },
  { pattern: /^image\/jpeg$/, extension: 'jpg', encoding: 'base64' },
  { pattern: /^image\/webp$/, extension: 'webp', encoding: 'base64' },
  { pattern: /^image\/svg\+xml$/, extension: 'svg', encoding: 'utf8' },
  { pattern: /^image\/gif$/, extension: 'gif', encoding: 'base64' },
  { pattern: /^application\/pdf$/, extension: 'pdf', encoding: 'base64' },
  { pattern: /^application\/vnd\.plotly\./, extension: 'plotly.json', encoding: 'utf8' },
  { pattern: /^application\/vnd\.vegalite\./, extension: 'vl.json', encoding: 'utf8' },
  { pattern: /^application\/vnd\.vega\./, extension: 'vg.json', encoding: 'utf8' },
  { pattern: /^text\/html$/, extension: 'html', encoding: 'utf8' },
  { pattern: /^application\/(geo\+)?json$/, extension: 'json', encoding: 'utf8' },
  { pattern: /^text\/markdown$/, extension: 'md', encoding: 'utf8' },
  { pattern: /^text\/latex$/, extension: 'tex', encoding: 'utf8' },
];

/**
 * What is said of displays in the text of a result: their plain text, how many images there were, what is missing.
 * @param attached How many of the images stand beside the text; absent where that is nobody's business.
 */
export function displayText(outputs: readonly RichOutput[], attached?: number): string {
  const images = outputs.filter((output) => imageOf(output) !== undefined);
  const texts = outputs
    .filter((output) => output.isValue !== true && !images.includes(output))
    .flatMap(plainTextOf);
  const errors = outputs.flatMap(({ error }) => (error === undefined ? [] : [`[${error}]`]));
  return [...texts, ...imageLine(images.length, attached), ...errors].join('\n');
}

/** The text of a result without the lines that only count what was displayed; they differ by how many a model was shown. */
export function withoutDisplayCounts(output: string): string {
  return output.replace(/^\[Displayed [^\n]*\.\]$\n?/gm, '');
}

/** What LaTeX, Markdown and text say to a reader; of the rest only the name of its class is text. */
function plainTextOf({ data = {} }: RichOutput): string[] {
  const best = ['text/latex', 'text/markdown', 'text/plain'].find((type) => type in data);
  const text = best === undefined ? undefined : data[best];
  if (typeof text === 'string') return [text.trimEnd()];
  const type = Object.keys(data)[0];
  return type === undefined ? [] : [`[Displayed ${type}.]`];
}

function imageLine(count: number, attached: number | undefined): string[] {
  if (count === 0) return [];
  const displayed = count === 1 ? 'Displayed 1 image' : `Displayed ${count} images`;
  if (attached === undefined || attached === count) return [`[${displayed}.]`];
  const seen = attached === 0 ? 'not attached' : `${attached} attached`;
  return [`[${displayed}, ${seen}.]`];
}
