import type { InlineData } from './part.js';

/** A picture that browsers and notebooks can show. */
export interface Image {
  mimeType: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp' | 'image/svg+xml';
  /** Standard base64, padded, without blanks. */
  base64: string;
  /** The source of an SVG. */
  svg?: string;
}

const RASTER = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;
const XML = ['image/svg+xml', 'text/xml', 'application/xml'];

/** The picture in the data; undefined where it is none, whatever its MIME type claims. */
export function imageOf({ mimeType, data }: InlineData): Image | undefined {
  const [kind = ''] = mimeType.toLowerCase().split(';');
  const bytes = Buffer.from(data, 'base64');
  if (bytes.length === 0) return undefined;
  const raster = RASTER.find((known) => known === kind.trim().replace('/jpg', '/jpeg'));
  if (raster !== undefined) return { mimeType: raster, base64: bytes.toString('base64') };
  if (!XML.includes(kind.trim())) return undefined;
  const svg = bytes.toString('utf8');
  if (!/<(?:\w+:)?svg[\s>]/.test(svg)) return undefined;
  return { mimeType: 'image/svg+xml', base64: bytes.toString('base64'), svg };
}

/** Of base64, without decoding it. */
export function sizeOfBase64(data: string): number {
  return Buffer.byteLength(data, 'base64');
}
