/**
 * The same text with one way of writing each sign: Western digits, one minus, plain fractions and powers, no emphasis, no
 * invisible signs. Every replacement looks at a bounded neighbourhood, so that the time is linear in the text.
 */
export function foldText(text: string): string {
  return withoutEmphasis(
    foldLatexDressing(
      foldDashes(
        joinGroups(foldDigits(foldPowers(foldFractions(text.replace(INVISIBLE, '')))))
          .normalize('NFKC')
          .replace(/[。｡]/g, '. ')
          .replace(/[、，]/g, ', ')
          .replace(/[’‘ʼ′`´]/g, "'")
          .replace(/[“”„«»]/g, '"')
          .replace(/٬/g, ',')
          .replace(/٫/g, '.')
          .replace(/×|✕|⨯/g, '×')
          .replace(/\u2044|∕/g, '/')
          .replace(/\r\n?/g, '\n'),
      ),
    ),
  );
}

const INVISIBLE = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe0f\ufeff]/g;

/** `2¾` is `2 3/4`. */
function foldFractions(text: string): string {
  return text.replace(/(\p{Nd}?)\s?([¼-¾⅐-⅞↉])/gu, (_, whole: string, sign: string) => {
    const fraction = sign.normalize('NFKC').replace('\u2044', '/');
    return whole === '' ? ` ${fraction}` : `${whole} ${fraction}`;
  });
}

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿ';
const RAISED = '0123456789+-()n';

/** `10⁶` is `10^{6}`. */
function foldPowers(text: string): string {
  return text.replace(/[⁰¹²³⁴-⁹⁺⁻⁽⁾ⁿ]{1,40}/g, (run) => {
    const raised = Array.from(run)
      .map((sign) => RAISED[SUPERSCRIPTS.indexOf(sign)] ?? '')
      .join('');
    return `^{${raised}}`;
  });
}

/** Digits of any script; those of styled alphabets are left to NFKC. */
function foldDigits(text: string): string {
  return text.replace(/[^\0-\x7f]/gu, (sign) => {
    if (!/\p{Nd}/u.test(sign)) return sign;
    const folded = sign.normalize('NFKC');
    return /^\d$/.test(folded) ? folded : String(valueOfDigit(sign));
  });
}

/** The digits of a script stand in a row, nought first. */
function valueOfDigit(sign: string): number {
  const code = sign.codePointAt(0) ?? 0;
  let zero = code;
  while (zero > code - 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return code - zero;
}

/** Groups of three that are held together by a space that does not break. */
function joinGroups(text: string): string {
  return text.replace(/(?<![\d.,])\d{1,3}(?:[\u00a0\u2007-\u200a\u202f]\d{3})+(?!\d)/g, (number) =>
    number.replace(/\D/g, ''),
  );
}

/** A minus of whatever length before a digit; a dash between two numbers stays one, as it means a range. */
function foldDashes(text: string): string {
  return text
    .replace(/[−‐‑﹣－]/g, '-')
    .replace(/(?<![\p{L}\p{N})%]\s?)[–—‒](?=\s?[\d.$€£\\])/gu, '-')
    .replace(/‒/g, '–');
}

function foldLatexDressing(text: string): string {
  return text
    .replace(/\\(?:left|right|[bB]igg?[lrm]?)(?![a-zA-Z])\s?/g, '')
    .replace(/\\(?:displaystyle|textstyle|limits|nolimits)(?![a-zA-Z])/g, '')
    .replace(/\\[dtc]frac(?![a-zA-Z])/g, '\\frac')
    .replace(/(?<=\d)(?:\\[,!;: ]|\{,\}|\\?~)(?=\d{3}(?!\d))/g, (sign) =>
      sign === '{,}' ? ',' : '',
    )
    .replace(/\\[!,;:]/g, ' ')
    .replace(/\\q?quad(?![a-zA-Z])/g, ' ')
    .replace(
      /\\(?:text(?:bf|it|rm|sf|tt|normal)?|mathrm|mathbf|mathit|mathsf|mbox|emph|operatorname\*?)\s?\{([^{}]{0,2000})\}/g,
      '$1',
    )
    .replace(/\\\$/g, '$')
    .replace(/\\#/g, '#')
    .replace(/\\&/g, '&');
}

/** Bold, italic and code in Markdown; `2**3` and `2*3` are left alone. */
function withoutEmphasis(text: string): string {
  return text
    .replace(/`{1,3}/g, '')
    .replace(
      /(?<![\w)\]}])\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?![\w(\\.$-])|(?<=\S)\*{2,3}(?=[.$](?:\s|$))|(?<=\S)\*(?=\.(?:\s|$))/g,
      '',
    )
    .replace(/(?<![\w\\)\]}])_{1,2}(?=[\w$\\-])|(?<=[\w$)}.])_{1,2}(?![\w{\\])/g, '');
}
