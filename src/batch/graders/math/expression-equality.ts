import { Complex } from 'complex.js';
import { isClose } from '../closeness.js';
import { rationalValue, some, symbolsOf, valueAt } from './evaluate.js';
import type { Point } from './evaluate.js';
import type { Expression } from './expression.js';

/** Whether two expressions have the same value wherever both have one; undefined where that is not found out here. */
export function areEqual(a: Expression, b: Expression): boolean | undefined {
  if (JSON.stringify(a, plainBigInt) === JSON.stringify(b, plainBigInt)) return true;
  const isDecimal = [a, b].some((side) =>
    some(side, (each) => each.type === 'number' && each.isDecimal),
  );
  const [left, right] = [rationalValue(a), rationalValue(b)];
  if (left !== undefined && right !== undefined) {
    return isDecimal ? isClose(left, right) : left.equals(right);
  }
  if (isEndless(a) || isEndless(b))
    return infiniteSign(a) !== 0 && infiniteSign(a) === infiniteSign(b);
  const leftNames = symbolsOf(a);
  const names = new Set([...leftNames, ...symbolsOf(b)]);
  return agreeAtPoints(a, b, { isDecimal, isClosed: names.size === 0 });
}

function plainBigInt(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

function isEndless(expression: Expression): boolean {
  return some(expression, (each) => each.type === 'symbol' && each.name === 'infinity');
}

function infiniteSign(expression: Expression): number {
  if (expression.type === 'symbol') return expression.name === 'infinity' ? 1 : 0;
  if (expression.type !== 'apply') return 0;
  const [first] = expression.arguments;
  if (expression.name === 'negate' && first !== undefined) return -infiniteSign(first);
  return 0;
}

const POINTS = 8;

/** Values at points that have nothing special about them; one that differs settles it. */
function agreeAtPoints(
  a: Expression,
  b: Expression,
  { isDecimal, isClosed }: { isDecimal: boolean; isClosed: boolean },
): boolean | undefined {
  const isComplex = [a, b].some((side) =>
    some(side, (each) => each.type === 'symbol' && each.name === 'i'),
  );
  let agreed = 0;
  for (let index = 0; index < (isClosed ? 1 : POINTS); index++) {
    const point = pointNumber(index);
    const [left, right] = [valueAt(a, point), valueAt(b, point)];
    if (left === undefined || right === undefined) continue;
    const isReal = isNearlyReal(left) && isNearlyReal(right);
    // Outside the real domain principal values part where people would not.
    if (!isClosed && !isComplex && !isReal) continue;
    if (!areNear(left, right, isDecimal ? 1e-6 : 1e-9)) return false;
    agreed += 1;
  }
  return agreed >= (isClosed ? 1 : 2) ? true : undefined;
}

function isNearlyReal({ re, im }: Complex): boolean {
  return Math.abs(im) <= 1e-9 * Math.max(1, Math.abs(re));
}

function areNear(a: Complex, b: Complex, share: number): boolean {
  const size = Math.max(a.abs(), b.abs());
  return a.sub(b).abs() <= share * size || (size < 1e-12 && share > 0);
}

/** The same for a name whichever expression holds it; half of the points have negative values, too. */
function pointNumber(index: number): Point {
  return (name) => {
    let hash = 2166136261 ^ (index * 7919);
    for (const sign of name) hash = Math.imul(hash ^ (sign.codePointAt(0) ?? 0), 16777619) >>> 0;
    hash = Math.imul(hash ^ (hash >>> 15), 2246822519) >>> 0;
    const size = 0.3 + ((hash % 99_991) / 99_991) * 2.9;
    return new Complex(index % 2 === 1 && hash % 3 !== 0 ? -size : size, 0);
  };
}
