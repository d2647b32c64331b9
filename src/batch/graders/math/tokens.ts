/** A text that is not the notation of an expression. */
export class NoExpression extends Error {}

export interface Token {
  kind: 'number' | 'name' | 'command' | 'sign';
  text: string;
}

/** Names of more than one letter; all other words are products of letters. */
const WORDS =
  'arcsin|arccos|arctan|asin|acos|atan|sinh|cosh|tanh|coth|sin|cos|tan|cot|sec|csc|sqrt|cbrt|log10|log2|log|exp|abs|floor|ceil|factorial|binomial|infinity|infty|inf|oo|max|min|gcd|lcm|pi|ln|lg|alpha|beta|gamma|delta|theta|lambda|omega|sigma|phi|rho|tau|mu';
const TOKEN = new RegExp(
  [
    String.raw`(?<space>\s+|\\[,;:! ]|~|\\(?:left|right|cdots|ldots)(?![a-zA-Z]))`,
    String.raw`(?<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,6}(?![\d.]))?)`,
    String.raw`(?<command>\\[a-zA-Z]+)`,
    `(?<name>(?:${WORDS})(?![a-zA-Z])|[a-zA-Z\\u0370-\\u03ff])`,
    String.raw`(?<sign>\*\*|\\?%|[-+*/^_!(){}\[\]|,±°×·⋅÷√∞])`,
  ].join('|'),
  'uy',
);

const SIGNS: Readonly<Record<string, string>> = {
  '**': '^',
  '\\%': '%',
  '×': '*',
  '·': '*',
  '⋅': '*',
  '÷': '/',
  '\\cdot': '*',
  '\\times': '*',
  '\\ast': '*',
  '\\div': '/',
  '\\pm': '±',
  '\\mp': '±',
  '\\circ': '°',
  '\\degree': '°',
  '\\vert': '|',
  '\\lvert': '|',
  '\\rvert': '|',
  '\\lbrace': '{',
  '\\rbrace': '}',
};

/** @throws {NoExpression} where something is neither number, name nor sign. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  if (text.length > 10_000) throw new NoExpression('too long');
  for (let index = 0; index < text.length;) {
    TOKEN.lastIndex = index;
    const match = TOKEN.exec(text);
    if (match === null) throw new NoExpression(`"${text.slice(index, index + 10)}" cannot be read`);
    index += match[0].length;
    const { number, command, name, sign } = match.groups ?? {};
    if (number !== undefined) tokens.push({ kind: 'number', text: number });
    else if (name !== undefined) tokens.push({ kind: 'name', text: name });
    else if (sign === '∞') tokens.push({ kind: 'name', text: 'infty' });
    else if (sign === '√') tokens.push({ kind: 'command', text: '\\sqrt' });
    else if (sign !== undefined) tokens.push({ kind: 'sign', text: SIGNS[sign] ?? sign });
    else if (command !== undefined) {
      const meant = SIGNS[command];
      tokens.push(
        meant === undefined ? { kind: 'command', text: command } : { kind: 'sign', text: meant },
      );
    }
  }
  return withoutDegreePowers(tokens);
}

/** `90^\circ` is 90 degrees, no power. */
function withoutDegreePowers(tokens: readonly Token[]): Token[] {
  const kept: Token[] = [];
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index] as Token;
    if (token.text === '^' && tokens[index + 1]?.text === '°') continue;
    if (
      token.text === '^' &&
      tokens[index + 1]?.text === '{' &&
      tokens[index + 2]?.text === '°' &&
      tokens[index + 3]?.text === '}'
    ) {
      kept.push({ kind: 'sign', text: '°' });
      index += 3;
      continue;
    }
    kept.push(token);
  }
  return kept;
}
