import { plainText } from '../parts/ansi.js';
import { fenced } from '../parts/fence.js';
import { imageOf } from '../parts/image.js';
import type { InlineData } from '../parts/part.js';
import { filesMarkdown, pieceMarkdown } from '../parts/piece-text.js';
import { detailsLine, runDetails } from '../parts/run-details.js';
import { transcriptPieces } from '../parts/transcript.js';
import type { Transcript, TranscriptPiece } from '../parts/transcript.js';
import { visibleSource } from '../parts/visible-source.js';

/**
 * A transcript as Markdown. Pictures stand at its end, as link definitions that hold them, so that the text above can be
 * read as it is.
 */
export function markdownPage({ contents, metadata }: Transcript): string {
  const details = runDetails(metadata);
  const pictures: string[] = [];
  const show = (data: InlineData): string => {
    const image = imageOf(data);
    if (image === undefined) return pieceMarkdown({ kind: 'data', role: 'model', data });
    const label = `image-${pictures.length + 1}`;
    pictures.push(`[${label}]: data:${image.mimeType};base64,${image.base64}`);
    return `![${label}][${label}]`;
  };
  let scripts = 0;
  const sections = transcriptPieces(contents).map((piece) => {
    if (piece.kind === 'script') return scriptMarkdown(piece, (scripts += 1), show);
    return piece.kind === 'data' ? show(piece.data) : textMarkdown(piece);
  });
  const line = detailsLine(details);
  return `${[
    '# A run of colab-solver',
    line,
    details.reason ?? '',
    filesMarkdown(details),
    ...sections,
    pictures.join('\n'),
  ]
    .filter((section) => section !== '')
    .join('\n\n')}\n`.replace(/\p{Surrogate}/gu, '\uFFFD');
}

function textMarkdown(piece: Exclude<TranscriptPiece, { kind: 'script' }>): string {
  const text = pieceMarkdown(piece).trim();
  if (piece.kind !== 'text' || piece.role !== 'user') return text;
  return text.replace(/^/gm, '> ').replace(/^> $/gm, '>');
}

function scriptMarkdown(
  { code, result, images }: Extract<TranscriptPiece, { kind: 'script' }>,
  number: number,
  show: (data: InlineData) => string,
): string {
  return [
    `**Script ${number}**${result === undefined ? ' (not run)' : ''}`,
    fenced(visibleSource(code), 'python'),
    ...(result === undefined ? [] : [result.outcome, fenced(plainText(result.output), 'text')]),
    ...images.map(show),
  ].join('\n\n');
}
