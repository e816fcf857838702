import type { Rate } from '@banking/domain';

/** What `rateOf` reads on either side of the point, and the number of significant digits. */
const DIGITS_MAX = 15;

/**
 * A rate as the decimal that is shown and dealt at: rounded down to fifteen significant digits, and to fifteen decimals at most. So
 * this decimal times that of the reverse rate is at most one, and no conversion there and back gains.
 *
 * Undefined for a rate too large or too small for such a decimal.
 */
export function writtenRate({ numerator, denominator }: Rate): string | undefined {
  const whole = numerator / denominator;
  const decimals = whole === 0n ? DIGITS_MAX : DIGITS_MAX - whole.toString().length;
  if (decimals < 0) return undefined;
  const digits = (numerator * 10n ** BigInt(decimals)) / denominator;
  if (digits === 0n) return undefined;
  const text = digits.toString().padStart(decimals + 1, '0');
  const point = text.length - decimals;
  return `${text.slice(0, point)}.${text.slice(point)}`.replace(/\.?0*$/, '');
}
