import { Complex } from 'complex.js';
import Fraction from 'fraction.js';
import { plainWords } from '../plain-words.js';
import { applied } from './expression.js';
import type { Expression } from './expression.js';
import { areEqual } from './expression-equality.js';
import { rationalValue, some, valueAt } from './evaluate.js';
import type { Value } from './value.js';

/** Compares two expressions; undefined where it cannot tell. Asked again for pairs that were left open. */
export type Comparison = (a: Expression, b: Expression) => boolean | undefined;

/** Whether two answers say the same; undefined where one pair of expressions could not be told apart or found equal. */
export function sameValue(a: Value, b: Value, compare: Comparison = areEqual): boolean | undefined {
  if (a.kind === 'set' && b.kind !== 'set' && a.items.length === 1)
    return sameValue(a.items[0] as Value, b, compare);
  if (b.kind === 'set' && a.kind !== 'set' && b.items.length === 1)
    return sameValue(a, b.items[0] as Value, compare);
  if (a.kind === 'matrix' && b.kind === 'tuple') return sameValue(asTuple(a) ?? a, b, compare);
  if (a.kind === 'tuple' && b.kind === 'matrix') return sameValue(a, asTuple(b) ?? b, compare);
  switch (a.kind) {
    case 'expression':
      return b.kind === 'expression' ? sameExpression(a.expression, b.expression, compare) : false;
    case 'tuple':
      if (b.kind !== 'tuple' || a.open !== b.open || a.close !== b.close) return false;
      return sameInOrder(a.items, b.items, compare);
    case 'set':
      return b.kind === 'set' && sameMembers(a.items, b.items, compare);
    case 'union':
      return b.kind === 'union' && sameMembers(flat(a), flat(b), compare);
    case 'equation':
      return b.kind === 'equation' ? sameEquation(a, b, compare) : false;
    case 'matrix':
      if (b.kind !== 'matrix' || a.rows.length !== b.rows.length) return false;
      return all(a.rows.map((row, index) => sameInOrder(row, b.rows[index] ?? [], compare)));
    case 'based':
      return (
        b.kind === 'based' &&
        a.digits.replace(/^0+(?=.)/, '') === b.digits.replace(/^0+(?=.)/, '') &&
        a.base === b.base
      );
    case 'words':
      return b.kind === 'words' && plainWords(a.text) === plainWords(b.text);
  }
}

function sameExpression(a: Expression, b: Expression, compare: Comparison): boolean | undefined {
  const same = compare(a, b);
  if (same === true) return true;
  // "25 %" is a quarter, and also what is meant where 25 is asked for in per cent.
  const [left, right] = [a, b].map((side) => isPercentage(side));
  if (left === right) return same;
  return compare(withoutPercent(a), withoutPercent(b)) === true ? true : same;
}

function isPercentage(expression: Expression): boolean {
  return some(expression, (each) => each.type === 'apply' && each.name === 'percent');
}

function withoutPercent(expression: Expression): Expression {
  if (expression.type !== 'apply') return expression;
  const args = expression.arguments.map(withoutPercent);
  return expression.name === 'percent'
    ? (args[0] as Expression)
    : applied(expression.name, ...args);
}

function asTuple(matrix: Value & { kind: 'matrix' }): Value | undefined {
  const items =
    matrix.rows.length === 1 ? (matrix.rows[0] ?? []) : matrix.rows.flatMap((row) => row);
  const isVector = matrix.rows.length === 1 || matrix.rows.every((row) => row.length === 1);
  return isVector ? { kind: 'tuple', open: '(', close: ')', items } : undefined;
}

function flat(union: Value & { kind: 'union' }): Value[] {
  return union.parts.flatMap((part) => (part.kind === 'union' ? flat(part) : [part]));
}

function all(results: readonly (boolean | undefined)[]): boolean | undefined {
  if (results.includes(false)) return false;
  return results.includes(undefined) ? undefined : true;
}

function sameInOrder(
  a: readonly Value[],
  b: readonly Value[],
  compare: Comparison,
): boolean | undefined {
  if (a.length !== b.length) return false;
  return all(a.map((item, index) => sameValue(item, b[index] as Value, compare)));
}

/** Beyond it members are compared in the order of their size alone. */
const MAX_PAIRS = 10_000;

/** As sets: each member of one is one of the other. */
function sameMembers(
  a: readonly Value[],
  b: readonly Value[],
  compare: Comparison,
): boolean | undefined {
  if (a.length * b.length > MAX_PAIRS) {
    return a.length === b.length && sameInOrder(bySize(a), bySize(b), compare);
  }
  const covers = (whole: readonly Value[], parts: readonly Value[]): boolean | undefined =>
    all(
      parts.map((part) => {
        const results = whole.map((each) => sameValue(each, part, compare));
        if (results.includes(true)) return true;
        return results.includes(undefined) ? undefined : false;
      }),
    );
  return all([covers(a, b), covers(b, a)]);
}

function bySize(values: readonly Value[]): Value[] {
  const size = (value: Value): number => {
    if (value.kind !== 'expression') return 0;
    return (
      rationalValue(value.expression)?.valueOf() ??
      valueAt(value.expression, () => new Complex(1, 0))?.re ??
      0
    );
  };
  return values
    .map((value) => ({ value, size: size(value) }))
    .sort((x, y) => x.size - y.size)
    .map(({ value }) => value);
}

/** Two equations are the same where one is the other times a constant. */
function sameEquation(
  a: Value & { kind: 'equation' },
  b: Value & { kind: 'equation' },
  compare: Comparison,
): boolean | undefined {
  const [left, right] = [a, b].map((each) =>
    applied('add', each.left, applied('negate', each.right)),
  ) as [Expression, Expression];
  const same = compare(left, right);
  if (same === true) return true;
  const factor = constantRatio(left, right);
  return factor === undefined ? same : compare(left, applied('multiply', factor, right));
}

function constantRatio(a: Expression, b: Expression): Expression | undefined {
  const point = (name: string) => new Complex(1 + (name.codePointAt(0) ?? 0) / 97, 0);
  const [left, right] = [valueAt(a, point), valueAt(b, point)];
  if (left === undefined || right === undefined || right.isZero()) return undefined;
  const { re } = left.div(right);
  if (!Number.isFinite(re)) return undefined;
  return { type: 'number', value: new Fraction(Number(re.toPrecision(12))), isDecimal: true };
}
