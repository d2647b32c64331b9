import { quantitiesIn } from './quantity.js';
import type { Quantity, ReadingHints } from './quantity.js';
import { strongest } from './strongest-number.js';
import { sentencesFromTheEnd, statementsOf } from './statement.js';
import type { Statement } from './statement.js';

/** The number a text comes to in the end: as stated, and in other ways of writing it that stand beside it. */
export interface StatedNumber {
  quantity: Quantity;
  /** What follows it, where a unit may stand. */
  after: string;
  /** As written, for people. */
  raw: string;
  /** Further numbers of a sum such as `2 h 30 min`, each with what follows it. */
  parts: { quantity: Quantity; after: string }[];
}

export type NumberReading =
  | {
      alternatives: [StatedNumber, ...StatedNumber[]];
      /** Said with "or": where it is another number, the answer is left open. */
      rival?: StatedNumber;
    }
  /** Why there is no one number, and what was there instead. */
  | { problem: string; raw: string | null };

/** An answer does not stand further from the end. */
const MAX_STATEMENTS = 200;

/** Reads the final number of a folded text. */
export function statedNumber(folded: string): NumberReading {
  const hints = { decimalComma: hasDecimalComma(folded) };
  let count = 0;
  for (const statement of statementsOf(folded)) {
    const reading = readStatement(statement, hints);
    if (reading !== undefined) return reading;
    if (
      statement.form !== 'sentence' &&
      statement.form !== 'phrase' &&
      statement.form !== 'correction'
    ) {
      return { problem: 'the answer holds no number', raw: short(statement.text) };
    }
    if (statement.form === 'sentence' && NO_ANSWER.test(statement.text)) {
      return { problem: 'it says that there is no answer', raw: short(statement.text) };
    }
    if (++count >= MAX_STATEMENTS) break;
  }
  return { problem: 'there is no number', raw: null };
}

const NO_ANSWER =
  /\b(?:can ?not|can't|could not|couldn't|unable|impossible to|don't know|do not know|no (?:final )?(?:answer|value|result|solution)|not enough information|insufficient|undetermined|undefined|indeterminate|unknown|null|none|nan|n\/a|infinity|error)\b|^-?∞/i;

/** Whether the language of the text writes decimals with a comma. */
function hasDecimalComma(text: string): boolean {
  const sample = text.length > 20_000 ? text.slice(-20_000) : text;
  return FOREIGN.test(sample) && !ENGLISH.test(sample);
}

const FOREIGN =
  /(?<!\p{L})(?:die|das|der|beträgt|ergibt|ist|sind|und|est|sont|vaut|réponse|taux|antwort|ergebnis|respuesta|resposta|risposta|el|es|son|è|het|een|svar|svaret|är|ответ|равен|равна|равно|составляет|wynosi|le|la|les|des)(?!\p{L})/iu;
const ENGLISH = /(?<!\p{L})(?:the|is|are|answer|of|and|total|result|to)(?!\p{L})/iu;

/** More of one statement is not looked at, so that the time is linear in the text. */
const WINDOW = 20_000;

function readStatement(statement: Statement, hints: ReadingHints): NumberReading | undefined {
  const { form, after } = statement;
  if (form === 'correction') return readCorrection(statement.text, hints);
  const isExplicit = form !== 'sentence';
  const boxes = new Set(statement.boxes);
  if (boxes.size > 1)
    return { problem: 'there are several boxes', raw: [...boxes].slice(0, 5).join(', ') };
  const text = isExplicit ? statedPart(statement).slice(0, WINDOW) : statement.text.slice(-WINDOW);
  const quantities = quantitiesIn(text, hints);
  if (quantities.length === 0) return undefined;
  const opensWithNumber = isExplicit || LONE.test(text) || quantities[0]?.start === 0;
  const lead = opensWithNumber ? leadOf(text) : 0;
  const direct = opensWithNumber
    ? quantities.findIndex(({ start, end }) => start <= lead && end >= lead)
    : -1;
  const chosen = direct >= 0 ? direct : strongest(text, quantities);
  return follow(text, quantities, chosen, { after, isExplicit: isExplicit || direct >= 0 });
}

function statedPart({ form, text }: Statement): string {
  return form === 'tag' || form === 'box' ? text : (text.split('\n', 1)[0] ?? '');
}

/** Sentences that are nothing but an expression. */
const LONE = /^[^\p{L}]*$/u;

/** "wait, no: 12. That is all." */
function readCorrection(text: string, hints: ReadingHints): NumberReading | undefined {
  const first = (text.split('\n', 1)[0] ?? '').slice(0, WINDOW);
  const quantities = quantitiesIn(first, hints);
  if (quantities[0] !== undefined && quantities[0].start <= leadOf(first)) {
    return follow(first, quantities, 0, { after: '', isExplicit: true });
  }
  let count = 0;
  for (const sentence of sentencesFromTheEnd(text)) {
    const reading = readStatement(sentence, hints);
    if (reading !== undefined || ++count >= MAX_STATEMENTS) return reading;
  }
  return undefined;
}

const LEAD =
  /^(?:[\s$({[*:=≈~<>"'→]|\\approx(?![a-zA-Z])|\\[()[\]]|\\sim(?![a-zA-Z])|(?:is|are|be|it|it's|it is|about|approximately|approx\.?|roughly|exactly|around|nearly|almost|simply|just|only|now|thus|indeed|therefore|equal|equals|to|a|an|the|total|of|sum|number|value|amount|actually|not\s+\S{1,30}\s+but|still|circa|ca\.|etwa|environ|rund|probably|likely|maybe|perhaps|possibly|rather|instead|at|should|must|would|have|been)(?![\p{L}\d])|\\?[\p{L}](?:_\{?\w{1,5}\}?)?(?:\([\w,]{1,5}\))?\s?(?:=|≈|\\approx)|[\p{L}_]{2,20}\s?=)*/iu;

/** Length of what may stand before the number in an explicit answer. */
function leadOf(text: string): number {
  return LEAD.exec(text.slice(0, 300))?.[0].length ?? 0;
}

const OPERATED =
  /^\s*(?:\\?%\s*)?(?:[\p{L}.]{1,20}\s*){0,3}[)\]}]{0,2}\s*(?:[-+*/×÷·^(]|\\times|\\cdot|\\div|[x]\s?(?=[$\d])|\\frac|!)/u;
const EQUALS = /^\s*(?:\\?%\s*)?(?:[\p{L}.]{1,20}\s*){0,3}[)\]}$]{0,3}\s*$/u;

/** Goes along a chain of equal signs, and looks at what else is said with the number. */
function follow(
  text: string,
  quantities: readonly Quantity[],
  first: number,
  { after, isExplicit }: { after: string; isExplicit: boolean },
): NumberReading {
  let index = first;
  const indices = [first];
  for (;;) {
    const { end } = quantities[index] as Quantity;
    const joint = /[=≈]|\\approx(?![a-zA-Z])|\\simeq/.exec(text.slice(end, end + 400));
    if (joint === null) break;
    const between = text.slice(end, end + joint.index);
    if (/[.;!?](?:\s|$)/.test(between) || /,\s/.test(between)) break;
    const isWhole = EQUALS.test(between);
    if (!isWhole && !OPERATED.test(between)) break;
    const from = end + joint.index + joint[0].length;
    const next = quantities.findIndex(({ start }, place) => place > index && start >= from);
    if (
      next < 0 ||
      !/^[\s$({[~\\]*(?:approx|text)?[\s$({[~]*[-+]?$/.test(
        text.slice(from, (quantities[next] as Quantity).start),
      )
    )
      break;
    if (!isWhole) indices.length = 0;
    index = next;
    indices.push(index);
  }
  const stated = indices.map((each) => numberAt(text, quantities, each, after));
  const last = stated.at(-1) as StatedNumber;
  if (last.quantity.isPlusMinus) return { problem: 'plus or minus is two numbers', raw: last.raw };
  const alternatives: [StatedNumber, ...StatedNumber[]] = [last, ...stated.slice(0, -1)];
  const second = quantities[index + 1];
  if (second === undefined) return { alternatives };
  const between = text.slice(last.quantity.end, second.start);
  const both = text.slice(last.quantity.start, second.end);
  if (isRange(text.slice(Math.max(0, last.quantity.start - 12), last.quantity.start), between)) {
    return isMere(second) ? { alternatives } : { problem: 'a range is no one number', raw: both };
  }
  if (EITHER.test(between))
    return { alternatives, rival: numberAt(text, quantities, index + 1, after) };
  const isList = isExplicit && SEVERAL.test(between) && last.parts.length === 0 && !isMere(second);
  return isList ? { problem: 'there are several numbers', raw: both } : { alternatives };
}

function isRange(before: string, between: string): boolean {
  if (RANGE.test(between)) return true;
  return /between\s[$({[]*$/iu.test(before) && /^[^,.;]{0,30}\sand\s[$({[]*$/iu.test(between);
}

/** "one" may be a pronoun. */
function isMere(quantity: Quantity): boolean {
  return quantity.isWords && quantity.value.equals(1);
}

const RANGE = /^\s?(?:\\?%\s?)?(?:–|—|--?|\.\.\.?|~|\bto\b|\bthrough\b|\bbis\b)\s?[$€£]?$/u;
const EITHER =
  /^\s?(?:\\?%|[\p{L}°$/^\d-]{1,15})?(?:\s[\p{L}°]{1,15})?[$)]?,?\s?\(?(?:or|oder|ou|possibly|\/)\s(?:(?:about|maybe|perhaps|possibly|even|approximately|roughly|is it|it is|could be|just)\s)*[$({[]*(?:[a-z]\s?=\s?)?$/iu;
const SEVERAL = /^[$\])}]?(?:,\s?|;\s?|\s(?:and|&|und|et|y)\s|,\s(?:and)\s)[$({[]*$/iu;

/** The number with the smaller parts that belong to it: `2 hours and 30 minutes`. */
function numberAt(
  text: string,
  quantities: readonly Quantity[],
  index: number,
  after: string,
): StatedNumber {
  const quantity = quantities[index] as Quantity;
  const tail = (from: number): string =>
    `${text.slice(from, from + 80)}${from + 80 >= text.length ? after : ''}`;
  const parts: StatedNumber['parts'] = [];
  let { end } = quantity;
  for (const part of quantities.slice(index + 1, index + 4)) {
    const between = text.slice(end, part.start);
    if (!/^\s?[\p{L}°'"]{1,15}\.?,?\s(?:and\s)?$|^\s?[\p{L}°'"]{1,3}\s?$/u.test(between)) break;
    parts.push({ quantity: part, after: tail(part.end) });
    ({ end } = part);
  }
  return {
    quantity,
    after: tail(quantity.end),
    raw: text.slice(quantity.start, quantity.end).trim(),
    parts,
  };
}

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}
