import { type MinorUnits, minorUnits } from './amount.js';
import { type CurrencyCode, decimalsOf } from './currencies.js';

/**
 * The exact price of one whole unit of `from` in whole units of `to`: `numerator / denominator`, both above zero. Whole units,
 * not minor ones: 1 EUR = 163.25 JPY is 16325/100, although EUR has cents and JPY has none.
 */
export interface Rate {
  readonly from: CurrencyCode;
  readonly to: CurrencyCode;
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/**
 * The rounding of a fraction of a minor unit. `down` rounds towards zero, `up` away from it, `half-up` to the nearest with
 * halves away from zero, `half-even` to the nearest with halves to the even neighbour (IEEE 754 roundTiesToEven). There is no
 * default, because the rounding decides which side gains.
 */
export type Rounding = 'half-even' | 'half-up' | 'down' | 'up';

/** A conversion and its remainder. */
export interface Conversion {
  /** In minor units of the rate's `to`. */
  readonly amount: MinorUnits;
  /**
   * The exact amount less the rounded one, in parts of a minor unit of `to`: exact = amount + numerator / denominator. Below
   * zero if the amount was rounded away from zero (above zero for a negative amount); always less than one unit. Callers book
   * it and never drop it.
   */
  readonly remainder: { readonly numerator: bigint; readonly denominator: bigint };
}

const RATE = /^(0|[1-9][0-9]{0,14})(?:\.([0-9]{1,15}))?$/;

/**
 * Reads a rate from its decimal form: `rateOf('EUR', 'JPY', '163.25')`.
 *
 * @throws Error unless the text has up to fifteen digits on either side of a point and is above zero. Rates come from our own
 *   sources, so this is an unexpected failure.
 */
export function rateOf(from: CurrencyCode, to: CurrencyCode, text: string): Rate {
  const match = RATE.exec(text);
  if (match === null) throw new Error(`not a rate: ${text}`);
  const [, whole = '', fraction = ''] = match;
  const rate = { from, to, numerator: BigInt(whole + fraction), denominator: 10n ** BigInt(fraction.length) };
  if (rate.numerator === 0n) throw new Error('a rate must be above zero');
  return rate;
}

/** The exact rate in the other direction. */
export function inverse(rate: Rate): Rate {
  return { from: rate.to, to: rate.from, numerator: rate.denominator, denominator: rate.numerator };
}

/**
 * Converts an amount in minor units of `rate.from` into minor units of `rate.to`, with the decimals of both.
 *
 * @throws Refusal `amount_out_of_range` if the books cannot store the result.
 * @throws Refusal `currency_unknown` if either currency has no smallest unit.
 */
export function convert(amount: MinorUnits, rate: Rate, rounding: Rounding): Conversion {
  if (rate.numerator <= 0n || rate.denominator <= 0n) throw new Error('a rate must be above zero');

  const exact = amount * rate.numerator * 10n ** BigInt(decimalsOf(rate.to));
  const denominator = rate.denominator * 10n ** BigInt(decimalsOf(rate.from));
  const rounded = divide(exact, denominator, rounding);

  return { amount: minorUnits(rounded), remainder: { numerator: exact - rounded * denominator, denominator } };
}

/** A rounded quotient. It rounds the magnitude, so that each rounding is symmetric around zero. */
function divide(numerator: bigint, denominator: bigint, rounding: Rounding): bigint {
  const negative = numerator < 0n;
  const magnitude = negative ? -numerator : numerator;
  const quotient = magnitude / denominator;
  const rounded = goesUp(quotient, magnitude % denominator, denominator, rounding) ? quotient + 1n : quotient;
  return negative ? -rounded : rounded;
}

function goesUp(quotient: bigint, rest: bigint, denominator: bigint, rounding: Rounding): boolean {
  const twice = rest * 2n;
  switch (rounding) {
    case 'down':
      return false;
    case 'up':
      return rest > 0n;
    case 'half-up':
      return twice >= denominator;
    case 'half-even':
      return twice > denominator || (twice === denominator && quotient % 2n === 1n);
    default:
      // JavaScript may pass any other text, which must not round down in silence.
      throw new Error('not a rounding: one of down, up, half-up and half-even');
  }
}
