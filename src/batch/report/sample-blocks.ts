import { gzipSync } from 'node:zlib';

/** What the table shows of a sample; the names are those of `pages/report.js`. */
export interface SampleRow {
  id: string;
  epoch: number;
  status: string;
  standing: string;
  /** In the batch that this one is compared with. */
  before?: string;
  prompt: string;
  answer: string;
  target: string;
  explanation: string;
  steps: number;
  scripts: number;
  tokens: number;
  seconds: number;
  /** Values of the fields by which the report groups. */
  groups: string[][];
  /** Which block of transcripts holds its own, and where. */
  place: [block: number, index: number];
}

const MAX_BLOCK_SAMPLES = 64;
const MAX_BLOCK_CHARACTERS = 512 * 1024;
const ROWS_AT_ONCE = 1024;

/**
 * The samples as data of a page: compressed, since there may be tens of thousands, and in blocks, of which a browser unpacks
 * one when a sample of it is looked at. Only the block being filled is in memory.
 */
export class SampleBlocks {
  #rows: SampleRow[] = [];
  #transcripts: string[] = [];
  #characters = 0;
  #blocks = 0;

  /** Returns what is to be written now; often nothing. */
  add(row: Omit<SampleRow, 'place'>, transcript: string): string {
    this.#rows.push({ ...row, place: [this.#blocks, this.#transcripts.length] });
    this.#transcripts.push(transcript);
    this.#characters += transcript.length;
    const isFull =
      this.#transcripts.length >= MAX_BLOCK_SAMPLES || this.#characters >= MAX_BLOCK_CHARACTERS;
    return (
      (isFull ? this.#endBlock() : '') + (this.#rows.length >= ROWS_AT_ONCE ? this.#endRows() : '')
    );
  }

  /** The rest. */
  end(): string {
    return (this.#transcripts.length > 0 ? this.#endBlock() : '') + this.#endRows();
  }

  #endBlock(): string {
    const block = dataBlock('transcripts', this.#transcripts);
    this.#transcripts = [];
    this.#characters = 0;
    this.#blocks += 1;
    return block;
  }

  #endRows(): string {
    const block = this.#rows.length > 0 ? dataBlock('rows', this.#rows) : '';
    this.#rows = [];
    return block;
  }
}

/** Base64 holds nothing that could end the element. */
function dataBlock(kind: string, value: unknown): string {
  const packed = gzipSync(JSON.stringify(value)).toString('base64');
  return `<script type="application/gzip" class="${kind}">${packed}</script>\n`;
}
