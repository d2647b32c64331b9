import { plainText } from '../parts/ansi.js';
import { withoutDisplayCounts } from '../parts/display.js';
import { imageOf, sizeOfBase64 } from '../parts/image.js';
import type { CodeExecutionResult, InlineData, Outcome } from '../parts/part.js';
import { pieceMarkdown } from '../parts/piece-text.js';
import { transcriptPieces } from '../parts/transcript.js';
import type { Transcript, TranscriptPiece } from '../parts/transcript.js';
import { withoutReordering } from '../parts/visible-source.js';
import { markup } from './html.js';
import type { Html } from './html.js';
import { prose } from './prose.js';
import { pythonMarkup } from './python-markup.js';

/** Everything that was said and done, as the body of a page that has the style of `pages/transcript.css`. */
export function transcriptMarkup({ contents }: Pick<Transcript, 'contents'>): Html {
  let scripts = 0;
  const pieces = transcriptPieces(contents).map((piece) =>
    piece.kind === 'script' ? scriptMarkup(piece, (scripts += 1)) : proseMarkup(piece),
  );
  return markup`${pieces}`;
}

const ENDINGS: Partial<Record<Outcome, [text: string, style: string]>> = {
  OUTCOME_OK: ['ok', 'good'],
  OUTCOME_FAILED: ['failed', 'bad'],
  OUTCOME_DEADLINE_EXCEEDED: ['out of time', 'late'],
  OUTCOME_UNSPECIFIED: ['unknown', 'late'],
};

function scriptMarkup(
  { code, result, images }: Extract<TranscriptPiece, { kind: 'script' }>,
  number: number,
): Html {
  const [ending, style] =
    result === undefined
      ? ['not run', 'late']
      : (ENDINGS[result.outcome] ?? [result.outcome, 'late']);
  return markup`<section class="script">
<h2>Script ${number} <span class="ending ${style}">${ending}</span></h2>
<pre class="code" tabindex="0"><code>${pythonMarkup(code)}</code></pre>
${result !== undefined && outputMarkup(result, images.length)}${images.map(dataMarkup)}</section>
`;
}

/** Where the images are shown there is no need to count them. */
function outputMarkup({ output }: CodeExecutionResult, images: number): Html {
  const said = images === 0 ? output : withoutDisplayCounts(output);
  if (said === '') return markup``;
  const text = withoutReordering(plainText(said));
  return markup`<pre class="output" tabindex="0"><samp>${text}</samp></pre>
`;
}

function proseMarkup(piece: Exclude<TranscriptPiece, { kind: 'script' }>): Html {
  switch (piece.kind) {
    case 'text':
      return said(piece.role, prose(piece.text));
    case 'data':
      return said(piece.role, dataMarkup(piece.data));
    default:
      return markup`<div class="aside">${prose(pieceMarkdown(piece))}</div>
`;
  }
}

function said(role: 'user' | 'model', content: Html): Html {
  return markup`<div class="said ${role}">${content}</div>
`;
}

/** Pictures are shown as images, where even an SVG runs no script and loads nothing; other data can be saved. */
function dataMarkup(data: InlineData): Html {
  const { mimeType, displayName } = data;
  const image = imageOf(data);
  if (image !== undefined) {
    const source = `data:${image.mimeType};base64,${image.base64}`;
    return markup`<figure><img src="${source}" alt="${displayName ?? 'image'}"></figure>
`;
  }
  const name = displayName ?? 'data';
  const bytes = Buffer.from(data.data, 'base64').toString('base64');
  const link = `data:application/octet-stream;base64,${bytes}`;
  return markup`<p class="attachment"><a download="${name}" href="${link}">${name}</a>
(${mimeType}, ${sizeOfBase64(data.data)} bytes)</p>
`;
}
