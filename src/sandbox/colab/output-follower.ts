import type { OutputChunk } from '../execution.js';

type StreamName = OutputChunk['stream'];

export interface FollowedChunk {
  /** Undefined where the server does not tell its streams apart; then it is shown as stdout. */
  stream: StreamName | undefined;
  text: string;
}

/** How much of each stream is kept for a script that is interrupted, in UTF-16 units. */
export const KEPT_OUTPUT_LENGTH = 1_000_000;
/** Enough to tell whether a replay starts at the beginning, and where a shortened one goes on. */
const PROBE_LENGTH = 256;

/**
 * Shows a script's output once, though the server replays it from the start each time we re-attach,
 * or only its end where it kept no more.
 */
export class OutputFollower {
  readonly #streams: Record<StreamName, FollowedStream>;
  #tellsStreams = false;
  #listenerError: { error: unknown } | undefined;

  constructor(
    onOutput: ((chunk: OutputChunk) => void) | undefined,
    keptLength = KEPT_OUTPUT_LENGTH,
  ) {
    const show = (chunk: OutputChunk): void => {
      if (this.#listenerError !== undefined) return;
      try {
        onOutput?.(chunk);
      } catch (error) {
        this.#listenerError = { error };
      }
    };
    const follow = (stream: StreamName): FollowedStream =>
      new FollowedStream((text) => {
        show({ stream, text });
      }, keptLength);
    this.#streams = { stdout: follow('stdout'), stderr: follow('stderr') };
  }

  /** The server starts over. */
  reattach(): void {
    this.#streams.stdout.reattach();
    this.#streams.stderr.reattach();
  }

  add({ stream, text }: FollowedChunk): void {
    if (stream !== undefined) this.#tellsStreams = true;
    this.#streams[stream ?? 'stdout'].add(text);
  }

  /** Shows what the result holds beyond what was shown. */
  finish(result: { stdout: string; stderr: string; outputTruncated: boolean }): void {
    const { stdout, stderr } = this.#streams;
    if (!this.#tellsStreams && result.stderr !== '') {
      // What was shown holds both streams, so it is compared with them line by line.
      const shown = linesOf(stdout.kept);
      stdout.append(unseen(result.stdout, shown));
      stderr.append(unseen(result.stderr, shown));
      return;
    }
    stdout.finish(result.stdout, result.outputTruncated);
    stderr.finish(result.stderr, result.outputTruncated);
  }

  /** Throws what the listener threw: not before the script has ended, since it is not the script's fault. */
  throwIfListenerFailed(): void {
    if (this.#listenerError !== undefined) throw this.#listenerError.error;
  }

  /** The end of what was printed. */
  partial(): { stdout: string; stderr: string; outputTruncated: boolean } {
    const { stdout, stderr } = this.#streams;
    return {
      stdout: stdout.kept,
      stderr: stderr.kept,
      outputTruncated: stdout.isCut || stderr.isCut,
    };
  }
}

class FollowedStream {
  readonly #show: (text: string) => void;
  readonly #keptLength: number;
  #head = '';
  #pieces: string[] = [];
  #piecesLength = 0;
  #shownLength = 0;
  /** Replayed text whose place among what was shown is not known yet. */
  #unplaced: string | undefined;
  /** Replayed text still to come that was shown already. */
  #toSkip = 0;

  constructor(show: (text: string) => void, keptLength: number) {
    this.#show = show;
    this.#keptLength = keptLength;
  }

  get kept(): string {
    return this.#pieces.join('').slice(-this.#keptLength);
  }

  get isCut(): boolean {
    return this.#shownLength > this.#keptLength;
  }

  reattach(): void {
    this.#toSkip = 0;
    this.#unplaced = this.#shownLength === 0 ? undefined : '';
  }

  add(text: string): void {
    if (this.#unplaced === undefined) {
      this.#emit(this.#skip(text));
      return;
    }
    const replay = this.#unplaced + text;
    const place = this.#place(replay);
    this.#unplaced = place === undefined ? replay : undefined;
    if (place === undefined) return;
    this.#toSkip = place;
    this.#emit(this.#skip(replay));
  }

  finish(whole: string, isTruncated: boolean): void {
    this.#unplaced = undefined;
    this.#toSkip = 0;
    const isWhole = !isTruncated || whole.length >= this.#shownLength;
    if (isWhole && this.#startsAsShown(whole)) this.#emit(whole.slice(this.#shownLength));
    else if (isTruncated) this.#emit(whole.slice(this.#shownOf(whole)));
  }

  /** How much of the output's end was shown before. It may reach further back than what is kept. */
  #shownOf(end: string): number {
    const at = this.isCut ? end.lastIndexOf(this.kept) : -1;
    return at === -1 ? overlap(this.kept, end) : at + this.#keptLength;
  }

  /** Shows text that is known to be new. */
  append(text: string): void {
    this.#emit(text);
  }

  /** How much of a replay was shown before; undefined where more of it is needed to tell. */
  #place(replay: string): number | undefined {
    if (this.#startsAsShown(replay)) {
      return replay.length < this.#head.length ? undefined : this.#shownLength;
    }
    const known = overlap(this.kept, replay);
    return known === replay.length && known < this.#keptLength ? undefined : known;
  }

  #startsAsShown(text: string): boolean {
    const length = Math.min(text.length, this.#head.length);
    return text.slice(0, length) === this.#head.slice(0, length);
  }

  #skip(text: string): string {
    const skipped = Math.min(this.#toSkip, text.length);
    this.#toSkip -= skipped;
    return text.slice(skipped);
  }

  #emit(text: string): void {
    if (text === '') return;
    if (this.#head.length < PROBE_LENGTH) {
      this.#head += text.slice(0, PROBE_LENGTH - this.#head.length);
    }
    this.#shownLength += text.length;
    this.#pieces.push(text);
    this.#piecesLength += text.length;
    while (this.#piecesLength - (this.#pieces[0]?.length ?? 0) >= this.#keptLength) {
      this.#piecesLength -= this.#pieces.shift()?.length ?? 0;
    }
    this.#show(text);
  }
}

/** How often each line stands in the text, its end included. */
function linesOf(text: string): Map<string, number> {
  const lines = new Map<string, number>();
  for (const line of text.match(LINE) ?? []) lines.set(line, (lines.get(line) ?? 0) + 1);
  return lines;
}

const LINE = /[^\n]*\n|[^\n]+$/g;

/** The lines of `text` that are not among the shown ones, which are used up by it. */
function unseen(text: string, shown: Map<string, number>): string {
  const isUnseen = (line: string): boolean => {
    const times = shown.get(line) ?? 0;
    shown.set(line, times - 1);
    return times <= 0;
  };
  return (text.match(LINE) ?? []).filter(isUnseen).join('');
}

/**
 * Length of the longest start of `text` that stands in `shown`, either whole or up to the end of `shown`; found by Knuth,
 * Morris and Pratt's way, since output that repeats itself makes every simpler one quadratic.
 */
function overlap(shown: string, text: string): number {
  if (text === '') return 0;
  const borders = bordersOf(text);
  let known = 0;
  for (let at = 0; at < shown.length; at++) {
    known = extended(text, borders, known, shown.charCodeAt(at));
    if (known === text.length) return known;
  }
  return known;
}

/** For each start of the text, the length of its longest proper end that is a start too. */
function bordersOf(text: string): Uint32Array {
  const borders = new Uint32Array(text.length);
  let border = 0;
  for (let at = 1; at < text.length; at++) {
    border = extended(text, borders, border, text.charCodeAt(at));
    borders[at] = border;
  }
  return borders;
}

function extended(text: string, borders: Uint32Array, known: number, unit: number): number {
  let length = known;
  while (length > 0 && text.charCodeAt(length) !== unit) length = borders[length - 1] ?? 0;
  return text.charCodeAt(length) === unit ? length + 1 : length;
}
