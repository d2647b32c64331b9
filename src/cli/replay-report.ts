import { countOf, formatCount, formatDuration, formatElapsed } from './render/amounts.js';
import { printable } from './render/printable.js';
import type { Screen } from './render/screen.js';
import type { AnswerVerdict } from './replay-answer.js';
import { shortDiff } from './replay-compare.js';
import type { RunVerdict, ScriptVerdict } from './replay-run.js';

/** One script that did not come to its recorded end, or the run whose sandbox failed. */
export interface Difference {
  id: string;
  /** From 1; absent where the sandbox failed. */
  script?: number;
  lines: string[];
}

/** However many differ, this many are kept and named in `--json`; text output shows all as they come. */
const MAX_KEPT = 1000;
const MAX_NAMED = 5;
/** Runs between two lines of progress where there is no terminal. */
const PLAIN_EVERY = 100;

export interface ReplayReportOptions {
  /** So many runs are to come, where that is known. */
  total?: number | undefined;
  /** Whether every script is named with what it came to, and not only those that differ. */
  listsScripts?: boolean;
}

/** Counts verdicts and shows the differences in the order of the file, whichever run ends first. */
export class ReplayReport {
  readonly #screen: Screen;
  readonly #startedAt = performance.now();
  readonly #waiting = new Map<number, RunVerdict>();
  readonly #counts = { runs: 0, scripts: 0, judged: 0, equal: 0, failedRuns: 0, ignoredStderr: 0 };
  readonly #answers = { judged: 0, kept: 0 };
  readonly #listsScripts: boolean;
  readonly #notJudged: string[] = [];
  #notJudgedCount = 0;
  readonly #differences: Difference[] = [];
  #nextIndex = 0;
  readonly #total: number | undefined;

  constructor(screen: Screen, { total, listsScripts = false }: ReplayReportOptions = {}) {
    this.#screen = screen;
    this.#listsScripts = listsScripts;
    this.#total = total;
    screen.status((frame) => `${frame} ${this.#progress()}`);
  }

  get failedRuns(): number {
    return this.#counts.failedRuns;
  }

  get differ(): number {
    return this.#counts.judged - this.#counts.equal;
  }

  /** `index` is the run's place in the file, from 0; every index comes once. */
  add(index: number, verdict: RunVerdict): void {
    this.#waiting.set(index, verdict);
    for (;;) {
      const next = this.#waiting.get(this.#nextIndex);
      if (next === undefined) return;
      this.#waiting.delete(this.#nextIndex);
      this.#nextIndex += 1;
      this.#count(next);
    }
  }

  /** Prints the summary; runs that never ended are not in it. */
  end(): void {
    this.#screen.clearStatus();
    this.#screen.line(this.#screen.paint(this.#pace(), 'dim'));
    this.#screen.resultLine(printable(this.#summary()));
  }

  /** Such as `1318 of 1318 judged outputs equal, 1 not judged (0147: no recorded result)`. */
  #summary(): string {
    const { judged, equal, failedRuns, ignoredStderr } = this.#counts;
    const more = this.#notJudgedCount - this.#notJudged.length;
    const names = [...this.#notJudged, ...(more > 0 ? [`${more} more`] : [])].join(', ');
    return [
      `${equal} of ${judged} judged outputs equal`,
      ...(this.differ > 0 ? [`${this.differ} differ`] : []),
      ...(this.#notJudgedCount > 0
        ? [`${this.#notJudgedCount} not judged (${names}: no recorded result)`]
        : []),
      ...(failedRuns > 0 ? [`${countOf(failedRuns, 'run')} failed in the sandbox`] : []),
      ...(this.#answers.judged > this.#answers.kept
        ? [`${countOf(this.#answers.judged - this.#answers.kept, 'answer')} no longer borne out`]
        : []),
      ...(ignoredStderr > 0 ? [`${ignoredStderr} apart from text on stderr`] : []),
    ].join(', ');
  }

  /** Such as `1,319 runs, 1,319 scripts in 41.2 s (32.0 runs/s)`. */
  #pace(): string {
    const { runs, scripts } = this.#counts;
    const ms = performance.now() - this.#startedAt;
    return `${countOf(runs, 'run')}, ${countOf(scripts, 'script')} in ${formatDuration(ms)} (${this.#rate()})`;
  }

  /** What `--json` prints. */
  record(file: string) {
    const { runs, scripts, judged, equal, failedRuns, ignoredStderr } = this.#counts;
    return {
      file,
      runs,
      scripts,
      judged,
      equal,
      different: this.differ,
      notJudged: this.#notJudgedCount,
      failedRuns,
      ignoredStderr,
      answers: { ...this.#answers },
      durationMs: Math.round(performance.now() - this.#startedAt),
      differences: this.#differences,
    };
  }

  #count(verdict: RunVerdict): void {
    this.#counts.runs += 1;
    for (const [index, script] of verdict.scripts.entries()) {
      this.#countScript(verdict.id, index + 1, script);
    }
    if (verdict.answer !== undefined) this.#countAnswer(verdict.id, verdict.answer);
    if (verdict.fault !== undefined) {
      this.#counts.failedRuns += 1;
      this.#keep({ id: verdict.id, lines: [`! ${verdict.fault.message}`] });
    }
    if (!this.#screen.isLive && this.#counts.runs % PLAIN_EVERY === 0) {
      this.#screen.line(this.#progress());
    }
  }

  /** The numbers of the final text that scripts had printed: a reader believes the answer for them. */
  #countAnswer(id: string, { numbers, gone }: AnswerVerdict): void {
    this.#answers.judged += 1;
    if (gone.length > 0) {
      this.#keep({
        id,
        lines: [`! the answer says ${gone.join(', ')}, which no script prints now`],
      });
      return;
    }
    this.#answers.kept += 1;
    if (this.#listsScripts)
      this.#list(`${id}, answer`, `its ${countOf(numbers, 'number')} still printed`);
  }

  #list(place: string, word: string): void {
    this.#screen.resultLine(printable(`${place}: ${word}`));
  }

  #countScript(id: string, script: number, verdict: ScriptVerdict): void {
    this.#counts.scripts += 1;
    if (this.#listsScripts && isAsItWas(verdict)) {
      this.#list(`${id}, script ${script}`, verdict === 'not-judged' ? 'not judged' : 'equal');
    }
    if (verdict === 'not-judged') {
      this.#notJudgedCount += 1;
      if (this.#notJudged.length < MAX_NAMED) this.#notJudged.push(id);
      return;
    }
    this.#counts.judged += 1;
    if (verdict.equal) {
      this.#counts.equal += 1;
      if (verdict.ignoresStderr) this.#counts.ignoredStderr += 1;
      return;
    }
    this.#keep({ id, script, lines: shortDiff(verdict.recorded, verdict.observed) });
  }

  #keep(difference: Difference): void {
    if (this.#differences.length < MAX_KEPT) this.#differences.push(difference);
    const { paint } = this.#screen;
    const place = difference.script === undefined ? '' : `, script ${difference.script}`;
    this.#screen.resultLine(printable(`${difference.id}${place}`));
    for (const line of difference.lines) {
      const style = line.startsWith('+') ? 'green' : 'red';
      this.#screen.resultLine(`  ${paint(printable(line), style)}`);
    }
  }

  #progress(): string {
    const { runs, failedRuns } = this.#counts;
    const total = this.#total === undefined ? '' : ` of ${formatCount(this.#total)}`;
    return [
      `${formatCount(runs)}${total} runs`,
      this.#rate(),
      formatElapsed(performance.now() - this.#startedAt),
      ...(this.differ > 0 ? [`${this.differ} differ`] : []),
      ...(failedRuns > 0 ? [`${failedRuns} failed`] : []),
    ].join(' · ');
  }

  #rate(): string {
    const seconds = Math.max(0.001, (performance.now() - this.#startedAt) / 1000);
    return `${(this.#counts.runs / seconds).toFixed(1)} runs/s`;
  }
}

function isAsItWas(verdict: ScriptVerdict): boolean {
  return verdict === 'not-judged' || verdict.equal;
}
