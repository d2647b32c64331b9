import type { Quantity } from './quantity.js';

const STATING =
  /(?:(?<![\p{L}])(?:is|are|was|were|be|been|equals?|cost|costs|comes?|came|totals?|makes?|made|pays?|paid|needs?|requires?|takes?|took|earns?|gets?|gives?|yields?|leaves?|has|have|had|spends?|contains?|holds?|to|ist|sind|beträgt|ergibt|est|sont|vaut|es|son|è|about|approximately|exactly|only|remains?|left with|answer|result)|[=≈:→]|\\approx|是|为|は)[\s$({[*~]*(?:(?:equal|about|approximately|roughly|exactly|around|nearly|almost|only|just|now|to|a|an|the|total|sum|of|at|least|most|than|up|sich|auf|also|then|therefore|thus|still|approx\.?|of|worth)[\s$({[*~]+)*$/iu;
const REFERENCE =
  /(?<![\p{L}])(?:step|steps|equation|eq|example|figure|fig|table|part|case|question|problem|line|section|chapter|row|column|item|page|note|theorem|lemma|rule|method|option|day|week|grade|stage|level|version|python|attempt|iteration|round|base|epoch)\s?\.?\s?[(#[]?$|#$/iu;
const AFTER_YEAR_WORD =
  /(?<![\p{L}])(?:in|since|by|from|until|during|of|year|after|before|im|en|jahr)\s(?:the year\s)?$/iu;
const NEGATED =
  /(?<![\p{L}])(?:not|isn't|is not|rather than|instead of|never|nor|nicht)\s(?:(?:just|only|be|equal to|about|the)\s)?$/iu;
const PREMISE =
  /^(?:since|because|if|when|given|after|as|for|with|while|although|though|assuming|wenn|da|weil)\s[^,]{0,200},/iu;

/** Of the numbers of a sentence the one that it states rather than mentions. */
export function strongest(text: string, quantities: readonly Quantity[]): number {
  const premise = PREMISE.exec(text)?.[0].length ?? 0;
  const closed = parentheses(text);
  const indices = quantities.map((_, index) => index);
  const keep = (
    from: readonly number[],
    test: (quantity: Quantity) => boolean,
  ): readonly number[] => {
    const kept = from.filter((index) => test(quantities[index] as Quantity));
    return kept.length > 0 ? kept : from;
  };
  const before = (quantity: Quantity): string =>
    text.slice(Math.max(0, quantity.start - 40), quantity.start);
  let rest = keep(indices, (each) => !NEGATED.test(before(each)));
  rest = keep(rest, (each) => !REFERENCE.test(before(each)));
  rest = keep(rest, (each) => !(isYear(each) && AFTER_YEAR_WORD.test(before(each))));
  rest = keep(
    rest,
    (each) => !closed.some(([from, to]) => from > 0 && each.start >= from && each.end <= to),
  );
  rest = keep(rest, (each) => each.start >= premise);
  const opening = rest.find(
    (index) =>
      (quantities[index] as Quantity).start <= (OPENING.exec(text.slice(0, 60))?.[0].length ?? 0) &&
      (quantities[index] as Quantity).start >= premise,
  );
  const equated = rest.filter((index) =>
    /(?:[=≈]|\\approx)[\s$({[]*$/.test(before(quantities[index] as Quantity)),
  );
  if (equated.length > 0) return equated.at(-1) as number;
  if (
    opening !== undefined &&
    /^\s*(?:\\?%|[-\p{L}])/u.test(text.slice((quantities[opening] as Quantity).end))
  )
    return opening;
  const stating = rest.filter((index) => STATING.test(before(quantities[index] as Quantity)));
  if (stating.length > 0) {
    const last = stating.at(-1) as number;
    return last;
  }
  const digits = keep(rest, (each) => !each.isWords);
  return digits.at(-1) ?? quantities.length - 1;
}

/** What may come before a number that opens its sentence. */
const OPENING =
  /^(?:(?:so|thus|hence|therefore|then|finally|in total|overall|altogether|only|about|exactly|approximately|just|the),?\s)*[-$€£"'(*]*/iu;

function isYear({ value, isPercent, currency }: Quantity): boolean {
  return (
    !isPercent && currency === undefined && value.d === 1n && value.n >= 1000n && value.n <= 2200n
  );
}

function parentheses(text: string): [number, number][] {
  const found: [number, number][] = [];
  const open: number[] = [];
  for (let index = 0; index < text.length; index++) {
    const sign = text[index];
    if (sign === '(') open.push(index);
    else if (sign === ')') {
      const from = open.pop();
      if (from !== undefined && open.length === 0) found.push([from, index + 1]);
    }
  }
  return found;
}
