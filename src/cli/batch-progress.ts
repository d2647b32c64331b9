import type { BatchEvent, SampleName } from '../batch/batch-event.js';
import { accuracyOf } from '../batch/batch-summary.js';
import { emptyTally } from '../batch/tally.js';
import type { Tally } from '../batch/tally.js';
import { formatAccuracy, tallyText } from './batch-summary-text.js';
import { countOf, formatCount, formatDuration, formatElapsed } from './render/amounts.js';
import { printable } from './render/printable.js';
import type { Screen } from './render/screen.js';

interface Running extends SampleName {
  since: number;
  /** Such as `step 2, script 12 s`. */
  doing: { what: string; since: number };
}

/** Samples named while they are all that is left. */
const FEW = 4;
const MAX_ERRORS_SHOWN = 10;
const BAR_CELLS = 20;
/** Where there is no terminal: a line for each twentieth, and one each minute whatever happens. */
const PLAIN_SHARE = 0.05;
const PLAIN_EVERY_MS = 60_000;
const LONGEST_ID = 40;

/** Shows how a batch goes: a bar on a terminal, now and then a line elsewhere. */
export class BatchProgress implements Disposable {
  readonly #screen: Screen;
  readonly #out: string;
  readonly #running = new Map<string, Running>();
  #startedAt = performance.now();
  #total: number | undefined;
  #tally: Tally = emptyTally();
  #resumed = 0;
  #nextShare = PLAIN_SHARE;
  #errorsShown = 0;
  #heldUntil = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(screen: Screen, out: string) {
    this.#screen = screen;
    this.#out = out;
    screen.status((frame) => `${frame} ${this.#line()}`);
  }

  show(event: BatchEvent): void {
    switch (event.type) {
      case 'batch-start':
        this.#start(event.total, event.tally);
        return;
      case 'notice':
        this.#screen.note(printable(event.text));
        return;
      case 'sample-start': {
        const now = performance.now();
        const doing = { what: 'starting', since: now };
        this.#running.set(keyOf(event.sample), { ...event.sample, since: now, doing });
        return;
      }
      case 'sample-event':
        this.#follow(event);
        return;
      case 'sample-end':
        this.#count(event);
        return;
      case 'slow-down':
        this.#heldUntil = performance.now() + event.holdMs;
        return;
      case 'stopping':
        this.#stopping(event.running, event.graceMs);
    }
  }

  /** Says how far it came; undefined where nothing had begun. */
  stop(): ({ out: string; total: number } & Tally) | undefined {
    this.end();
    if (this.#total === undefined) return undefined;
    const done = `${formatCount(this.#tally.finished)} of ${countOf(this.#total, 'sample')} finished`;
    const verdict = tallyText(this.#tally);
    this.#screen.line(
      `${done}${verdict === '' ? '' : `: ${verdict}`}. They are in ${this.#out}; the same command goes on.`,
    );
    return { out: this.#out, total: this.#total, ...this.#tally };
  }

  end(): void {
    clearInterval(this.#timer);
    this.#screen.clearStatus();
  }

  [Symbol.dispose](): void {
    this.end();
  }

  #start(total: number, tally: Readonly<Tally>): void {
    this.#startedAt = performance.now();
    this.#total = total;
    this.#tally = tally;
    this.#resumed = tally.finished;
    if (this.#resumed > 0) {
      const there = `${formatCount(this.#resumed)} of ${countOf(total, 'sample')} are finished from before.`;
      this.#screen.note(there);
    }
    this.#nextShare = this.#resumed / total + PLAIN_SHARE;
    if (this.#screen.isLive) return;
    this.#timer = setInterval(() => {
      this.#screen.line(this.#line());
    }, PLAIN_EVERY_MS).unref();
  }

  #follow({ sample, event }: Extract<BatchEvent, { type: 'sample-event' }>): void {
    const running = this.#running.get(keyOf(sample));
    if (running === undefined) return;
    const now = performance.now();
    if (event.type === 'step-start')
      running.doing = { what: `step ${event.step}, model`, since: now };
    else if (event.type === 'code') running.doing = { what: 'script', since: now };
    else if (event.type === 'code-result') running.doing = { what: 'model', since: now };
    else if (event.type === 'retry' && event.delayMs > 0)
      running.doing = { what: 'waiting to ask again', since: now };
    else if (event.type === 'run-end') running.doing = { what: 'grading', since: now };
  }

  #count({ record, tally }: Extract<BatchEvent, { type: 'sample-end' }>): void {
    this.#running.delete(keyOf(record));
    this.#tally = tally;
    if (record.error !== undefined) this.#error(record.id, record.error.message);
    if (this.#screen.isLive || this.#total === undefined) return;
    const share = tally.finished / this.#total;
    if (share < this.#nextShare && share < 1) return;
    this.#nextShare = share + PLAIN_SHARE;
    this.#screen.line(this.#line());
  }

  #error(id: string, message: string): void {
    this.#errorsShown += 1;
    if (this.#errorsShown > MAX_ERRORS_SHOWN) return;
    const { paint } = this.#screen;
    this.#screen.line(
      `${paint('error', 'red')} ${printable(`${id}: ${message}`.replace(/\s+/g, ' '))}`,
    );
    if (this.#errorsShown === MAX_ERRORS_SHOWN)
      this.#screen.note('Further errors are counted, and stand in results.jsonl.');
  }

  #stopping(running: number, graceMs: number): void {
    if (running === 0) return;
    const wait =
      graceMs > 0 ? `, at most ${formatDuration(graceMs)}. Press Ctrl-C again to stop now.` : '.';
    this.#screen.line(`No further sample begins; waiting for ${countOf(running, 'sample')}${wait}`);
  }

  #line(): string {
    const total = this.#total;
    if (total === undefined) return 'reading the data set and what is there';
    const { finished, errors } = this.#tally;
    const accuracy = accuracyOf(this.#tally);
    return [
      `${this.#screen.isLive ? `${bar(finished / total)} ` : ''}${formatCount(finished)} of ${formatCount(total)}`,
      ...(accuracy === null ? [] : [formatAccuracy(accuracy)]),
      ...(errors > 0 ? [countOf(errors, 'error')] : []),
      ...this.#pace(total),
      ...this.#trouble(),
      ...this.#left(total),
    ].join(' · ');
  }

  #pace(total: number): string[] {
    const elapsedMs = performance.now() - this.#startedAt;
    const fresh = this.#tally.finished - this.#resumed;
    if (fresh === 0) return [formatElapsed(elapsedMs)];
    const perSecond = (fresh * 1000) / Math.max(1, elapsedMs);
    const left = total - this.#tally.finished;
    const rate =
      perSecond >= 1 ? `${perSecond.toFixed(1)}/s` : `${(perSecond * 60).toFixed(1)}/min`;
    return left === 0 ? [rate] : [rate, `${formatDuration((left / perSecond) * 1000)} left`];
  }

  #trouble(): string[] {
    const holdMs = this.#heldUntil - performance.now();
    return holdMs > 0 ? [`asked to slow down, ${formatElapsed(holdMs)}`] : [];
  }

  /** What is still running when nothing else is to come. */
  #left(total: number): string[] {
    const isLast = total - this.#tally.finished <= FEW;
    if (!isLast || this.#running.size === 0) return [];
    const now = performance.now();
    const names = [...this.#running.values()].map(
      ({ id, doing }) =>
        `${short(printable(id))} (${doing.what} ${formatElapsed(now - doing.since)})`,
    );
    return [`still running: ${names.join(', ')}`];
  }
}

function keyOf({ id, epoch }: SampleName): string {
  return `${epoch}/${id}`;
}

function bar(share: number): string {
  const full = Math.floor(share * BAR_CELLS);
  return `${'█'.repeat(full)}${'░'.repeat(BAR_CELLS - full)}`;
}

function short(text: string): string {
  return text.length > LONGEST_ID ? `${text.slice(0, LONGEST_ID)}…` : text;
}
