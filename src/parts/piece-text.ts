import { codeSpan, fenced, withClosedFence } from './fence.js';
import { sizeOfBase64 } from './image.js';
import type { RunDetails } from './run-details.js';
import type { TranscriptPiece } from './transcript.js';
import { truncate } from './truncate.js';

const MAX_JSON_CHARACTERS = 4_000;

/** Everything but scripts, as Markdown. */
export function pieceMarkdown(piece: Exclude<TranscriptPiece, { kind: 'script' }>): string {
  switch (piece.kind) {
    case 'text':
      return withClosedFence(piece.text);
    case 'result':
      return `A result without its script (${piece.result.outcome}):\n\n${fenced(piece.result.output)}`;
    case 'data': {
      const { mimeType, data, displayName } = piece.data;
      const name = displayName === undefined ? '' : `${codeSpan(displayName)}, `;
      return `Data: ${name}${codeSpan(mimeType)}, ${sizeOfBase64(data)} bytes`;
    }
    case 'file': {
      const { fileUri, displayName } = piece.file;
      const name = displayName === undefined ? '' : `${codeSpan(displayName)}, `;
      return `File: ${name}${codeSpan(fileUri)}`;
    }
    case 'call':
      return `Called ${codeSpan(piece.call.name)}:\n\n${json(piece.call.args ?? {})}`;
    case 'response':
      return `${codeSpan(piece.response.name)} answered:\n\n${json(piece.response.response)}`;
    case 'other':
      return `A part of another kind:\n\n${json(piece.part)}`;
  }
}

/** The attached files, and how scripts find them again; empty where there are none. */
export function filesMarkdown({ files = [] }: RunDetails): string {
  if (files.length === 0) return '';
  const list = files.map(
    ({ name, sizeBytes }) =>
      `- ${codeSpan(name)}${sizeBytes === undefined ? '' : ` (${sizeBytes} bytes)`}`,
  );
  return [
    'Attached files, which the scripts read from their working directory:',
    list.join('\n'),
    'They are not in this file. To run the scripts again put them back: in Colab with the Files panel, in Jupyter beside ' +
      'the notebook, with `colab-solver replay` beside the file or with `--file`.',
  ].join('\n\n');
}

function json(value: unknown): string {
  return fenced(truncate(JSON.stringify(value, undefined, 2), MAX_JSON_CHARACTERS), 'json');
}
