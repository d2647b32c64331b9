import { markup } from '../../transcript/html.js';
import type { Html } from '../../transcript/html.js';
import { accuracyOf } from '../batch-summary.js';
import type { Bin, Distribution } from './distribution.js';
import type { Grouping } from './groups.js';
import { accuracyText, count, percent, short } from './report-text.js';

/**
 * Plots are drawings without text, stretched to the room there is; their words stand beside them in HTML, so that they can
 * be read on a telephone as on a wide screen.
 */
export function accuracyChart({ field, groups }: Grouping, overall: number | undefined): Html {
  const scale = scaleOf(groups);
  const rows = groups.map((group) => {
    const total = group.correct + group.wrong;
    return markup`<tr><th scope="row">${group.value}</th><td>${interval(group, overall, scale)}</td>
<td class="number">${accuracyText(group)}</td><td class="number">${count(total)}</td></tr>
`;
  });
  return markup`<table class="accuracy"><caption>By ${field}</caption>
<thead><tr><th scope="col"><span class="hidden">${field}</span></th>
<th scope="col" class="scale"><span>${percent(scale.from, 0)}</span><span>${percent(scale.to, 0)}</span></th>
<th scope="col" class="number">accuracy</th><th scope="col" class="number">graded</th></tr></thead>
<tbody>${rows}</tbody></table>
`;
}

interface Scale {
  from: number;
  to: number;
}

/** From one tenth to another, so that every interval has room and small ones can be told apart. */
function scaleOf(groups: Grouping['groups']): Scale {
  const intervals = groups.flatMap((group) => accuracyOf(group) ?? []);
  if (intervals.length === 0) return { from: 0, to: 1 };
  const lows = intervals.map(({ low }) => low);
  const highs = intervals.map(({ high }) => high);
  return {
    from: Math.floor(Math.min(...lows) * 10) / 10,
    to: Math.ceil(Math.max(...highs) * 10) / 10,
  };
}

function interval(
  counts: { correct: number; wrong: number },
  overall: number | undefined,
  { from, to }: Scale,
): Html {
  const accuracy = accuracyOf(counts);
  const at = (share: number): string => (((share - from) / (to - from)) * 200).toFixed(2);
  const isInScale = overall !== undefined && overall >= from && overall <= to;
  const mean =
    isInScale &&
    markup`<line class="mean" x1="${at(overall)}" x2="${at(overall)}" y1="0" y2="20"/>`;
  const bar =
    accuracy !== null &&
    markup`<line class="whisker" x1="${at(accuracy.low)}" x2="${at(accuracy.high)}" y1="10" y2="10"/>
<line class="dot" x1="${at(accuracy.value)}" x2="${at(accuracy.value)}" y1="3" y2="17"/>`;
  return markup`<svg viewBox="0 0 200 20" preserveAspectRatio="none" aria-hidden="true">
<path class="grid" d="M0 0V20M100 0V20M200 0V20"/>${mean}${bar}</svg>`;
}

export function histogram(title: string, unit: string, values: Distribution): Html {
  const bins = values.bins();
  const tallest = Math.max(1, ...bins.map((bin) => bin.count));
  const bars = bins.map((bin, index) => {
    const height = (bin.count / tallest) * 100;
    return markup`<rect x="${index + 0.05}" y="${(100 - height).toFixed(2)}" width="0.9" height="${height.toFixed(2)}"><title>${binText(bin, bins, unit)}</title></rect>`;
  });
  const [first, last] = [bins[0], bins.at(-1)];
  const end =
    last === undefined
      ? ''
      : isOpen(last, bins, values)
        ? `≥ ${short(last.from)}`
        : short(values.quantile(1));
  return markup`<figure class="histogram"><figcaption>${title}
<span>median ${short(values.quantile(0.5))}, 90 % below ${short(values.quantile(0.9))}, largest ${short(values.quantile(1))}</span></figcaption>
<svg viewBox="0 0 ${Math.max(1, bins.length)} 100" preserveAspectRatio="none" role="img" aria-label="${title}">${bars}</svg>
<p class="axis"><span>${first === undefined ? '' : short(first.from)}</span><span>${unit}</span><span>${end}</span></p></figure>
`;
}

function isOpen(last: Bin, bins: readonly Bin[], values: Distribution): boolean {
  return bins.length > 1 && values.quantile(1) >= last.to;
}

function binText(bin: Bin, bins: readonly Bin[], unit: string): string {
  const isWhole = Number.isInteger(bin.from) && bin.to - bin.from === 1;
  const range = isWhole ? short(bin.from) : `${short(bin.from)} to ${short(bin.to)}`;
  return `${bin === bins.at(-1) && bins.length > 1 ? `${short(bin.from)} and more` : range} ${unit}: ${count(bin.count)}`;
}

export interface Share {
  name: string;
  count: number;
  /** good, bad, late or soft. */
  style: string;
}

export function shares(title: string, all: readonly Share[]): Html {
  const present = all.filter((share) => share.count > 0);
  const total = present.reduce((sum, share) => sum + share.count, 0);
  let x = 0;
  const bars = present.map((share) => {
    const width = (share.count / total) * 100;
    const bar = markup`<rect class="${share.style}" x="${x.toFixed(3)}" y="0" width="${width.toFixed(3)}" height="10"/>`;
    x += width;
    return bar;
  });
  const words = present.map(
    (share) =>
      markup`<li><i class="${share.style}"></i>${share.name} <b>${count(share.count)}</b> <span>${percent(share.count / total)}</span></li>`,
  );
  return markup`<figure class="shares"><figcaption>${title} <span>${count(total)}</span></figcaption>
<svg viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="${title}">${bars}</svg><ul>${words}</ul></figure>
`;
}
