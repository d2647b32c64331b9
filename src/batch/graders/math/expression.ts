import Fraction from 'fraction.js';
import { decimal } from '../quantity.js';
import { NoExpression, tokensOf } from './tokens.js';
import type { Token } from './tokens.js';

/** A mathematical expression; `apply` names are those of `evaluate.ts` and of the script that asks sympy. */
export type Expression =
  | { type: 'number'; value: Fraction; isDecimal: boolean }
  | { type: 'symbol'; name: string }
  | { type: 'apply'; name: string; arguments: Expression[] };

/** Deeper ones are not written by people, and would exhaust the stack. */
const MAX_DEPTH = 120;
const MAX_TOKENS = 3_000;

/** Reads LaTeX and program notation alike. @throws {NoExpression} */
export function parseExpression(text: string): Expression {
  const tokens = tokensOf(text);
  if (tokens.length === 0 || tokens.length > MAX_TOKENS) throw new NoExpression('nothing to read');
  const parser = new Parser(tokens);
  const expression = parser.sum();
  parser.end();
  return expression;
}

export function applied(name: string, ...args: Expression[]): Expression {
  return { type: 'apply', name, arguments: args };
}

export function whole(value: number): Expression {
  return { type: 'number', value: new Fraction(value), isDecimal: false };
}

/** Functions by the names people give them. */
const FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ...[
    'sin',
    'cos',
    'tan',
    'cot',
    'sec',
    'csc',
    'sinh',
    'cosh',
    'tanh',
    'coth',
    'exp',
    'ln',
    'log',
    'abs',
    'floor',
    'ceil',
  ].map((name): [string, string] => [name, name]),
  ...['asin', 'acos', 'atan'].map((name): [string, string] => [name, name]),
  ['arcsin', 'asin'],
  ['arccos', 'acos'],
  ['arctan', 'atan'],
  ['lg', 'log10'],
  ['log10', 'log10'],
  ['log2', 'log2'],
  ['sqrt', 'sqrt'],
  ['cbrt', 'cbrt'],
  ['factorial', 'factorial'],
  ['binomial', 'binomial'],
  ['gamma', 'gamma'],
  ['max', 'max'],
  ['min', 'min'],
  ['gcd', 'gcd'],
  ['lcm', 'lcm'],
]);
const CONSTANTS: ReadonlyMap<string, string> = new Map([
  ['pi', 'pi'],
  ['π', 'pi'],
  ['e', 'e'],
  ['i', 'i'],
  ['j', 'j'],
  ['infty', 'infinity'],
  ['infinity', 'infinity'],
  ['inf', 'infinity'],
  ['oo', 'infinity'],
  ['∞', 'infinity'],
]);

class Parser {
  readonly #tokens: readonly Token[];
  #index = 0;
  #depth = 0;
  /** Inside bars a bar closes. */
  #bars = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get #next(): Token | undefined {
    return this.#tokens[this.#index];
  }

  end(): void {
    if (this.#next !== undefined) throw new NoExpression(`"${this.#next.text}" is left over`);
  }

  sum(): Expression {
    if (++this.#depth > MAX_DEPTH) throw new NoExpression('too deep');
    let left = this.#signed();
    for (;;) {
      if (this.#take('+')) left = applied('add', left, this.#product());
      else if (this.#take('-')) left = applied('add', left, applied('negate', this.#product()));
      else if (this.#take('±')) left = applied('plus-minus', left, this.#product());
      else break;
    }
    this.#depth -= 1;
    return left;
  }

  #signed(): Expression {
    if (this.#take('+')) return this.#product();
    if (this.#take('-')) return applied('negate', this.#product());
    if (this.#take('±')) return applied('plus-minus', whole(0), this.#product());
    return this.#product();
  }

  #product(): Expression {
    let left = this.#power();
    for (;;) {
      if (this.#take('*')) left = applied('multiply', left, this.#factor());
      else if (this.#take('/')) left = applied('divide', left, this.#factor());
      else if (this.#beginsAtom()) {
        const mixed = this.#mixedPart(left);
        left =
          mixed === undefined
            ? applied('multiply', left, this.#power())
            : applied('add', left, mixed);
      } else return left;
    }
  }

  #factor(): Expression {
    let isNegative = false;
    while (this.#next?.text === '-' || this.#next?.text === '+') {
      if (this.#next.text === '-') isNegative = !isNegative;
      this.#index += 1;
    }
    const power = this.#power();
    return isNegative ? applied('negate', power) : power;
  }

  /** `3\frac14` and `3 1/4` are sums. */
  #mixedPart(left: Expression): Expression | undefined {
    const isWhole = left.type === 'number' && left.value.d === 1n && !left.isDecimal;
    if (!isWhole) return undefined;
    const start = this.#index;
    const part = this.#ownFraction();
    const isPart =
      part?.type === 'apply' &&
      part.arguments.every((each) => each.type === 'number' && each.value.d === 1n);
    if (isPart) {
      const [above, below] = part.arguments as { value: Fraction }[];
      if (above !== undefined && below !== undefined && above.value.lt(below.value)) return part;
    }
    this.#index = start;
    return undefined;
  }

  #ownFraction(): Expression | undefined {
    if (this.#next?.text === '\\frac') return this.#atom();
    const [above, slash, below] = this.#tokens.slice(this.#index, this.#index + 3);
    if (above?.kind !== 'number' || slash?.text !== '/' || below?.kind !== 'number')
      return undefined;
    this.#index += 3;
    return applied('divide', numberOf(above), numberOf(below));
  }

  #beginsAtom(): boolean {
    const token = this.#next;
    if (token === undefined) return false;
    if (token.kind === 'number' || token.kind === 'name') return true;
    if (token.kind === 'command') return !['\\le', '\\in'].includes(token.text);
    return (
      token.text === '(' ||
      token.text === '[' ||
      token.text === '{' ||
      (token.text === '|' && this.#bars === 0)
    );
  }

  #power(): Expression {
    if (++this.#depth > MAX_DEPTH) throw new NoExpression('too deep');
    const base = this.#postfixed(this.#atom());
    const result = this.#take('^')
      ? this.#postfixed(applied('power', base, this.#exponent()))
      : base;
    this.#depth -= 1;
    return result;
  }

  /** Right to left, as is usual: 2^3^2 is 2^9. */
  #exponent(): Expression {
    if (this.#take('-')) return applied('negate', this.#exponent());
    if (this.#take('+')) return this.#exponent();
    return this.#power();
  }

  #postfixed(expression: Expression): Expression {
    let result = expression;
    for (;;) {
      if (this.#take('!')) result = applied('factorial', result);
      else if (this.#take('%')) result = applied('percent', result);
      // An angle is given in degrees on both sides.
      else if (this.#take('°')) continue;
      else return result;
    }
  }

  #atom(): Expression {
    const token = this.#next;
    if (token === undefined) throw new NoExpression('it ends too early');
    this.#index += 1;
    if (token.kind === 'number') return numberOf(token);
    if (token.kind === 'name') return this.#named(token.text);
    if (token.kind === 'command') return this.#command(token.text);
    switch (token.text) {
      case '(':
        return this.#closed(')');
      case '[':
        return this.#closed(']');
      case '{':
        return this.#closed('}');
      case '|': {
        this.#bars += 1;
        const inner = this.sum();
        this.#bars -= 1;
        this.#expect('|');
        return applied('abs', inner);
      }
      default:
        throw new NoExpression(`"${token.text}" is unexpected`);
    }
  }

  #closed(sign: string): Expression {
    const bars = this.#bars;
    this.#bars = 0;
    const inner = this.sum();
    this.#bars = bars;
    this.#expect(sign);
    return inner;
  }

  #command(command: string): Expression {
    const name = command.slice(1);
    switch (name) {
      case 'frac':
        return applied('divide', this.#argument(), this.#argument());
      case 'binom':
        return applied('binomial', this.#argument(), this.#argument());
      case 'sqrt': {
        if (!this.#take('[')) return applied('sqrt', this.#argument());
        const degree = this.#closed(']');
        return applied('root', this.#argument(), degree);
      }
      case 'lfloor':
        return applied('floor', this.#until('\\rfloor'));
      case 'lceil':
        return applied('ceil', this.#until('\\rceil'));
      case 'overline':
      case 'vec':
      case 'hat':
      case 'bar':
        return { type: 'symbol', name: `${name} ${JSON.stringify(this.#argument())}` };
      default:
        return this.#named(name);
    }
  }

  #until(command: string): Expression {
    const inner = this.sum();
    this.#expect(command);
    return inner;
  }

  /** `\frac12` takes a digit each. */
  #argument(): Expression {
    const token = this.#next;
    if (token?.kind === 'number' && token.text.length > 1 && /^\d+$/.test(token.text)) {
      const [first, rest] = [token.text.slice(0, 1), token.text.slice(1)];
      (this.#tokens as Token[]).splice(
        this.#index,
        1,
        { ...token, text: first },
        { ...token, text: rest },
      );
    }
    return this.#atom();
  }

  #named(name: string): Expression {
    const called = FUNCTIONS.get(name);
    if (called !== undefined) return this.#call(called);
    const constant = CONSTANTS.get(name);
    if (constant !== undefined) return { type: 'symbol', name: constant };
    let symbol = name;
    if (this.#take('_')) symbol += `_${this.#subscript()}`;
    return { type: 'symbol', name: symbol };
  }

  #subscript(): string {
    const start = this.#index;
    this.#atom();
    return this.#tokens
      .slice(start, this.#index)
      .map(({ text }) => text)
      .join('')
      .replace(/[{}]/g, '');
  }

  #call(name: string): Expression {
    let base: Expression | undefined;
    let power: Expression | undefined;
    for (;;) {
      if (base === undefined && this.#take('_')) base = this.#atom();
      else if (power === undefined && this.#take('^')) power = this.#exponent();
      else break;
    }
    const args = this.#callArguments();
    const isInverse =
      power?.type === 'apply' && power.name === 'negate' && ['sin', 'cos', 'tan'].includes(name);
    const called = isInverse
      ? applied(`a${name}`, ...args)
      : applied(name, ...args, ...(base === undefined ? [] : [base]));
    return power === undefined || isInverse ? called : applied('power', called, power);
  }

  /** In brackets, or the product that follows: `\sin 2x`. */
  #callArguments(): Expression[] {
    if (this.#take('(')) {
      const args = [this.sum()];
      while (this.#take(',')) args.push(this.sum());
      this.#expect(')');
      return args;
    }
    if (this.#take('-')) return [applied('negate', this.#power())];
    let argument = this.#power();
    while (this.#beginsAtom() && !this.#beginsCall())
      argument = applied('multiply', argument, this.#power());
    return [argument];
  }

  #beginsCall(): boolean {
    return FUNCTIONS.has((this.#next?.text ?? '').replace(/^\\/, ''));
  }

  #take(text: string): boolean {
    if (this.#next?.text !== text) return false;
    this.#index += 1;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw new NoExpression(`"${text}" is missing`);
  }
}

function numberOf({ text }: Token): Expression {
  const [digits = '', exponent] = text.split(/[eE]/);
  const value = decimal(digits);
  if (value === undefined) throw new NoExpression(`"${text}" is no number`);
  const power = Number(exponent ?? 0);
  if (Math.abs(power) > 5_000) throw new NoExpression(`"${text}" is out of reach`);
  const factor = new Fraction(10n ** BigInt(Math.abs(power)));
  return {
    type: 'number',
    value: power < 0 ? value.div(factor) : value.mul(factor),
    isDecimal: /[.eE]/.test(text),
  };
}
