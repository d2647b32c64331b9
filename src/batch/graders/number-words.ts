import Fraction from 'fraction.js';

const SMALL = new Map(
  (
    'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen ' +
    'eighteen nineteen'
  )
    .split(' ')
    .map((word, value) => [word, value]),
);
const TENS = new Map(
  'twenty thirty forty fifty sixty seventy eighty ninety'
    .split(' ')
    .map((word, index) => [word, 20 + 10 * index]),
);
const SCALES = new Map([
  ['thousand', 10n ** 3n],
  ['million', 10n ** 6n],
  ['billion', 10n ** 9n],
  ['trillion', 10n ** 12n],
]);
const PARTS = new Map([
  ['half', 2],
  ['halves', 2],
  ['third', 3],
  ['quarter', 4],
  ['fourth', 4],
  ['fifth', 5],
  ['sixth', 6],
  ['seventh', 7],
  ['eighth', 8],
  ['ninth', 9],
  ['tenth', 10],
]);

const counting = [...SMALL.keys(), ...TENS.keys(), 'hundred', ...SCALES.keys(), 'nought', 'dozen'];
const parting = [...PARTS.keys()].map((word) => (word.startsWith('hal') ? word : `${word}s?`));
const WORD = `(?:${[...counting, ...parting].sort((a, b) => b.length - a.length).join('|')})`;

/** Numbers in English words; a lone "second" or "third" is a place, no number. */
export const NUMBER_WORDS = new RegExp(
  `(?:\\ba )?\\b${WORD}(?:(?:[ -]|,? and (?:an? )?)${WORD}){0,24}\\b`,
  'giu',
);

/** Undefined for words that do not make a number together. */
export function numberFromWords(text: string): Fraction | undefined {
  const words = text
    .toLowerCase()
    .split(/[\s,-]+/)
    .filter((word) => word !== '');
  if (words[0] === 'a' && words.length > 1) words[0] = 'one';
  const parts = words.findIndex((word) => partOf(word) !== undefined);
  if (parts < 0) return wholeNumber(words);
  if (parts !== words.length - 1 || (parts === 0 && words[0] !== 'half')) return undefined;
  const part = partOf(words[parts] as string) as number;
  const split = words.lastIndexOf('and', parts);
  // "three and a half" counts wholes first; "two thirds" counts thirds.
  const count =
    wholeNumber(
      words.slice(split + 1, parts).map((word) => (word === 'a' || word === 'an' ? 'one' : word)),
    ) ?? new Fraction(1);
  const whole = split > 0 ? wholeNumber(words.slice(0, split)) : new Fraction(0);
  return whole?.add(count.div(part));
}

function partOf(word: string): number | undefined {
  return PARTS.get(word) ?? PARTS.get(word.replace(/s$/, ''));
}

function wholeNumber(words: readonly string[]): Fraction | undefined {
  if (words.length === 0) return undefined;
  let total = 0n;
  let current = 0n;
  let last = '';
  for (const word of words) {
    if (word === 'and') continue;
    const small = word === 'nought' ? 0 : SMALL.get(word);
    const ten = TENS.get(word);
    const scale = SCALES.get(word);
    if (small !== undefined) {
      if (
        last !== '' &&
        !(TENS.has(last) && small > 0 && small < 10) &&
        last !== 'hundred' &&
        !SCALES.has(last)
      )
        return undefined;
      current += BigInt(small);
    } else if (ten !== undefined) {
      if (last !== '' && last !== 'hundred' && !SCALES.has(last)) return undefined;
      current += BigInt(ten);
    } else if (word === 'hundred') current = (current === 0n ? 1n : current) * 100n;
    else if (word === 'dozen') current = (current === 0n ? 1n : current) * 12n;
    else if (scale !== undefined) {
      total += (current === 0n ? 1n : current) * scale;
      current = 0n;
    } else return undefined;
    last = word;
  }
  return new Fraction(total + current);
}
