import type Fraction from 'fraction.js';
import type { Grader, GraderFault, GraderOptions, Verdict } from '../grader.js';
import { exactly, isClose } from './closeness.js';
import type { Tolerance } from './closeness.js';
import { foldText } from './folded-text.js';
import { quantitiesIn } from './quantity.js';
import type { Quantity } from './quantity.js';
import { statedNumber } from './stated-number.js';
import type { StatedNumber } from './stated-number.js';
import { areAlike, convert, moneyUnit, unitAfter, unitOf } from './unit.js';
import type { Unit } from './unit.js';

/** The number that the text comes to in the end is the target. */
export const numeric: Grader = {
  name: 'numeric',
  check(target, options) {
    if (numberTarget(target) === undefined) return { field: 'target', problem: 'must be a number' };
    return numberOptionsFault(options);
  },
  grade: (text, target, { options }) => Promise.resolve(gradeNumber(text, target, options)),
};

/** A target as a number, with the unit that it names itself. */
export function numberTarget(
  target: unknown,
): { value: Fraction; unit: Unit | undefined } | undefined {
  if (typeof target === 'number')
    return Number.isFinite(target) ? { value: exactly(target), unit: undefined } : undefined;
  if (typeof target !== 'string') return undefined;
  const text = foldText(target).trim();
  const [quantity, ...more] = quantitiesIn(text);
  if (quantity === undefined || more.length > 0 || quantity.isPlusMinus) return undefined;
  const around = `${text.slice(0, quantity.start)} ${text.slice(quantity.end)}`;
  if (
    quantity.isWords ||
    /[\p{L}\d]/u.test(around.replace(/\\text|\\mathrm/g, '')) ||
    /[-+*/^!(\[]/.test(around)
  )
    return undefined;
  return { value: quantity.value, unit: ownUnit(quantity, text.slice(quantity.end)) };
}

export function numberOptionsFault(options: GraderOptions): GraderFault | undefined {
  for (const name of ['tolerance', 'absTolerance']) {
    const value = options[name];
    if (
      value !== undefined &&
      !(typeof value === 'number' && value >= 0 && Number.isFinite(value))
    ) {
      return { field: `options.${name}`, problem: 'must be a number, 0 or more' };
    }
  }
  const { unit } = options;
  if (unit !== undefined && typeof unit !== 'string')
    return { field: 'options.unit', problem: 'must be a text' };
  return undefined;
}

export function toleranceOf(options: GraderOptions): Tolerance {
  return {
    relative: options['tolerance'] as number | undefined,
    absolute: options['absTolerance'] as number | undefined,
  };
}

export function gradeNumber(text: string, target: unknown, options: GraderOptions): Verdict {
  const wanted = numberTarget(target);
  const reading = statedNumber(foldText(text));
  if ('problem' in reading)
    return { correct: false, answer: reading.raw, explanation: reading.problem };
  const [stated, ...others] = reading.alternatives;
  const answer = stated.raw;
  if (wanted === undefined)
    return { correct: false, answer, explanation: 'the target is no number' };
  const unit = typeof options['unit'] === 'string' ? unitOf(options['unit']) : wanted.unit;
  const tolerance = toleranceOf(options);
  const { rival } = reading;
  const equal = (each: StatedNumber): boolean | undefined => {
    const values = valuesIn(each, unit);
    return values.length === 0
      ? undefined
      : values.some((value) => isClose(value, wanted.value, tolerance));
  };
  if (rival !== undefined && equal(rival) !== equal(stated) && !isRounding(rival, stated, unit)) {
    return {
      correct: false,
      answer,
      explanation: 'it leaves open which of several numbers is meant',
    };
  }
  if ([stated, ...others].some((each) => equal(each) === true)) {
    return { correct: true, answer, explanation: `${answer} is the target` };
  }
  const why =
    equal(stated) === undefined
      ? `${answer} is in another kind of unit`
      : `${answer} is not ${shown(target)}`;
  return { correct: false, answer, explanation: why };
}

/** "10/3, or about 3.33" says one thing twice. */
function isRounding(a: StatedNumber, b: StatedNumber, unit: Unit | undefined): boolean {
  const [left, right] = [valuesIn(a, unit)[0], valuesIn(b, unit)[0]];
  return left !== undefined && right !== undefined && isClose(left, right, { relative: 0.01 });
}

/** The number in the target's unit; two of them where a percentage may be meant either way, none where it cannot be had. */
export function valuesIn(
  { quantity, after, parts }: StatedNumber,
  target: Unit | undefined,
): Fraction[] {
  const { value } = quantity;
  if (target === undefined || target.kind === 'things') {
    return quantity.isPercent ? [value.div(100), value] : [value];
  }
  const unit = ownUnit(quantity, after);
  if (unit === undefined) return [value];
  let sum = convert(value, unit, target);
  for (const part of parts) {
    const partUnit = ownUnit(part.quantity, part.after);
    if (partUnit === undefined || !areAlike(partUnit, target)) break;
    const more = convert(part.quantity.value, partUnit, target);
    sum = more && sum?.add(more);
  }
  return sum === undefined ? [] : [sum];
}

function ownUnit(quantity: Quantity, after: string): Unit | undefined {
  if (quantity.isPercent) return { kind: 'percent' };
  if (quantity.currency !== undefined) return moneyUnit(quantity.currency);
  return unitAfter(after)?.unit;
}

function shown(target: unknown): string {
  return typeof target === 'string' ? target : JSON.stringify(target);
}
