import type { Grader, Verdict } from '../grader.js';
import { foldText } from './folded-text.js';
import { isMathematical, readValue } from './math/value.js';
import { sameValue } from './math/value-equality.js';
import { statementsOf } from './statement.js';
import type { Statement } from './statement.js';

/**
 * Equal in value: expressions, sets, pairs, intervals with their ends. What cannot be settled is not correct, and says so;
 * never is a text of the model's run as code.
 */
export const math: Grader = {
  name: 'math',
  check(target, options) {
    if (typeof target !== 'string' && typeof target !== 'number')
      return { field: 'target', problem: 'must be a text' };
    if (String(target).trim() === '') return { field: 'target', problem: 'must not be empty' };
    const { timeout } = options;
    if (timeout !== undefined && !(typeof timeout === 'number' && timeout > 0)) {
      return { field: 'options.timeout', problem: 'must be a number of seconds above 0' };
    }
    return undefined;
  },
  grade: (text, target) => Promise.resolve(gradeText(text, String(target))),
};

function gradeText(text: string, target: string): Verdict {
  const wanted = readValue(foldText(target));
  const candidates = answersIn(foldText(text));
  const [first] = candidates;
  if (first === undefined)
    return { correct: false, answer: null, explanation: 'there is no answer' };
  let open: string | undefined;
  for (const candidate of candidates) {
    const same = sameValue(readValue(candidate), wanted);
    if (same === true) {
      return { correct: true, answer: candidate, explanation: `${candidate} equals ${target}` };
    }
    if (same === undefined) open ??= candidate;
  }
  const explanation =
    open === undefined
      ? `${first} does not equal ${target}`
      : `whether ${open} equals ${target} could not be settled`;
  return { correct: false, answer: open ?? first, explanation };
}

/** Ways to read where the answer stands; the first one that is mathematics counts, with and without what is said around it. */
function answersIn(folded: string): string[] {
  let count = 0;
  let words: string[] = [];
  for (const statement of statementsOf(folded)) {
    const readings = readingsOf(statement).filter((each) => each.trim() !== '');
    const mathematical = readings.filter(isMathematical);
    if (mathematical.length > 0)
      return [...mathematical, ...readings.filter((each) => !mathematical.includes(each))];
    if (words.length === 0) words = readings;
    if (statement.form !== 'sentence' && statement.form !== 'phrase') return readings;
    if (++count >= 50) break;
  }
  return words;
}

function readingsOf({ text, form, boxes }: Statement): string[] {
  if (form === 'box') {
    const different = [...new Set(boxes)];
    return [different.length > 1 ? different.join(' , ') : text];
  }
  const line = text.split('\n')[0] ?? '';
  const plain = withoutEnd(form === 'tag' ? text : line);
  const inline = inlineMath(plain);
  const tail =
    /(?:(?<!\p{L})(?:is|are|equals|be|gives|get|to|ist|est|es|have)(?!\p{L})|:)\s(?!.*(?<!\p{L})(?:is|are|equals|be|gives|get|to|ist|est|es|have)(?!\p{L})\s)(.*)$/iu.exec(
      plain,
    )?.[1];
  const sides = plain.split('=').at(-1);
  const lone = [plain, tail, sides].filter((each) => each !== undefined);
  return [...new Set([...inline, ...lone, ...lone.map(withoutUnits)])];
}

function withoutEnd(text: string): string {
  return text.trim().replace(/(?<=[^.])[.!?;,]+$/, '');
}

/** `x = 2$ and $x = 3` are one list; else the last formula of a sentence is what it comes to. */
function inlineMath(text: string): string[] {
  const formulas = [
    ...text.matchAll(/\$\$?([^$]{1,5000})\$\$?|\\\((.{1,5000}?)\\\)|\\\[(.{1,5000}?)\\\]/gs),
  ];
  if (formulas.length === 0) return [];
  const contents = formulas.map((match) => match[1] ?? match[2] ?? match[3] ?? '');
  let first = formulas.length - 1;
  while (first > 0) {
    const [previous, next] = [formulas[first - 1], formulas[first]];
    if (previous === undefined || next === undefined) break;
    const between = text.slice(previous.index + previous[0].length, next.index);
    if (!/^\s*(?:,|;|,?\s*(?:and|or|und|et))\s*$/.test(between)) break;
    first -= 1;
  }
  return [contents.slice(first).join(' , ')];
}

/** "12 square metres" without its words. */
function withoutUnits(text: string): string {
  return text
    .replace(/(?<=[\d})!%π]\s?|pi\s|\\[a-z]{2,9}\s)(?:\s?[\p{L}²³/^°.]{1,20}){1,5}$/u, '')
    .trim();
}
