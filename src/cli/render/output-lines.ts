/** Of a line without an end this many characters are kept. */
const MAX_PENDING = 10_000;

/** Makes whole lines out of the pieces in which a script's output comes. */
export class OutputLines {
  #pending = '';

  /** The lines that `text` completed, as they were printed. */
  add(text: string): string[] {
    const lines = (this.#pending + text).split('\n');
    this.#pending = shortened(lines.pop() ?? '');
    return lines;
  }

  /** The line that has no end yet. */
  get pending(): string {
    return this.#pending;
  }

  /** Takes the line that has no end; none where there is nothing. */
  end(): string[] {
    const line = this.#pending;
    this.#pending = '';
    return line === '' ? [] : [line];
  }
}

/** A progress bar rewrites its line for hours: of a long line only the last state is kept. */
function shortened(line: string): string {
  if (line.length <= MAX_PENDING) return line;
  const lastState = line.slice(line.lastIndexOf('\r', line.length - 2) + 1);
  return lastState.slice(0, MAX_PENDING);
}
