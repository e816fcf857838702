import type { Rate } from '@banking/domain';

/** The limit of `rateOf` on each side of the point, and of significant digits. */
const DIGITS_MAX = 15;

/**
 * The decimal that is shown and that conversions use: rounded down to 15 significant digits and at most 15 decimals. This decimal times
 * that of the reverse rate is at most 1, so no conversion there and back gains.
 *
 * Undefined for a rate that is too large or too small.
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
