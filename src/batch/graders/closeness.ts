import Fraction from 'fraction.js';
import { decimal } from './quantity.js';

export interface Tolerance {
  /** Of the target; edges count as equal. */
  relative?: number | undefined;
  absolute?: number | undefined;
}

/** What computing with doubles may leave of a number, of the target. */
const NOISE = new Fraction(1, 1_000_000);
/** Of large numbers a millionth would be more than noise: cents are told apart whatever the sum. */
const MOST_NOISE = new Fraction(1, 1_000);
/** The last bits of a double. */
const LAST_BITS = new Fraction(1, 10 ** 12);

/** Without a tolerance integers agree exactly, and decimals but for what computing with doubles leaves. */
export function isClose(
  answer: Fraction,
  target: Fraction,
  { relative, absolute }: Tolerance = {},
): boolean {
  if (answer.equals(target)) return true;
  const distance = answer.sub(target).abs();
  if (relative !== undefined || absolute !== undefined) {
    const byShare = relative !== undefined && distance.lte(exactly(relative).mul(target.abs()));
    return (
      byShare ||
      (absolute !== undefined && distance.lte(exactly(absolute))) ||
      isNoise(answer, target, distance)
    );
  }
  return isNoise(answer, target, distance);
}

function isNoise(answer: Fraction, target: Fraction, distance: Fraction): boolean {
  if (answer.d === 1n && target.d === 1n) return false;
  if (target.n === 0n) return distance.lte(NOISE);
  const share = target.abs().mul(NOISE);
  const most = share.lt(MOST_NOISE) ? share : MOST_NOISE;
  return distance.lte(most) || distance.lte(target.abs().mul(LAST_BITS));
}

/** The decimal that people wrote, not the double next to it. */
export function exactly(value: number): Fraction {
  const [digits = '0', exponent = '0'] = String(value).split('e');
  const base = decimal(digits) ?? new Fraction(0);
  const power = new Fraction(10n ** BigInt(Math.abs(Number(exponent))));
  return Number(exponent) < 0 ? base.div(power) : base.mul(power);
}
