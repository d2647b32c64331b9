/** A day, as `2024-03-05`. */
export type Day = string;

/** Names of months in the languages that write with our letters, long and short. */
const MONTHS: ReadonlyMap<string, number> = new Map(
  ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl'].flatMap((language) =>
    (['long', 'short'] as const).flatMap((month) => {
      const format = new Intl.DateTimeFormat(language, { month, day: 'numeric', timeZone: 'UTC' });
      return Array.from({ length: 12 }, (_, index): [string, number] => {
        const part = format
          .formatToParts(Date.UTC(2001, index, 1))
          .find(({ type }) => type === 'month');
        return [(part?.value ?? '').toLowerCase().replace(/\.$/, ''), index + 1];
      });
    }),
  ),
);
const EXTRA = new Map([
  ['sept', 9],
  ['janvier', 1],
]);

const NUMERIC =
  /(?<![\d.,/-])(?:(\d{4})[-/.年]\s?(\d{1,2})[-/.月]\s?(\d{1,2})日?|(\d{1,2})([-/.])\s?(\d{1,2})\5\s?(\d{4}))(?![\d/-])/gu;
const DAY_FIRST =
  /(?<!\d)(\d{1,2})(?:st|nd|rd|th|\.|er|º|ª)?\s{1,3}(?:of\s|de\s|di\s)?(\p{L}{3,12})\.?,?\s{1,3}(?:de\s|del\s)?(\d{4})(?!\d)/giu;
const MONTH_FIRST =
  /(?<!\p{L})(\p{L}{3,12})\.?\s{1,3}(\d{1,2})(?:st|nd|rd|th)?(?:,\s?|\s{1,3})(\d{4})(?!\d)/giu;

/** The days that a folded text names, in order. `3/5/2024` is read month first, `3.5.2024` day first, where both can be. */
export function daysIn(text: string): Day[] {
  const found: [number, Day | undefined][] = [];
  for (const match of text.matchAll(NUMERIC)) {
    const [, year, month, day, first, sign, second, lastYear] = match;
    if (year !== undefined)
      found.push([match.index, dayOf(Number(year), Number(month), Number(day))]);
    else {
      const [a, b] = [Number(first), Number(second)];
      const isDayFirst = a > 12 || (sign === '.' && b <= 12);
      found.push([match.index, dayOf(Number(lastYear), isDayFirst ? b : a, isDayFirst ? a : b)]);
    }
  }
  for (const match of text.matchAll(DAY_FIRST)) {
    found.push([match.index, dayOf(Number(match[3]), monthOf(match[2]), Number(match[1]))]);
  }
  for (const match of text.matchAll(MONTH_FIRST)) {
    found.push([match.index, dayOf(Number(match[3]), monthOf(match[1]), Number(match[2]))]);
  }
  return found.sort(([a], [b]) => a - b).flatMap(([, day]) => (day === undefined ? [] : [day]));
}

function monthOf(name = ''): number {
  const word = name.toLowerCase();
  return MONTHS.get(word) ?? EXTRA.get(word) ?? 0;
}

function dayOf(year: number, month: number, day: number): Day | undefined {
  const date = new Date(Date.UTC(year, month - 1, day));
  const isReal = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return isReal && month > 0 ? date.toISOString().slice(0, 10) : undefined;
}
