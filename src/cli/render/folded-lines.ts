export interface FoldedLinesOptions<Line> {
  print: (line: Line) => void;
  /** Called once, before the last lines, with the number of lines left out. */
  printFold: (count: number) => void;
  /** Lines printed as they come. */
  head: number;
  /** Lines printed at the end when there were too many. */
  tail: number;
}

/** Prints the first lines as they come and, at the end, the last ones with the number of those between. */
export class FoldedLines<Line> {
  readonly #options: FoldedLinesOptions<Line>;
  #count = 0;
  #last: Line[] = [];

  constructor(options: FoldedLinesOptions<Line>) {
    this.#options = options;
  }

  /** Lines added so far. */
  get count(): number {
    return this.#count;
  }

  add(line: Line): void {
    this.#count += 1;
    if (this.#count <= this.#options.head) {
      this.#options.print(line);
      return;
    }
    this.#last.push(line);
    if (this.#last.length > this.#options.tail) this.#last.shift();
  }

  end(): void {
    const folded = this.#count - this.#options.head - this.#last.length;
    if (folded > 0) this.#options.printFold(folded);
    for (const line of this.#last) this.#options.print(line);
    this.#last = [];
  }
}
