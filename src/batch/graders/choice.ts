import type { Grader, GraderOptions, Verdict } from '../grader.js';
import { statedBoolean } from './boolean.js';
import { foldText } from './folded-text.js';
import { plainWords } from './plain-words.js';
import { statementsOf } from './statement.js';
import type { Statement } from './statement.js';

/** The option finally chosen, by its letter or by its text. */
export const choice: Grader = {
  name: 'choice',
  check(target, options) {
    const { choices } = options;
    if (choices !== undefined && !isTextList(choices)) {
      return { field: 'options.choices', problem: 'must be a list of two texts or more' };
    }
    if (typeof target !== 'string' && typeof target !== 'number')
      return { field: 'target', problem: 'must be a text' };
    const table = optionTable(options, target);
    return indexOfTarget(String(target), table) === undefined
      ? { field: 'target', problem: `"${target}" is none of the choices` }
      : undefined;
  },
  grade: (text, target, { options }) => Promise.resolve(gradeChoice(text, target, options)),
};

function isTextList(value: unknown): value is (string | number)[] {
  return (
    Array.isArray(value) &&
    value.length >= 2 &&
    value.every((each) => typeof each === 'string' || typeof each === 'number')
  );
}

interface OptionTable {
  letters: readonly string[];
  /** Plain; undefined where the choices are letters. */
  texts: readonly string[] | undefined;
  shown: readonly string[];
}

const ALPHABET = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ');

function optionTable({ choices }: GraderOptions, target: unknown): OptionTable {
  if (!isTextList(choices)) {
    const isLetter = /^\W*[A-Z]\W*$/i.test(String(target));
    return isLetter
      ? { letters: ALPHABET.slice(0, 10), texts: undefined, shown: ALPHABET }
      : { letters: [], texts: [plainWords(foldText(String(target)))], shown: [String(target)] };
  }
  const shown = choices.map(String);
  const bare = shown.map((each) => each.trim().replace(/^\(|[).]$/g, ''));
  if (bare.every((each) => /^[A-Za-z]$/.test(each))) {
    return { letters: bare.map((each) => each.toUpperCase()), texts: undefined, shown };
  }
  // "A) 12" carries its letter along.
  const labelled = shown.every((each, index) =>
    new RegExp(`^\\(?${String(ALPHABET[index])}[).:]`, 'i').test(each.trim()),
  );
  const texts = shown.map((each) =>
    plainWords(foldText(labelled ? each.replace(/^\s*\(?\w[).:]\s*/, '') : each)),
  );
  return { letters: ALPHABET.slice(0, shown.length), texts, shown };
}

/** A text goes before a letter, as one of the texts may be a letter. */
function indexOfTarget(target: string, { letters, texts }: OptionTable): number | undefined {
  const byText = texts?.indexOf(plainWords(foldText(target))) ?? -1;
  if (byText >= 0) return byText;
  const letter = /^\W*(?:(?:option|choice)\s)?\(?([A-Z])\)?\W*$/i.exec(target)?.[1]?.toUpperCase();
  const byLetter = letter === undefined ? -1 : letters.indexOf(letter);
  return byLetter < 0 ? undefined : byLetter;
}

function gradeChoice(text: string, target: unknown, options: GraderOptions): Verdict {
  const table = optionTable(options, target);
  const wanted = indexOfTarget(String(target), table);
  const folded = foldText(text);
  const chosen = chosenOption(folded, table);
  if (typeof chosen !== 'number') {
    return { correct: false, answer: null, explanation: chosen };
  }
  const answer = table.shown[chosen] ?? table.letters[chosen] ?? '';
  return {
    correct: chosen === wanted,
    answer,
    explanation:
      chosen === wanted
        ? `${answer} is the option wanted`
        : `${answer} was chosen, not ${String(target)}`,
  };
}

const NONE = 'it chooses none of the options';
const SEVERAL = 'it leaves open which of several options is meant';

function chosenOption(folded: string, table: OptionTable): number | string {
  const polar = polarOptions(table);
  if (polar !== undefined) {
    const stated = statedBoolean(folded);
    if (stated !== undefined) return stated ? polar.yes : polar.no;
  }
  let count = 0;
  for (const statement of statementsOf(folded)) {
    const chosen = optionIn(statement, table);
    if (chosen !== undefined) return chosen;
    // A box may hold a symbol, and the answer stand elsewhere.
    if (statement.form === 'label' || statement.form === 'tag') return NONE;
    if (++count >= 200) break;
  }
  return NONE;
}

function polarOptions({ texts }: OptionTable): { yes: number; no: number } | undefined {
  if (texts?.length !== 2) return undefined;
  const yes = texts.findIndex((text) => text === 'yes' || text === 'true');
  const no = texts.findIndex((text) => text === 'no' || text === 'false');
  return yes >= 0 && no >= 0 ? { yes, no } : undefined;
}

interface Mention {
  index: number;
  start: number;
  end: number;
}

function optionIn(statement: Statement, table: OptionTable): number | string | undefined {
  const { form } = statement;
  const isExplicit = form !== 'sentence';
  const lines = statement.text.split('\n').filter((line) => line.trim() !== '');
  const line = form === 'correction' ? lines.join(' ') : (lines[0] ?? '');
  const whole = wholeMatch(line, table);
  if (whole !== undefined) return whole;
  const words = plainWords(line);
  const opening = isExplicit ? openingOption(line, words, table) : undefined;
  const mentions = mentionsIn(line, words, table, isExplicit);
  const affirmed = mentions.filter((mention) => !isDenied(mention.source, mention));
  const denied = new Set(
    mentions.filter((mention) => !affirmed.includes(mention)).map(({ index }) => index),
  );
  if (opening !== undefined && !denied.has(opening.index)) {
    return isHedged(line, opening, affirmed) ? SEVERAL : opening.index;
  }
  const distinct = new Set(affirmed.map(({ index }) => index));
  if (distinct.size === 0) {
    // Of two, one denied leaves the other.
    const count = table.texts?.length ?? table.letters.length;
    if (count === 2 && denied.size === 1) return denied.has(0) ? 1 : 0;
    return undefined;
  }
  if (distinct.size > 1 && joined(affirmed)) return SEVERAL;
  return affirmed.at(-1)?.index;
}

/** The statement is an option and nothing else. */
function wholeMatch(line: string, { letters, texts }: OptionTable): number | undefined {
  const words = plainWords(line);
  const byText = texts?.indexOf(words) ?? -1;
  if (byText >= 0) return byText;
  const squeezed = words.replace(/\s/g, '');
  const bySqueezed =
    texts?.findIndex((text) => text.replace(/\s/g, '') === squeezed && squeezed !== '') ?? -1;
  if (bySqueezed >= 0) return bySqueezed;
  const letter =
    /^[^\p{L}\d\\]*(?:(?:option|choice|answer|letter)[ \t]*)?[^\p{L}\d\\]*(\p{L})[^\p{L}\d]*$/iu.exec(
      line,
    )?.[1];
  if (letter === undefined) return undefined;
  const byLetter = letters.indexOf(letter.toUpperCase());
  return byLetter < 0 ? undefined : byLetter;
}

/** "B. Keep in mind …", "C because …", "(D) 12 apples". */
function openingOption(
  line: string,
  words: string,
  { letters, texts }: OptionTable,
): Mention | undefined {
  const match =
    /^[^\p{L}\d\\]*(?:(?:option|choice|letter)\s{0,3})?[^\p{L}\d\\]{0,3}(?<![\p{L}])(\p{L})(?:[).:,;\]}$—–-]|\s[-—–(]|\s(?:because|since|as|for|is|was|by|due|which|though|although|and not|not|rather|but|with|from)(?!\p{L})|\s?$)/iu.exec(
      line,
    );
  const letter = match?.[1] ?? '';
  const index = letters.indexOf(letter.toUpperCase());
  if (match !== null && index >= 0) {
    const start = match.index + match[0].indexOf(letter);
    return { index, start, end: start + 1 };
  }
  const found = (texts ?? [])
    .map((text, place) => ({ text, place }))
    .filter(
      ({ text }) =>
        text !== '' && words.startsWith(text) && !/[\p{L}\d]/u.test(words[text.length] ?? ''),
    )
    .sort((a, b) => b.text.length - a.text.length)[0];
  return found && { index: found.place, start: 0, end: found.text.length };
}

type Sourced = Mention & { source: string };

/** Options named in a sentence, longer texts first so that "linear" is not found in "non-linear". */
function mentionsIn(
  line: string,
  words: string,
  { letters, texts }: OptionTable,
  isExplicit: boolean,
): Sourced[] {
  const found: Sourced[] = [];
  const taken: [number, number][] = [];
  const byLength = (texts ?? [])
    .map((text, index) => ({ text, index }))
    .sort((a, b) => b.text.length - a.text.length);
  for (const { text, index } of byLength) {
    if (text === '') continue;
    for (
      let start = words.indexOf(text), count = 0;
      start >= 0 && count < 100;
      start = words.indexOf(text, start + 1), count++
    ) {
      const end = start + text.length;
      if (!isWhole(words, start, end) || taken.some(([from, to]) => start < to && end > from))
        continue;
      taken.push([start, end]);
      found.push({ index, start, end, source: words });
    }
  }
  if (found.length > 0) return found.sort((a, b) => a.start - b.start);
  // Bare letters count as options where they cannot be words: "A" and "I" need a bracket or "option" before them.
  const named =
    /(?<![\p{L}\d\\'])(?:(?:option|choice|answer|letter)\s{1,3}\(?([A-Za-z])(?![\p{L}\d'])|\(([A-Za-z])\)|(?:is|be|to|choose|chose|pick|select|are|it's|not|or|and)\s{1,3}([A-Z])(?=[.,;:!?)]|\s*$|\s(?:because|since|and|or|is|but|not))|([B-HJ-Z])(?=[.,;:!?)]|\s*$|\s(?:is|and|or|but|fails|works))|([A-Z])(?=\s(?:is|fails|works|looks|or)\s))/gu;
  for (const match of line.matchAll(named)) {
    const letter = match.slice(1).find(Boolean) ?? '';
    if (!isExplicit && match[4] !== undefined && letters.length > 10) continue;
    const index = letters.indexOf(letter.toUpperCase());
    if (index < 0) continue;
    const start = match.index + match[0].lastIndexOf(letter);
    found.push({ index, start, end: start + 1, source: line });
  }
  return found;
}

function isWhole(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - 2), start);
  const after = text.slice(end, end + 2);
  return (
    !/[\p{L}\d]$|[\p{L}\d][-.]$|^-$|[^\p{L}]-$/u.test(before) && !/^[\p{L}\d]|^[-.]\d/u.test(after)
  );
}

const DENIED_BEFORE =
  /(?<!\p{L})(?:not|n't|isnt|arent|wasnt|cannot be|rather than|instead of|except|neither|nor|than|rule(?:s|d)? out|exclude[sd]?|unlike|eliminate[sd]?|reject(?:s|ed)?|discard(?:s|ed)?|nicht|no longer)\s(?:(?:the|a|an|option|choice|answer|be|is|just)\s){0,3}["'(]?$/iu;
const DENIED_AFTER =
  /^["')]{0,2}\s?(?:is|are|was|were|looks|looked|seems|seemed|would be)?\s?(?:\p{L}+\s)?(?:wrong|incorrect|false|not|isn't|a trap|fails|failed|eliminated|excluded|ruled out|impossible|too (?:small|large|big|low|high|much|little)|the usual|tempting)(?!\p{L})/iu;

function isDenied(source: string, { start, end }: Mention): boolean {
  return (
    DENIED_BEFORE.test(source.slice(Math.max(0, start - 40), start)) ||
    DENIED_AFTER.test(source.slice(end, end + 40))
  );
}

/** "A or B" chooses neither. */
function joined(affirmed: readonly Sourced[]): boolean {
  return affirmed.some((mention, place) => {
    const next = affirmed[place + 1];
    if (next === undefined || next.index === mention.index || next.source !== mention.source)
      return false;
    return /^["')]{0,2},?\s(?:or|and|and\/or|and also|or maybe|or possibly)\s["'(]{0,2}(?:(?:option|choice|the|maybe|perhaps|possibly|also)\s)*["'(]{0,2}$/iu.test(
      mention.source.slice(mention.end, next.start),
    );
  });
}

function isHedged(line: string, opening: Mention, affirmed: readonly Sourced[]): boolean {
  const other = affirmed.find(
    ({ index, start }) => index !== opening.index && start > opening.start,
  );
  if (other === undefined) return false;
  const between = other.source.slice(Math.min(opening.end, other.start), other.start);
  return (
    /^["')]{0,2}\s*,?\s?(?:or|and|\/|&)\s?["'(]{0,2}(?:(?:option|choice|the|maybe|perhaps|possibly|also)\s)*["'(]{0,2}$/iu.test(
      between,
    ) && line !== ''
  );
}
