import Fraction from 'fraction.js';
import Qty from 'js-quantities';
import { decimal } from './quantity.js';

/** What a number counts: a share, money, a measure, or things, which need no name. */
export type Unit =
  | { kind: 'percent' }
  | { kind: 'money'; currency: string; factor: Fraction }
  | { kind: 'measure'; quantity: Qty; temperature?: string }
  | { kind: 'things' };

const MONEY: readonly [RegExp, string, number][] = [
  [/^(?:us ?|a|c|nz|hk)?\$|^(?:us )?dollars?\b|^usd\b|^bucks?\b/i, '$', 1],
  [/^cents?\b|^¢/i, '$', 100],
  [/^€|^euros?\b|^eur\b/i, '€', 1],
  [/^£|^pounds? sterling\b|^gbp\b|^quid\b/i, '£', 1],
  [/^pence\b|^penny\b/i, '£', 100],
  [/^¥|^yen\b|^jpy\b/i, '¥', 1],
  [/^₹|^rupees?\b|^rs\b|^inr\b/i, '₹', 1],
  [/^chf\b|^(?:swiss )?francs?\b/i, 'CHF', 1],
  [/^₽|^rub(?:les?)?\b|^roubles?\b/i, '₽', 1],
  [/^₩|^won\b/i, '₩', 1],
];

export function moneyUnit(text: string): Unit | undefined {
  const match = MONEY.find(([pattern]) => pattern.test(text));
  return match && { kind: 'money', currency: match[1], factor: new Fraction(match[2]) };
}

/** The unit that a target is in, from the data set's own way of writing it. */
export function unitOf(text: string): Unit {
  const plain = plainUnit(text).trim();
  if (/^(?:%|percent|per cent|percentage)/i.test(plain)) return { kind: 'percent' };
  // In pairs, dollar signs enclose LaTeX.
  const money = text.split('$').length === 2 ? moneyUnit(text.trim()) : undefined;
  return money ?? moneyUnit(plain) ?? measureOf(plain) ?? { kind: 'things' };
}

/** The unit behind a number, by the longest run of words that makes one; undefined where none is named. */
export function unitAfter(text: string): { unit: Unit; length: number } | undefined {
  const lead = /^(?:[\s$~})]|\\[)\],;:! ]){0,6}(?:of )?/.exec(text)?.[0].length ?? 0;
  const rest = plainUnit(text.slice(lead, lead + 80)).split(/[,;:!?()=\n"]|\.(?=\s|$)/)[0] ?? '';
  const money = moneyUnit(rest);
  if (money !== undefined)
    return { unit: money, length: lead + (/^\S+/.exec(rest)?.[0].length ?? 0) };
  const words = rest
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, 5);
  for (let count = words.length; count > 0; count--) {
    const candidate = words.slice(0, count).join(' ');
    if (AMBIGUOUS.has(candidate.toLowerCase()) && words.length > count) continue;
    const unit = measureOf(candidate);
    if (unit !== undefined) return { unit, length: lead + candidate.length };
  }
  return undefined;
}

/** Units that are everyday words where more words follow. */
const AMBIGUOUS = new Set([
  'in',
  'at',
  'as',
  'a',
  'an',
  'are',
  'to',
  'do',
  'and',
  'per',
  'for',
  'is',
  'on',
  'or',
  'more',
  'by',
  'so',
  'he',
  'it',
  'has',
  'pt',
  'mean',
]);

/** LaTeX and words of a unit as signs: `\mathrm{~kJ} \mathrm{~mol}^{-1}` is `kJ mol^-1`. */
function plainUnit(text: string): string {
  return text
    .replace(/\\(?:mathrm|text|mathbf|rm|operatorname|mbox)\s?\{?/g, ' ')
    .replace(/\\(?:cdot|times)(?![a-zA-Z])/g, '*')
    .replace(/\\?\^?\{?\\?circ\}?/g, '°')
    .replace(/\\mu(?![a-zA-Z])\s?/g, 'u')
    .replace(/\\(?:Omega|ohm)(?![a-zA-Z])/g, 'ohm')
    .replace(/\\(?:AA|r A|Angstrom|angstrom)(?![a-zA-Z])/g, 'angstrom')
    .replace(/\\%/g, '%')
    .replace(/\\[,;:! ]/g, ' ')
    .replace(/[{}$~\\]/g, ' ')
    .replace(/\s+/g, ' ')
    .replace(/\s?\^\s?/g, '^')
    .replace(/\s?\/\s?/g, '/');
}

const NAMES: readonly [RegExp, string][] = [
  [/°\s?C\b|\b(?:degrees? )?(?:celsius|centigrade)\b/gi, 'tempC'],
  [/°\s?F\b|\b(?:degrees? )?fahrenheit\b/gi, 'tempF'],
  [/°|\bdegrees?\b/gi, 'deg'],
  [/\bmiles? per hour\b|\bmi\/h\b/gi, 'mph'],
  [/\b(?:kmh|kph|kmph)\b/gi, 'km/h'],
  [/\b(?:square|sq\.?) (\p{L}+)/giu, '$1^2'],
  [/\bcubic (\p{L}+)/giu, '$1^3'],
  [/(\p{L}+) squared\b/giu, '$1^2'],
  [/(\p{L}+) cubed\b/giu, '$1^3'],
  [/\bcc\b/g, 'cm^3'],
  [/\s?\bper\b\s?|\s?\bpro\b\s?/gi, '/'],
  [/\btorr\b/gi, 'mmHg'],
  [/[µμ]/g, 'u'],
  [/[ÅÅ]|\bångström\b/g, 'angstrom'],
  [/Ω/g, 'ohm'],
  [/\bmole?cules?\b/gi, 'count'],
  [/[·⋅∙]/g, '*'],
  [/\bhrs?\b/gi, 'h'],
  [/\bsecs?\b/gi, 's'],
  [/\bmins?\b/gi, 'min'],
  [/\bkilos?\b/gi, 'kg'],
  [/\blbs\b/gi, 'lb'],
  [/\bstunden?\b/gi, 'h'],
  [/\bminuten\b/gi, 'min'],
  [/\bsekunden?\b/gi, 's'],
  [/\bkilomètres?\b|\bkilómetros?\b/gi, 'km'],
  [/\bmètres?\b|\bmetros?\b/gi, 'm'],
];

function measureOf(text: string): Unit | undefined {
  if (text === '' || text.length > 60 || /^[\d.+-]/.test(text)) return undefined;
  let name = text;
  for (const [pattern, sign] of NAMES) name = name.replace(pattern, sign);
  name = name
    .replace(/\^\(?([-+]?\d)\)?/g, '^$1')
    .replace(/(?<=[a-zA-Z\d])\s(?=[a-zA-Z])/g, '*')
    .trim();
  if (!/[a-zA-Z]/.test(name)) return undefined;
  const temperature = /^(tempC|tempF|K|kelvins?)$/i.exec(name)?.[1];
  if (temperature !== undefined) {
    return {
      kind: 'measure',
      quantity: new Qty('1 tempK'),
      temperature: /^k/i.test(temperature) ? 'tempK' : temperature,
    };
  }
  try {
    return { kind: 'measure', quantity: new Qty(`1 ${name}`) };
  } catch {
    return undefined;
  }
}

/** The number of `from` in `to`; undefined where one cannot be had from the other. */
export function convert(value: Fraction, from: Unit, to: Unit): Fraction | undefined {
  if (to.kind === 'things') return value;
  if (from.kind === 'things') return value;
  if (from.kind === 'money' && to.kind === 'money') {
    return from.currency === to.currency ? value.mul(to.factor).div(from.factor) : undefined;
  }
  if (from.kind === 'percent' && to.kind === 'percent') return value;
  if (from.kind !== 'measure' || to.kind !== 'measure') return undefined;
  try {
    if (from.temperature !== undefined && to.temperature !== undefined) {
      return from.temperature === to.temperature
        ? value
        : rounded(new Qty(value.valueOf(), from.temperature).to(to.temperature).scalar);
    }
    if (from.temperature !== undefined || to.temperature !== undefined) return undefined;
    if (from.quantity.units() === to.quantity.units()) return value;
    if (!from.quantity.isCompatible(to.quantity)) return undefined;
    const factor = rounded(from.quantity.to(to.quantity.units()).scalar);
    return factor && value.mul(factor);
  } catch {
    return undefined;
  }
}

export function areAlike(a: Unit, b: Unit): boolean {
  return a.kind === b.kind && convert(new Fraction(1), a, b) !== undefined;
}

/** Conversion leaves the last bits of a double behind. */
function rounded(value: number): Fraction | undefined {
  const [digits = '', exponent = '0'] = value.toPrecision(13).split('e');
  const base = decimal(digits);
  const power = new Fraction(10n ** BigInt(Math.abs(Number(exponent))));
  return Number(exponent) < 0 ? base?.div(power) : base?.mul(power);
}
