import type { RecordedRun } from '../../agent/recorded-run.js';
import type { Content } from '../../parts/content.js';
import type { Part } from '../../parts/part.js';
import { truncate } from '../../parts/truncate.js';
import { htmlText } from '../../transcript/html.js';
import { transcriptMarkup } from '../../transcript/piece-markup.js';

/** A browser shows a page of so much; what is beyond is named and stays in the transcripts of the batch folder. */
const MAX_IMAGE_CHARACTERS = 100 * 1024 * 1024;
const MAX_TEXT_CHARACTERS = 50_000;

/** Transcripts as markup for one page, of which together they hold no more than it can bear. */
export class PageTranscripts {
  #room = MAX_IMAGE_CHARACTERS;

  markup(run: RecordedRun): string {
    return htmlText(
      transcriptMarkup({ contents: run.contents.map((content) => this.#fitting(content)) }),
    );
  }

  #fitting(content: Content): Content {
    return { ...content, parts: content.parts.map((part) => this.#fittingPart(part)) };
  }

  #fittingPart(part: Part): Part {
    const { text, inlineData, codeExecutionResult } = part;
    if (inlineData !== undefined) {
      if (inlineData.data.length > this.#room) {
        const note = `(${inlineData.mimeType} left out: this page would be too large; it is in transcripts/runs.jsonl)`;
        return { inlineData: { mimeType: 'text/plain', data: '', displayName: note } };
      }
      this.#room -= inlineData.data.length;
    }
    if (text !== undefined) return { ...part, text: truncate(text, MAX_TEXT_CHARACTERS) };
    if (codeExecutionResult === undefined) return part;
    const output = truncate(codeExecutionResult.output, MAX_TEXT_CHARACTERS);
    return { ...part, codeExecutionResult: { ...codeExecutionResult, output } };
  }
}
