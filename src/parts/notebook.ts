import { imageOf } from './image.js';
import { multiline } from './notebook-cell.js';
import type { CodeCell, MarkdownCell, Notebook } from './notebook-cell.js';
import { scriptOutputs } from './notebook-output.js';
import type { InlineData, Outcome } from './part.js';
import { filesMarkdown, pieceMarkdown } from './piece-text.js';
import { detailsLine, runDetails } from './run-details.js';
import type { RunDetails } from './run-details.js';
import { transcriptPieces } from './transcript.js';
import type { Transcript, TranscriptPiece } from './transcript.js';

/** Where our own metadata stands, of the notebook and of its cells. */
export const NOTEBOOK_KEY = 'colab_solver';

/**
 * A transcript as a Jupyter notebook that runs again: scripts as code cells with their outputs, all else as Markdown.
 * A script that failed is tagged so that running all cells goes on behind it; one that ran out of time so that
 * nbclient, which has no limit of its own, leaves it out.
 */
export function notebookOf({ prompt, contents, metadata }: Transcript): Notebook {
  const cells: NewCell[] = [aboutCell(runDetails(metadata))];
  let count = 0;
  for (const piece of transcriptPieces(contents)) {
    if (piece.kind === 'script' && piece.result !== undefined) count += 1;
    cells.push(piece.kind === 'script' ? codeCell(piece, count) : proseCell(piece));
  }
  return wellFormed({
    nbformat: 4,
    nbformat_minor: 5,
    metadata: {
      kernelspec: { display_name: 'Python 3', language: 'python', name: 'python3' },
      language_info: { name: 'python' },
      colab: { provenance: [] },
      [NOTEBOOK_KEY]: { prompt, ...metadata },
    },
    cells: cells.map((cell, index) => ({ ...cell, id: `cell-${index + 1}` })),
  });
}

type NewCell = Omit<MarkdownCell, 'id'> | Omit<CodeCell, 'id'>;

function aboutCell(details: RunDetails): NewCell {
  const line = detailsLine(details);
  const text = [
    `**A run of colab-solver**${line === '' ? '' : ` · ${line}`}`,
    ...(details.reason === undefined ? [] : [details.reason]),
    filesMarkdown(details),
  ];
  return markdownCell(text.filter((each) => each !== '').join('\n\n'));
}

function codeCell(
  { code, result, images }: Extract<TranscriptPiece, { kind: 'script' }>,
  count: number,
): NewCell {
  return {
    cell_type: 'code',
    metadata: result === undefined ? {} : codeMetadata(result.outcome),
    execution_count: result === undefined ? null : count,
    source: multiline(code),
    outputs: result === undefined ? [] : scriptOutputs(result, images, count),
  };
}

function codeMetadata(outcome: Outcome): Record<string, unknown> {
  const tags = TAGS[outcome];
  return { ...(tags !== undefined && { tags }), [NOTEBOOK_KEY]: { outcome } };
}

const TAGS: Partial<Record<Outcome, string[]>> = {
  OUTCOME_FAILED: ['raises-exception'],
  OUTCOME_DEADLINE_EXCEEDED: ['skip-execution'],
};

function proseCell(piece: Exclude<TranscriptPiece, { kind: 'script' }>): NewCell {
  const image = piece.kind === 'data' ? imageCell(piece.data) : undefined;
  if (image !== undefined) return image;
  const mark = piece.kind === 'text' ? { [NOTEBOOK_KEY]: { role: piece.role } } : {};
  return markdownCell(pieceMarkdown(piece), mark);
}

function imageCell(data: InlineData): NewCell | undefined {
  const image = imageOf(data);
  if (image === undefined) return undefined;
  const name = `image.${image.mimeType.slice('image/'.length).replace('+xml', '')}`;
  return {
    ...markdownCell(`![image](attachment:${name})`),
    attachments: { [name]: { [image.mimeType]: image.base64 } },
  };
}

function markdownCell(text: string, metadata = {}): Omit<MarkdownCell, 'id'> {
  return { cell_type: 'markdown', metadata, source: multiline(text) };
}

/** Broken surrogates, which cannot be written as UTF-8, become U+FFFD. */
function wellFormed(notebook: Notebook): Notebook {
  const json = JSON.stringify(notebook);
  return JSON.parse(json, (_key, value: unknown) =>
    typeof value === 'string' ? value.replace(/\p{Surrogate}/gu, '\uFFFD') : value,
  ) as Notebook;
}
