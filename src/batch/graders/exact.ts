import type { Grader, GraderOptions, Verdict } from '../grader.js';
import { daysIn } from './dates.js';
import { foldText } from './folded-text.js';
import { statementsOf } from './statement.js';

/** The same text, apart from blanks and a final full stop; the text may say "Answer:" before it, or put it in a box. */
export const exact: Grader = {
  name: 'exact',
  check(target, options) {
    if (typeof target !== 'string' && typeof target !== 'number')
      return { field: 'target', problem: 'must be a text' };
    const flag = ['ignoreCase', 'date'].find(
      (name) => !['boolean', 'undefined'].includes(typeof options[name]),
    );
    if (flag !== undefined) return { field: `options.${flag}`, problem: 'must be true or false' };
    if (options['date'] === true && daysIn(foldText(String(target))).length !== 1) {
      return { field: 'target', problem: 'must be one date, as options.date says' };
    }
    return undefined;
  },
  grade: (text, target, { options }) => Promise.resolve(gradeText(text, String(target), options)),
};

function gradeText(text: string, target: string, options: GraderOptions): Verdict {
  if (options['date'] === true) return gradeDay(text, target);
  const shape = (each: string): string => {
    const plain = plainText(each);
    return options['ignoreCase'] === true ? plain.toLowerCase() : plain;
  };
  const wanted = shape(target);
  const candidates = [text, ...statedTexts(foldText(text))];
  const correct = candidates.some(
    (each) => shape(each) === wanted || shape(foldText(each)) === wanted,
  );
  const answer = plainText(candidates[1] ?? text);
  return {
    correct,
    answer: answer === '' ? null : answer,
    explanation: correct ? 'the same text' : `not the text "${target}"`,
  };
}

/** What the text states as its answer, where it does so in an explicit form. */
function statedTexts(folded: string): string[] {
  for (const { form, text } of statementsOf(folded)) {
    if (form === 'correction') continue;
    if (form === 'sentence') return [];
    return [form === 'box' || form === 'tag' ? text : (text.split('\n')[0] ?? '')];
  }
  return [];
}

function plainText(text: string): string {
  return text
    .normalize('NFC')
    .trim()
    .replace(/\s+/g, ' ')
    .replace(/\s?[.。]$/, '');
}

function gradeDay(text: string, target: string): Verdict {
  const [wanted] = daysIn(foldText(target));
  const day = finalDay(foldText(text));
  if (day === undefined) return { correct: false, answer: null, explanation: 'there is no date' };
  const correct = day === wanted;
  return {
    correct,
    answer: day,
    explanation: correct ? 'the same day' : `another day than ${String(wanted)}`,
  };
}

function finalDay(folded: string): string | undefined {
  let count = 0;
  for (const statement of statementsOf(folded)) {
    const days = daysIn(statement.text);
    const day = statement.form === 'sentence' ? days.at(-1) : days[0];
    if (day !== undefined) return day;
    if (++count >= 200) break;
  }
  return daysIn(folded).at(-1);
}
