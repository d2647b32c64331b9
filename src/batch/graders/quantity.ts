import Fraction from 'fraction.js';
import { NUMBER_WORDS, numberFromWords } from './number-words.js';

/** A number as it stands in a text, exactly. */
export interface Quantity {
  value: Fraction;
  /** `25 %`; the value is 25. */
  isPercent: boolean;
  /** `$`, `€`, …, as a sign or code before the number. */
  currency: string | undefined;
  /** Written `±5`: two values. */
  isPlusMinus: boolean;
  /** In words, such as `three`. */
  isWords: boolean;
  /** Of the sign or currency before it. */
  start: number;
  end: number;
}

/** Digits beyond which a number is not read; to compare such ones exactly would take too long. */
const MAX_DIGITS = 20_000;
const MAX_EXPONENT = 5_000;

export interface ReadingHints {
  /** Whether a lone `1,234` is one and a bit, and a lone `1.234` more than a thousand. */
  decimalComma?: boolean;
}

const CORE = [
  String.raw`(?<european>[1-9]\d{0,2}(?:\.\d{3})+,\d+(?![\d,])|[1-9]\d{0,2}(?:\.\d{3}){2,}(?![\d.]\d))`,
  String.raw`(?<grouped>[1-9]\d{0,2}(?:,\d{3})+(?!\d)(?:\.\d+)?|[1-9]\d?(?:,\d{2})+,\d{3}(?!\d)(?:\.\d+)?)`,
  String.raw`(?<apart>[1-9]\d{0,2}(?:'\d{3})+(?!\d)(?:[.,]\d+)?|[1-9]\d{0,2}(?: \d{3})+(?![\d/]|\s?\\frac)(?:[.,]\d+)?)`,
  String.raw`(?<comma>\d+,\d+(?![\d,]))`,
  String.raw`(?<plain>\d+(?:_\d{3})*(?:\.\d+)?|\.\d+)`,
].join('|');
const NUMBER = new RegExp(CORE, 'y');
const EXPONENT = /[eE]([+-]?\d{1,9})(?![\w.]\d|[a-zA-Z_])/y;
const POWER_OF_TEN =
  /\s{0,3}(?:×|\*|[xX]|\\times|\\cdot|·|⋅|∙)\s{0,3}10\s{0,2}(?:\^|\*\*)\s{0,2}[{(]{0,2}\s?([+-]?)\s?(\d{1,9})\s?[)}]{0,2}/y;
const POWER = /\s?(?:\^|\*\*)\s?[{(]{0,2}\s?([+-]?)\s?(\d{1,9})\s?[)}]{0,2}/y;
const SLASH = /\s?\/\s?(?=\d)/y;
const MIXED = /(?:\s|-|\s?\+\s?|\s?and\s)(\d{1,9})\s?\/\s?(\d{1,9})(?![\d/]|[.,]\d)/y;
const LATEX_FRACTION =
  /\s?\\frac\s?(?:\{\s?(-?)\s?([\d.,]{1,9999})\s?\}|(\d))\s?(?:\{\s?([\d.,]{1,9999})\s?\}|(\d))/y;
const SCALE =
  /\s?(?:(hundred)|(thousand|tausend|mille|mil|tsd\.?)|(million(?:en|es|s)?|mio\.?|mln|millones)|(billion(?:s)?|bn|mrd\.?|milliarden?|milliards?)|(trillion(?:s)?)|(lakhs?)|(crores?)|(dozens?))(?![\p{L}\d])/iuy;
const SCALES = [10n ** 2n, 10n ** 3n, 10n ** 6n, 10n ** 9n, 10n ** 12n, 10n ** 5n, 10n ** 7n, 12n];
const SHORT_SCALE = /([kKmMbB])(?![\p{L}\d])/uy;
const PERCENT =
  /\s{0,2}\$?\s?(?:\\?%|(?:percent(?:age points?)?|per cent|pct|prozent|pour cent|por ciento|per cento|procent)(?!\p{L}))/iuy;
const SIGN_BEFORE = /([-+])(\s?)$/;
const PLUS_MINUS_BEFORE = /(?:\\pm|±|\\mp|\+\/-)\s?$/;
const CURRENCY_BEFORE =
  /((?:US|A|C|NZ|HK)?\$|[€£¥₹₽₩]|(?<!\p{L})(?:USD|EUR|GBP|JPY|INR|CHF|Rs\.?))\s?$/u;
const OPERAND_BEFORE = /[\p{L}\d)\]}%!]$/u;
const NEGATIVE_WORD = /(?<!\p{L})(?:minus|negative)[ \t]$/iu;

/** The numbers of a text in order; those that are part of a name, an index, a date or a time are none. The text must be folded. */
export function quantitiesIn(text: string, hints: ReadingHints = {}): Quantity[] {
  const found: Quantity[] = [];
  const beginning = /\\frac(?![a-zA-Z])|\.?\d/g;
  for (let match = beginning.exec(text); match !== null; match = beginning.exec(text)) {
    const skipped = endOfNoNumber(text, match.index);
    if (skipped > match.index) {
      beginning.lastIndex = skipped;
      continue;
    }
    const quantity = readQuantity(text, match.index, hints);
    if (quantity === undefined) {
      beginning.lastIndex = match.index + match[0].length;
      continue;
    }
    beginning.lastIndex = Math.max(quantity.end, match.index + 1);
    if (!Number.isNaN(quantity.start)) found.push(quantity);
  }
  return withWords(text, found);
}

const NO_NUMBER =
  /\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?![\d]|[-/.]\d)|\d{1,3}:\d{1,3}(?::\d{1,3})*(?:\.\d+)?(?!\d)|\d+(?:st|nd|rd|th)(?!\p{L})|\d+(?:\.\d+){2,}/uy;
const INDEX_BEFORE = /[\p{L}_#@&]$|\^\{?\(?[-+]?$|_\{$/u;

/** Dates, times, ordinals and versions, and what is stuck to a name; else the place itself. */
function endOfNoNumber(text: string, index: number): number {
  const before = text.slice(Math.max(0, index - 4), index);
  if (
    INDEX_BEFORE.test(before) &&
    !/(?:^|[^\p{L}])(?:US|A|C)?[$]$|\\(?:text|times|cdot|approx|pm|quad|le|ge|leq|geq|ne|sim)$|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]$|(?:USD|EUR|GBP|CHF|Rs)$/u.test(
      text.slice(Math.max(0, index - 8), index),
    )
  ) {
    return (
      index + (/[\d.,]*/y.exec(text.slice(index, index + MAX_DIGITS))?.[0].length ?? 0) || index + 1
    );
  }
  NO_NUMBER.lastIndex = index;
  const match = NO_NUMBER.exec(text)?.[0];
  if (match === undefined || isEuropean(match)) return index;
  return index + match.length;
}

function isEuropean(text: string): boolean {
  return /^[1-9]\d{0,2}(?:\.\d{3}){2,}$/.test(text);
}

function at(pattern: RegExp, text: string, index: number): RegExpExecArray | null {
  pattern.lastIndex = index;
  return pattern.exec(text);
}

function readQuantity(text: string, index: number, hints: ReadingHints): Quantity | undefined {
  const size = readSize(text, index, hints);
  if (size === undefined) return undefined;
  let { value, end } = size;
  const { start, sign, currency, isPlusMinus } = readLead(text, index);
  const scale = at(SCALE, text, end);
  if (scale !== null) {
    value = value.mul(SCALES[scale.slice(1).findIndex(Boolean)] ?? 1n);
    end += scale[0].length;
  } else {
    const short = at(SHORT_SCALE, text, end)?.[1];
    const isMoney = currency !== undefined;
    if (short === 'k' || (short !== undefined && isMoney)) {
      value = value.mul(
        { k: 1000n, m: 1_000_000n, b: 1_000_000_000n }[short.toLowerCase() as 'k' | 'm' | 'b'],
      );
      end += 1;
    }
  }
  const percent = at(PERCENT, text, end);
  if (percent !== null) end += percent[0].length;
  const isNegative = sign === '-' || NEGATIVE_WORD.test(text.slice(Math.max(0, start - 10), start));
  return {
    value: isNegative ? value.neg() : value,
    isPercent: percent !== null,
    currency,
    isPlusMinus,
    isWords: false,
    start,
    end,
  };
}

/** Sign and currency before a number, in either order; a sign after an operand is an operation or a range. */
function readLead(
  text: string,
  index: number,
): { start: number; sign: string; currency: string | undefined; isPlusMinus: boolean } {
  let start = index;
  let sign = '';
  const before = (): string => text.slice(Math.max(0, start - 6), start);
  const takeSign = (): void => {
    const match = SIGN_BEFORE.exec(before());
    if (match === null || sign !== '') return;
    const operand = text.slice(Math.max(0, start - match[0].length - 2), start - match[0].length);
    if (OPERAND_BEFORE.test(operand)) return;
    if (match[2] !== '' && OPERAND_BEFORE.test(operand.trimEnd())) return;
    sign = match[1] ?? '';
    start -= match[0].length;
  };
  takeSign();
  const currency = CURRENCY_BEFORE.exec(before());
  if (currency !== null) {
    start -= currency[0].length;
    takeSign();
  }
  const isPlusMinus = PLUS_MINUS_BEFORE.test(before());
  return { start, sign, currency: currency?.[1], isPlusMinus };
}

/** A number without sign: with its exponent, or a fraction, or a mixed number. */
function readSize(
  text: string,
  index: number,
  hints: ReadingHints,
): { value: Fraction; end: number } | undefined {
  const fraction = readLatexFraction(text, index);
  if (fraction !== undefined) return fraction;
  const first = readDigits(text, index, hints);
  if (first === undefined) return undefined;
  let { value, end } = first;
  const exponent = at(EXPONENT, text, end);
  if (exponent !== null) return scaled(value, Number(exponent[1]), end + exponent[0].length);
  const ten = at(POWER_OF_TEN, text, end);
  if (ten !== null) return scaled(value, Number(`${ten[1]}${ten[2]}`), end + ten[0].length);
  const power = at(POWER, text, end);
  if (power !== null) {
    const raised = powerOf(value, Number(`${power[1]}${power[2]}`));
    return raised && { value: raised, end: end + power[0].length };
  }
  const slash = at(SLASH, text, end);
  const divisor = slash && readDigits(text, end + slash[0].length, hints);
  if (slash !== null && divisor !== null && divisor !== undefined && divisor.value.n !== 0n) {
    return { value: value.div(divisor.value), end: divisor.end };
  }
  if (value.d !== 1n) return { value, end };
  const mixed = at(MIXED, text, end);
  if (mixed !== null && Number(mixed[1]) < Number(mixed[2])) {
    value = value.add(new Fraction(BigInt(mixed[1] ?? 0), BigInt(mixed[2] ?? 1)));
    end += mixed[0].length;
  } else {
    const part = readLatexFraction(text, end);
    if (part !== undefined && part.value.compare(1) < 0)
      return { value: value.add(part.value), end: part.end };
  }
  return { value, end };
}

function readLatexFraction(
  text: string,
  index: number,
): { value: Fraction; end: number } | undefined {
  const match = at(LATEX_FRACTION, text, index);
  if (match === null) return undefined;
  const above = decimal((match[2] ?? match[3] ?? '').replaceAll(',', ''));
  const below = decimal((match[4] ?? match[5] ?? '').replaceAll(',', ''));
  if (above === undefined || below === undefined || below.n === 0n) return undefined;
  const value = above.div(below);
  return { value: match[1] === '-' ? value.neg() : value, end: index + match[0].length };
}

function readDigits(
  text: string,
  index: number,
  { decimalComma = false }: ReadingHints,
): { value: Fraction; end: number } | undefined {
  const match = at(NUMBER, text, index);
  if (match === null || match[0].length > MAX_DIGITS) return undefined;
  const { european, grouped, apart, comma } = match.groups ?? {};
  const [raw] = match;
  const value = decimal(westernDigits());
  return value && { value, end: index + raw.length };

  function westernDigits(): string {
    if (european !== undefined) return raw.replaceAll('.', '').replace(',', '.');
    if (grouped !== undefined) {
      const isDecimal = decimalComma && /^\d+,\d+$/.test(raw);
      return isDecimal ? raw.replace(',', '.') : raw.replaceAll(',', '');
    }
    if (apart !== undefined) return raw.replace(/[' ]/g, '').replace(',', '.');
    if (comma !== undefined) return raw.replace(',', '.');
    if (decimalComma && /^[1-9]\d{0,2}\.\d{3}$/.test(raw)) return raw.replace('.', '');
    return raw.replaceAll('_', '');
  }
}

/** Exactly what a decimal says; undefined where it is none. */
export function decimal(text: string): Fraction | undefined {
  const match = /^(-?)(\d*)\.?(\d*)$/.exec(text);
  if (match === null) return undefined;
  const [, sign = '', whole = '', part = ''] = match;
  if (whole === '' && part === '') return undefined;
  const digits = part.replace(/0+$/, '');
  const value = new Fraction(BigInt(`${whole}${digits}` || '0'), 10n ** BigInt(digits.length));
  return sign === '-' ? value.neg() : value;
}

function scaled(
  value: Fraction,
  exponent: number,
  end: number,
): { value: Fraction; end: number } | undefined {
  const factor = powerOf(new Fraction(10), exponent);
  return factor && { value: value.mul(factor), end };
}

/** Undefined where it would be too long. */
export function powerOf(base: Fraction, exponent: number): Fraction | undefined {
  const digits = Math.max(base.n.toString().length, base.d.toString().length);
  if (Math.abs(exponent) > MAX_EXPONENT || Math.abs(exponent) * digits > 4 * MAX_EXPONENT)
    return undefined;
  const raised = new Fraction(
    base.n ** BigInt(Math.abs(exponent)),
    base.d ** BigInt(Math.abs(exponent)),
  );
  const signed = base.s < 0n && exponent % 2 !== 0 ? raised.neg() : raised;
  if (exponent >= 0) return signed;
  return signed.n === 0n ? undefined : signed.inverse();
}

function withWords(text: string, found: Quantity[]): Quantity[] {
  const words: Quantity[] = [];
  for (const match of text.matchAll(NUMBER_WORDS)) {
    const value = numberFromWords(match[0]);
    if (value === undefined) continue;
    let end = match.index + match[0].length;
    const percent = at(PERCENT, text, end);
    if (percent !== null) end += percent[0].length;
    const isNegative = NEGATIVE_WORD.test(text.slice(Math.max(0, match.index - 10), match.index));
    words.push({
      value: isNegative ? value.neg() : value,
      isPercent: percent !== null,
      currency: undefined,
      isPlusMinus: false,
      isWords: true,
      start: match.index,
      end,
    });
  }
  if (words.length === 0) return found;
  // "2 million" and "2 dozen" are read with their digits.
  const taken = found.map(({ start, end }) => [start, end] as const);
  let place = 0;
  const free = words.filter(({ start }) => {
    while ((taken[place]?.[1] ?? Infinity) <= start) place += 1;
    return (taken[place]?.[0] ?? Infinity) > start;
  });
  return [...found, ...free].sort((a, b) => a.start - b.start);
}
