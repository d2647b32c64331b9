import { accuracyOf } from '../batch/batch-summary.js';
import type { Accuracy, BatchSummary } from '../batch/batch-summary.js';
import { percent } from '../batch/report/report-text.js';
import type { Tally } from '../batch/tally.js';
import { countOf, formatCount, formatDuration } from './render/amounts.js';
import { printable } from './render/printable.js';

/** `$0.12`; small amounts with as many digits as they need. */
export function formatDollars(amount: number): string {
  return `$${amount >= 0.1 || amount === 0 ? amount.toFixed(2) : amount.toPrecision(2)}`;
}

/** `84.3 % (82.2–86.2)`. */
export function formatAccuracy({ value, low, high }: Accuracy): string {
  return `${percent(value)} (${(low * 100).toFixed(1)}–${(high * 100).toFixed(1)})`;
}

/** Such as `1,112 of 1,319 correct, 84.3 % (82.2–86.2), 207 wrong, 2 errors`. */
export function tallyText(tally: Tally): string {
  const { correct, wrong, errors, ungraded } = tally;
  const accuracy = accuracyOf(tally);
  return [
    ...(accuracy === null
      ? []
      : [
          `${formatCount(correct)} of ${formatCount(correct + wrong)} correct`,
          formatAccuracy(accuracy),
        ]),
    ...(wrong > 0 ? [`${formatCount(wrong)} wrong`] : []),
    ...(ungraded > 0 ? [`${formatCount(ungraded)} without a target`] : []),
    ...(errors > 0 ? [countOf(errors, 'error')] : []),
  ].join(', ');
}

/** What people are told at the end. */
export function summaryLines(summary: BatchSummary): string[] {
  const { finished, total, resumed, steps, executions, usage, retries, cost, out, reason } =
    summary;
  const fresh = finished - resumed;
  const effort = [
    countOf(steps, 'step'),
    countOf(executions, 'script'),
    ...(usage.totalTokenCount > 0 ? [countOf(usage.totalTokenCount, 'token')] : []),
    ...(cost === null ? [] : [formatDollars(cost)]),
    ...(retries.requests + retries.runs > 0
      ? [`${countOf(retries.requests, 'request')} and ${countOf(retries.runs, 'run')} repeated`]
      : []),
  ].join(', ');
  const pace =
    fresh === 0
      ? 'nothing left to run'
      : `${formatCount(fresh)} in ${formatDuration(summary.durationMs)}`;
  const before = resumed > 0 ? `, ${formatCount(resumed)} from before` : '';
  return [
    tallyText(summary),
    `${formatCount(finished)} of ${countOf(total, 'sample')} finished (${pace}${before}): ${effort}`,
    ...(reason === undefined ? [] : [`${reason} The same command goes on.`]),
    `Results are in ${out}`,
  ]
    .filter((line) => line !== '')
    .map(printable);
}
