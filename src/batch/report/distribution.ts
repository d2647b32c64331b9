/** A bar of a histogram: from `from` up to, and without, `to`; the last one has no end. */
export interface Bin {
  from: number;
  to: number;
  count: number;
}

const MAX_BINS = 24;

/** Numbers of which only their distribution is wanted; eight bytes each. */
export class Distribution {
  #values = new Float64Array(1024);
  #count = 0;
  #sum = 0;
  #isSorted = true;

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const grown = new Float64Array(this.#count * 2);
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#values[this.#count] = value;
    this.#count += 1;
    this.#sum += value;
    this.#isSorted = false;
  }

  get count(): number {
    return this.#count;
  }

  get sum(): number {
    return this.#sum;
  }

  get mean(): number {
    return this.#count === 0 ? 0 : this.#sum / this.#count;
  }

  /** The value below which the share lies; 0 where there is none. */
  quantile(share: number): number {
    const sorted = this.#sorted();
    if (sorted.length === 0) return 0;
    return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  }

  /** Bars of one width, a whole one for whole numbers; the few largest values share the last bar. */
  bins(): Bin[] {
    const sorted = this.#sorted();
    const first = sorted[0];
    if (first === undefined) return [];
    const isWhole = sorted.every(Number.isInteger);
    const range = this.quantile(0.99) - first;
    const fine = range / (MAX_BINS - 1);
    const width = isWhole ? Math.max(1, Math.ceil(fine)) : fine;
    if (width === 0) return [{ from: first, to: first, count: sorted.length }];
    const number = Math.min(MAX_BINS, Math.floor(range / width) + 1);
    const bins = Array.from({ length: number }, (_, index) => {
      return { from: first + index * width, to: first + (index + 1) * width, count: 0 };
    });
    for (const value of sorted) {
      const bin = bins[Math.min(number - 1, Math.floor((value - first) / width))];
      if (bin !== undefined) bin.count += 1;
    }
    return bins;
  }

  #sorted(): Float64Array {
    const values = this.#values.subarray(0, this.#count);
    if (!this.#isSorted) values.sort();
    this.#isSorted = true;
    return values;
  }
}
