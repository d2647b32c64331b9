import { mcNemar } from './comparison.js';
import type { Comparison } from './comparison.js';
import type { Distribution } from './distribution.js';
import type { ReportSource } from './report-source.js';
import { accuracyText, count, percent, secondsText, short } from './report-text.js';

/** The report for a terminal, a pull request or a mail: the same numbers as the page, without the samples. */
export function markdownReport({ manifest, figures, comparison }: ReportSource): string {
  const { tally, statuses, outcomes } = figures;
  const sections = [
    `# ${cell(manifest.dataset)}`,
    `${cell(manifest.model)}, ${count(tally.finished)} of ${count(manifest.total)} samples finished` +
      `${figures.lastFinishedAt === undefined ? '' : `, the last on ${figures.lastFinishedAt}`}.`,
    table(
      ['', ''],
      [
        ['accuracy', accuracyText(tally)],
        ['correct', count(tally.correct)],
        ['wrong', count(tally.wrong)],
        ['errors, in neither', count(tally.errors)],
        ['without a verdict', count(tally.ungraded)],
        ['tokens', count(tally.usage.totalTokenCount)],
        ['requests to the model', count(tally.usage.requests)],
        ['requests sent again', count(tally.retries.requests)],
        ['runs begun again', count(tally.retries.runs)],
        ['seconds of the model', secondsText(figures.modelSeconds.sum)],
        ['seconds of the sandbox', secondsText(figures.sandboxSeconds.sum)],
      ],
    ),
    ...(comparison === undefined ? [] : [comparisonText(comparison)]),
    ...figures.groups.all.map(
      ({ field, groups }) =>
        `## By ${cell(field)}\n\n${table(
          [field, 'accuracy', 'correct', 'wrong', 'errors'],
          groups.map((group) => [
            ...[group.value, accuracyText(group)],
            ...[group.correct, group.wrong, group.errors].map(count),
          ]),
        )}`,
    ),
    `## Effort\n\n${table(
      ['of a sample', 'mean', 'median', '90 %', 'largest'],
      [
        effort('steps', figures.steps),
        effort('seconds', figures.seconds),
        effort('tokens', figures.tokens),
      ],
    )}`,
    `## Endings\n\n${table(
      ['status', 'samples', 'share'],
      [...statuses].map(([status, number]) => [
        ...[status, count(number), percent(number / tally.finished)],
      ]),
    )}`,
    `Scripts: ${count(outcomes.ok)} ok, ${count(outcomes.failed)} failed, ${count(outcomes.deadlineExceeded)} out of time.`,
    'Every sample with its transcript is in report.html; transcripts/runs.jsonl holds them for `colab-solver replay`.',
  ];
  return `${sections.join('\n\n')}\n`;
}

function comparisonText({ name, counts }: Comparison): string {
  const { pairs, bothCorrect, bothWrong, gained, lost } = counts;
  return [
    `## Against ${cell(name)}`,
    table(
      ['graded in both', 'both correct', 'both wrong', 'gained', 'lost', 'difference', 'p'],
      [
        [
          ...[pairs, bothCorrect, bothWrong, gained, lost].map(count),
          pairs === 0 ? '–' : `${(((gained - lost) / pairs) * 100).toFixed(1)} points`,
          mcNemar(counts).toFixed(4),
        ],
      ],
    ),
    'p is that of the exact test of McNemar: how likely so uneven a split of the changed samples is by chance.',
  ].join('\n\n');
}

function effort(name: string, values: Distribution): string[] {
  return [
    name,
    ...[values.mean, ...[0.5, 0.9, 1].map((share) => values.quantile(share))].map(short),
  ];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `|${' --- |'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

/** Values come from data sets: they must not break the table or become markup. */
function cell(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(/[\\`*_[\]<>|]/g, '\\$&');
}
