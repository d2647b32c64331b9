import { pageEnd, pageStart } from '../../transcript/html-page.js';
import { htmlText, markup } from '../../transcript/html.js';
import type { Html } from '../../transcript/html.js';
import { pageFile } from '../../transcript/page-file.js';
import { accuracyOf } from '../batch-summary.js';
import { accuracyChart, histogram, shares } from './charts.js';
import { mcNemar } from './comparison.js';
import type { Comparison } from './comparison.js';
import type { ReportSource } from './report-source.js';
import { count, percent, secondsText } from './report-text.js';

/** All of the page before the samples' data. */
export function reportStart(source: ReportSource): string {
  const { manifest, figures, comparison } = source;
  const { tally } = figures;
  const accuracy = accuracyOf(tally);
  const groupings = figures.groups.all;
  const body = markup`<header>
<h1>${manifest.dataset}</h1>
<p class="details">${aboutText(source)}</p>
${headline(source)}</header>
<main>
${comparison !== undefined && comparisonSection(comparison)}
<section class="plots">
${histogram('Steps', 'steps', figures.steps)}${histogram('Time', 'seconds', figures.seconds)}${histogram('Tokens', 'tokens', figures.tokens)}
${endings(source)}</section>
${
  groupings.length > 0 &&
  markup`<section class="groups"><h2>Accuracy, with 95 % intervals</h2>
${groupings.map((grouping) => accuracyChart(grouping, accuracy?.value))}</section>`
}
${samplesSection(
  groupings.map(({ field }) => field),
  comparison !== undefined,
)}
</main>
`;
  const style = pageFile('report.css');
  return `${pageStart(manifest.dataset, { style, script: pageFile('report.js') })}${htmlText(body)}`;
}

export function reportEnd(): string {
  return pageEnd({ script: pageFile('report.js') });
}

function aboutText({ manifest, figures }: ReportSource): string {
  const { firstFinishedAt, lastFinishedAt } = figures;
  const day = (date: string): string => date.slice(0, 16).replace('T', ' ');
  return [
    manifest.model,
    ...(typeof manifest.asked['sandbox'] === 'string' ? [manifest.asked['sandbox']] : []),
    ...(firstFinishedAt === undefined || lastFinishedAt === undefined
      ? []
      : [`${day(firstFinishedAt)} to ${day(lastFinishedAt)} UTC`]),
    ...Object.entries(manifest.versions).map(([program, version]) => `${program} ${version}`),
  ].join(' · ');
}

function headline({ manifest, figures }: ReportSource): Html {
  const { tally, modelSeconds, sandboxSeconds } = figures;
  const accuracy = accuracyOf(tally);
  const unfinished = manifest.total - tally.finished;
  const cells: [name: string, value: string][] = [
    ['correct', count(tally.correct)],
    ['wrong', count(tally.wrong)],
    ['errors, in neither', count(tally.errors)],
    ...(tally.ungraded > 0 ? [['no verdict', count(tally.ungraded)] as [string, string]] : []),
    ...(unfinished > 0 ? [['not finished', count(unfinished)] as [string, string]] : []),
    ['scripts', count(tally.executions)],
    ['tokens', count(tally.usage.totalTokenCount)],
    ['model', secondsText(modelSeconds.sum)],
    ['sandbox', secondsText(sandboxSeconds.sum)],
    ['sent again', count(tally.retries.requests + tally.retries.runs)],
  ];
  const interval =
    accuracy !== null &&
    markup`<span>95 % interval ${percent(accuracy.low)} to ${percent(accuracy.high)}</span>`;
  return markup`<div class="headline"><p class="accuracy-now"><b>${percent(accuracy?.value)}</b> accuracy ${interval}</p>
<dl>${cells.map(([name, value]) => markup`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></div>
`;
}

function comparisonSection({ name, counts }: Comparison): Html {
  const { pairs, bothCorrect, bothWrong, gained, lost } = counts;
  const difference = pairs === 0 ? undefined : (gained - lost) / pairs;
  const sign = difference !== undefined && difference > 0 ? '+' : '';
  return markup`<section class="comparison"><h2>Against ${name}</h2>
<p><b>${sign}${difference === undefined ? '–' : `${(difference * 100).toFixed(1)} points`}</b> on ${count(pairs)} samples graded in
both: ${count(gained)} gained, ${count(lost)} lost, ${count(bothCorrect)} correct and ${count(bothWrong)} wrong in both.
By chance so uneven a split comes with p = ${mcNemar(counts).toPrecision(2)} (McNemar, exact).</p></section>
`;
}

const STATUS_STYLES: Record<string, string> = { answered: 'good', error: 'bad' };

function endings({ figures }: ReportSource): Html {
  const { ok, failed, deadlineExceeded } = figures.outcomes;
  const statuses = [...figures.statuses].map(([name, number]) => {
    return { name, count: number, style: STATUS_STYLES[name] ?? 'late' };
  });
  return markup`<div class="endings">${shares('Samples', statuses)}${shares('Scripts', [
    { name: 'ok', count: ok, style: 'good' },
    { name: 'failed', count: failed, style: 'bad' },
    { name: 'out of time', count: deadlineExceeded, style: 'late' },
  ])}</div>`;
}

function samplesSection(fields: readonly string[], isCompared: boolean): Html {
  const option = (value: string, text = value): Html =>
    markup`<option value="${value}">${text}</option>`;
  const changed = isCompared ? [option('gained', 'gained'), option('lost', 'lost')] : [];
  return markup`<section class="samples"><h2>Samples <span id="shown"></span></h2>
<form id="filters">
<input type="search" id="search" placeholder="Search id, question, answer …" aria-label="Search">
<select id="standing" aria-label="Verdict">${option('', 'all verdicts')}${['correct', 'wrong', 'error', 'ungraded'].map((value) => option(value))}${changed}</select>
<select id="status" aria-label="Status">${option('', 'all endings')}</select>
<select id="group" aria-label="Group">${option('', 'all groups')}</select>
</form>
<div id="table" data-fields="${JSON.stringify(fields)}" data-compared="${isCompared ? 'yes' : ''}"><noscript>The samples are shown by a script of this page.</noscript></div>
</section>
<dialog id="sample" aria-labelledby="sample-id"><nav><button id="previous" type="button">‹ Previous</button><button id="next" type="button">Next ›</button>
<span id="sample-id"></span><button id="close" type="button" aria-label="Close">✕</button></nav><div id="verdict"></div><div id="transcript"></div></dialog>
`;
}
