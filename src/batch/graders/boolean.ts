import type { Grader } from '../grader.js';
import { foldText } from './folded-text.js';
import { statementsOf } from './statement.js';
import type { Statement } from './statement.js';

/** Yes or no, true or false, as it is meant. */
export const boolean: Grader = {
  name: 'boolean',
  check: (target) =>
    booleanTarget(target) === undefined
      ? { field: 'target', problem: 'must be true or false' }
      : undefined,
  grade(text, target) {
    const wanted = booleanTarget(target);
    const stated = statedBoolean(foldText(text));
    const answer = stated === undefined ? null : stated ? 'true' : 'false';
    const explanation =
      stated === undefined ? 'it says neither yes nor no' : `it means ${String(stated)}`;
    return Promise.resolve({
      correct: stated !== undefined && stated === wanted,
      answer,
      explanation,
    });
  },
};

export function booleanTarget(target: unknown): boolean | undefined {
  if (typeof target === 'boolean') return target;
  if (target === 1 || target === 0) return target === 1;
  if (typeof target !== 'string') return undefined;
  const word = target.trim().toLowerCase();
  if (/^(?:true|yes|y|t|1|correct)$/.test(word)) return true;
  return /^(?:false|no|n|f|0|incorrect)$/.test(word) ? false : undefined;
}

const YES =
  'true|yes|yeah|yep|correct|right|affirmative|valid|holds|ja|oui|vrai|sí|si|verdadero|sì|vero|wahr|richtig|sim|да|верно|истина|是|对|正确|はい|正しい';
const NO =
  'false|no|nope|incorrect|wrong|untrue|invalid|negative|fails|nein|non|faux|falso|falsch|não|нет|неверно|ложь|否|不是|不对|错误|错|不正确|いいえ';
const LETTERS = 'y|t|n|f|1|0';
const POLAR = new RegExp(
  `(?<![\\p{L}\\d])(?:(${YES})|(${NO}))(?![\\p{L}\\d])|(不是|不对|不正确|错误|否)|(是的|正确|对)|(✓|✔|✅)|(✗|✘|❌)`,
  'giu',
);
const BOTH =
  /(?<!\p{L})(?:(?:true|yes|correct|valid|right)\s?(?:\/|or|,|\|)\s?(?:false|no|incorrect|invalid|wrong)|(?:false|no)\s?(?:\/|or|,|\|)\s?(?:true|yes))(?!\p{L})(?:\s?(?:\?|question))?/giu;
const NEGATION =
  /(?<!\p{L})(?:not|isn't|is not|aren't|wasn't|doesn't|does not|don't|do not|cannot|can't|can not|never|neither|hardly|nicht|kein|ne|pas|n't|cannot be|far from)\s(?:(?:be|been|always|necessarily|quite|generally|really|at all|in general|entirely|strictly|a|the|actually|exactly|hold|est)\s){0,3}["'($[]*$/iu;
const DENIAL =
  /(?<!\p{L})(?:(?:does|do|did|is|are|was|were|can|could|will|would|has|have)(?:\s?n't|\s+not)|cannot|can't|isn't|doesn't|never|fails to|nicht)(?!\p{L})/iu;
const ASSERTION =
  /(?<!\p{L})(?:it|this|that|they|he|she|there|the [\p{L} ]{1,40}|we|[A-Z])\s(?:always\s|indeed\s|really\s)?(?:is|are|does|do|can|will|has|have|exists?|converges?|holds?)(?!\p{L})/iu;

/** Undefined where the folded text leaves it open. */
export function statedBoolean(folded: string): boolean | undefined {
  let count = 0;
  for (const statement of statementsOf(folded)) {
    const stated = readStatement(statement);
    if (stated !== undefined) return stated;
    if (statement.form === 'label' || statement.form === 'box' || statement.form === 'tag') {
      return undefined;
    }
    if (++count >= 200) return undefined;
  }
  return undefined;
}

function readStatement({ text, form }: Statement): boolean | undefined {
  const isShort = form === 'label' || form === 'box' || form === 'tag';
  const line = (text.split('\n').find((each) => each.trim() !== '') ?? '').replace(BOTH, ' ');
  if (isShort || line.trim().length <= 2) {
    const letter = new RegExp(`^[^\\p{L}\\d]*(${LETTERS})[^\\p{L}\\d]*$`, 'iu').exec(line)?.[1];
    if (letter !== undefined) return /[yt1]/i.test(letter);
  }
  const opening = polarities(line)[0];
  if (opening !== undefined && opening.start <= leadOf(line)) return opening.value;
  const clause = lastClause(line);
  const found = polarities(clause);
  // "correct", "right" and "no" are everyday words; those that can only be a verdict go first.
  const strict = found.filter(({ word }) =>
    /^(?:true|false|yes|incorrect|untrue|valid|invalid|wrong|correct)$/i.test(word),
  );
  const stated = (strict.length > 0 ? strict : found).at(-1) ?? polarities(line).at(-1);
  if (stated !== undefined) return stated.value;
  if (form === 'sentence' && !isShort) return undefined;
  if (DENIAL.test(line)) return false;
  return ASSERTION.test(line) ? true : undefined;
}

function leadOf(line: string): number {
  return (
    /^(?:[^\p{L}\d✓✔✅✗✘❌]|(?:the|statement|claim|answer|is|it|this|that|so|thus|hence|therefore|clearly|definitely|indeed|probably|likely)(?!\p{L}))*/iu.exec(
      line.slice(0, 100),
    )?.[0].length ?? 0
  );
}

/** What follows the last turn of a sentence is what it comes to. */
function lastClause(line: string): string {
  const turns = [
    ...line.matchAll(
      /(?<!\p{L})(?:but|however|so|therefore|thus|hence|which means|instead|yet|aber|mais|pero)(?!\p{L})/giu,
    ),
  ];
  for (const turn of turns.reverse()) {
    const rest = line.slice(turn.index);
    if (polarities(rest).length > 0) return rest;
  }
  return line;
}

interface Polarity {
  value: boolean;
  word: string;
  start: number;
}

function polarities(text: string): Polarity[] {
  const found: Polarity[] = [];
  for (const match of text.matchAll(POLAR)) {
    const [word, yes, no, chineseNo, chineseYes, tick] = match;
    const says = yes !== undefined || chineseYes !== undefined || tick !== undefined;
    // "no counterexample", "no one": a lack of something is no denial.
    if (
      /^no$/i.test(no ?? '') &&
      /^\s\p{L}/u.test(text.slice(match.index + 2)) &&
      match.index > 0 &&
      /[\p{L},]\s$/u.test(text.slice(0, match.index))
    )
      continue;
    if (
      /^(?:right|correct|negative)$/i.test(word) &&
      /^[- ](?:hand|angled?|triangle|side|number|integer|value|answer|definite|root|to|order|way)/i.test(
        text.slice(match.index + word.length),
      )
    )
      continue;
    if (/^si$/i.test(word) && /^\s/.test(text.slice(match.index + 2)) && match.index > 0) continue;
    const before = text.slice(Math.max(0, match.index - 40), match.index);
    const isNegated =
      chineseNo === undefined && NEGATION.test(before) && !/^(?:yes|no)$/i.test(word);
    found.push({ value: says !== isNegated, word, start: match.index });
  }
  return found;
}
