const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
} as const;

export type Style = keyof typeof CODES;

/** Text with at most one style; what a line of the terminal is made of. */
export interface Span {
  text: string;
  style?: Style;
}

/** Colours text, or leaves it alone. */
export type Paint = (text: string, style?: Style) => string;

export function createPaint(hasColor: boolean): Paint {
  return (text, style) => {
    if (!hasColor || style === undefined || text === '') return text;
    const [open, close] = CODES[style];
    return `\u001B[${open}m${text}\u001B[${close}m`;
  };
}

/**
 * NO_COLOR (not empty) switches colour off, FORCE_COLOR switches it on (`0` and `false`: off);
 * else a terminal that can do more than `TERM=dumb` has colour.
 */
export function wantsColor(isTerminal: boolean, env: NodeJS.ProcessEnv): boolean {
  if (env['NO_COLOR']) return false;
  const force = env['FORCE_COLOR'];
  if (force !== undefined) return force !== '0' && force !== 'false';
  return isTerminal && env['TERM'] !== 'dumb';
}
