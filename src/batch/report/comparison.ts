import { basename, resolve } from 'node:path';
import { standingOf } from '../sample-record.js';
import type { SampleRecord, Standing } from '../sample-record.js';

/** Of the samples that both batches have graded. */
export interface PairedCounts {
  pairs: number;
  bothCorrect: number;
  bothWrong: number;
  /** Wrong in the other batch, correct in this one. */
  gained: number;
  /** Correct in the other batch, wrong in this one. */
  lost: number;
}

/** This batch against another one, sample by sample and epoch by epoch; the other's verdicts are kept, a byte or so each. */
export class Comparison {
  readonly folder: string;
  /** For people: the folder without where it lies on this machine. */
  readonly name: string;
  readonly counts: PairedCounts = { pairs: 0, bothCorrect: 0, bothWrong: 0, gained: 0, lost: 0 };
  readonly #others = new Map<string, Standing>();

  constructor(folder: string) {
    this.folder = folder;
    this.name = basename(resolve(folder));
  }

  /** A record of the other batch. */
  addOther(record: SampleRecord): void {
    this.#others.set(keyOf(record), standingOf(record));
  }

  /** A record of this batch. */
  add(record: SampleRecord): void {
    const before = this.standingBefore(record);
    const now = standingOf(record);
    const isPair =
      (before === 'correct' || before === 'wrong') && (now === 'correct' || now === 'wrong');
    if (!isPair) return;
    this.counts.pairs += 1;
    if (before === now) this.counts[now === 'correct' ? 'bothCorrect' : 'bothWrong'] += 1;
    else this.counts[now === 'correct' ? 'gained' : 'lost'] += 1;
  }

  /** Undefined where the other batch has no such sample. */
  standingBefore(record: Pick<SampleRecord, 'id' | 'epoch'>): Standing | undefined {
    return this.#others.get(keyOf(record));
  }
}

function keyOf({ id, epoch }: Pick<SampleRecord, 'id' | 'epoch'>): string {
  return `${epoch} ${id}`;
}

/**
 * McNemar's exact test: how likely at least so uneven a split of the samples that changed would be, if neither batch were
 * better.
 */
export function mcNemar({ gained, lost }: Pick<PairedCounts, 'gained' | 'lost'>): number {
  const changed = gained + lost;
  let logTerm = -changed * Math.LN2;
  let tail = 0;
  for (let count = 0; count <= Math.min(gained, lost); count += 1) {
    tail += Math.exp(logTerm);
    logTerm += Math.log(changed - count) - Math.log(count + 1);
  }
  return Math.min(1, 2 * tail);
}
