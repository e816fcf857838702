import { convert, type MinorUnits, type Rate } from '@banking/domain';

/** As a person still compares them, and more exact than any market quotes. */
const SIGNIFICANT_DIGITS = 12;
/** What `rateOf` reads, on either side of the point. */
const DIGITS_MAX = 15;

/**
 * A rate as the decimal that is shown and dealt at: rounded half to even to twelve significant digits, to fifteen decimals at most.
 * Whoever has it can do the sum again; a fraction such as 7700/43 would have to be believed.
 *
 * Undefined for a rate too large or too small to be written so.
 */
export function writtenRate(rate: Rate): string | undefined {
  const decimals = Math.min(DIGITS_MAX, Math.max(0, SIGNIFICANT_DIGITS - magnitudeOf(rate)));
  // Within one currency decimals play no part: what is left of a conversion is its division.
  const scaled = { ...rate, to: rate.from, numerator: rate.numerator * 10n ** BigInt(decimals) };
  if (magnitudeOf(rate) > DIGITS_MAX) return undefined;
  const digits = convert(1n as MinorUnits, scaled, 'half-even')
    .amount.toString()
    .padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  const text = `${digits.slice(0, point)}.${digits.slice(point)}`.replace(/\.?0*$/, '');
  return text === '0' || point > DIGITS_MAX ? undefined : text;
}

/** How many digits stand before the point; zero or below for a rate under one, down to where none is written any more. */
function magnitudeOf({ numerator, denominator }: Rate): number {
  const whole = numerator / denominator;
  if (whole > 0n) return whole.toString().length;
  let magnitude = 0;
  for (let shifted = numerator * 10n; shifted < denominator && magnitude > -DIGITS_MAX; shifted *= 10n) magnitude -= 1;
  return magnitude;
}
