import { Complex } from 'complex.js';
import Fraction from 'fraction.js';
import { powerOf } from '../quantity.js';
import type { Expression } from './expression.js';

/** The exact value where it is a rational number that can be had by arithmetic; else undefined. */
export function rationalValue(expression: Expression): Fraction | undefined {
  if (expression.type === 'number') return expression.value;
  if (expression.type === 'symbol') return undefined;
  const values = expression.arguments.map(rationalValue);
  if (values.some((value) => value === undefined)) return undefined;
  const [a, b] = values as [Fraction, Fraction];
  switch (expression.name) {
    case 'add':
      return a.add(b);
    case 'negate':
      return a.neg();
    case 'multiply':
      return a.mul(b);
    case 'divide':
      return b.n === 0n ? undefined : a.div(b);
    case 'percent':
      return a.div(100);
    case 'power':
      return b.d === 1n && b.n < 100_000n ? powerOf(a, Number(b.s * b.n)) : undefined;
    case 'abs':
      return a.abs();
    case 'floor':
      return a.floor();
    case 'ceil':
      return a.ceil();
    case 'factorial':
      return factorial(a);
    case 'binomial':
      return binomial(a, b);
    case 'sqrt':
      return exactRoot(a);
    default:
      return undefined;
  }
}

function isCount(value: Fraction, most: bigint): boolean {
  return value.d === 1n && value.s >= 0n && value.n <= most;
}

function factorial(value: Fraction): Fraction | undefined {
  if (!isCount(value, 2_000n)) return undefined;
  let product = 1n;
  for (let factor = 2n; factor <= value.n; factor++) product *= factor;
  return new Fraction(product);
}

function binomial(n: Fraction, k: Fraction): Fraction | undefined {
  if (!isCount(n, 2_000n) || !isCount(k, 2_000n)) return undefined;
  let result = 1n;
  for (let index = 1n; index <= k.n; index++) result = (result * (n.n - index + 1n)) / index;
  return new Fraction(result);
}

function exactRoot(value: Fraction): Fraction | undefined {
  if (value.s < 0n || value.n > 10n ** 15n || value.d > 10n ** 15n) return undefined;
  const [above, below] = [value.n, value.d].map((part) =>
    BigInt(Math.round(Math.sqrt(Number(part)))),
  );
  if (above === undefined || below === undefined) return undefined;
  return above * above === value.n && below * below === value.d
    ? new Fraction(above, below)
    : undefined;
}

/** What symbols stand for at one point. */
export type Point = (name: string) => Complex;

/** The value at a point; undefined where a function is not known or the value is not finite. */
export function valueAt(expression: Expression, point: Point): Complex | undefined {
  if (expression.type === 'number') return new Complex(expression.value.valueOf(), 0);
  if (expression.type === 'symbol') {
    if (expression.name === 'pi') return new Complex(Math.PI, 0);
    if (expression.name === 'e') return new Complex(Math.E, 0);
    if (expression.name === 'i') return new Complex(0, 1);
    return expression.name === 'infinity' ? undefined : point(expression.name);
  }
  const rational = rationalValue(expression);
  if (rational !== undefined) return new Complex(rational.valueOf(), 0);
  const values: Complex[] = [];
  for (const argument of expression.arguments) {
    const value = valueAt(argument, point);
    if (value === undefined) return undefined;
    values.push(value);
  }
  const result = applyTo(expression.name, values);
  return result?.isFinite() === true ? result : undefined;
}

function applyTo(name: string, [a, b]: readonly Complex[]): Complex | undefined {
  if (a === undefined) return undefined;
  if (b !== undefined) {
    switch (name) {
      case 'add':
        return a.add(b);
      case 'multiply':
        return a.mul(b);
      case 'divide':
        return b.isZero() ? undefined : a.div(b);
      case 'power':
        return power(a, b);
      case 'root':
        return power(a, new Complex(1, 0).div(b));
      case 'log':
        return a.isZero() ? undefined : a.log().div(b.log());
      default:
        return undefined;
    }
  }
  switch (name) {
    case 'negate':
      return a.neg();
    case 'percent':
      return a.div(100);
    case 'sqrt':
      return a.sqrt();
    case 'cbrt':
      return power(a, new Complex(1 / 3, 0));
    case 'abs':
      return new Complex(a.abs(), 0);
    case 'ln':
    case 'log':
      return a.isZero() ? undefined : a.log();
    case 'log10':
      return a.log().div(Math.LN10);
    case 'log2':
      return a.log().div(Math.LN2);
    case 'floor':
      return a.floor(0);
    case 'ceil':
      return a.ceil(0);
    case 'exp':
    case 'sin':
    case 'cos':
    case 'tan':
    case 'cot':
    case 'sec':
    case 'csc':
    case 'sinh':
    case 'cosh':
    case 'tanh':
    case 'coth':
    case 'asin':
    case 'acos':
    case 'atan':
      return a[name]();
    default:
      return undefined;
  }
}

/** An odd root of a negative number is the real one, as at school. */
function power(base: Complex, exponent: Complex): Complex {
  if (base.im === 0 && exponent.im === 0) {
    const inverse = Math.round(1 / exponent.re);
    const isOddRoot =
      base.re < 0 &&
      inverse % 2 !== 0 &&
      Math.abs(1 / inverse - exponent.re) < 1e-12 &&
      Math.abs(inverse) > 1;
    if (isOddRoot) return new Complex(-((-base.re) ** exponent.re), 0);
    const real = base.re ** exponent.re;
    if (!Number.isNaN(real)) return new Complex(real, 0);
  }
  return base.pow(exponent);
}

/** The free symbols of an expression. */
export function symbolsOf(expression: Expression, found = new Set<string>()): Set<string> {
  if (expression.type === 'symbol') {
    if (!['pi', 'e', 'i', 'infinity'].includes(expression.name)) found.add(expression.name);
  } else if (expression.type === 'apply') {
    for (const argument of expression.arguments) symbolsOf(argument, found);
  }
  return found;
}

export function some(expression: Expression, test: (each: Expression) => boolean): boolean {
  if (test(expression)) return true;
  return (
    expression.type === 'apply' && expression.arguments.some((argument) => some(argument, test))
  );
}
