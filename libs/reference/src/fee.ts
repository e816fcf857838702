import { convert, type CurrencyCode, type MinorUnits, minorUnits, type Rounding } from '@banking/domain';

/**
 * The price of a payout: a fixed part plus a share of the amount, within a minimum and a maximum.
 *
 * It is in the currency of the corridor's limits, because payer accounts have many currencies: "100 minor units" is a
 * dollar, a hundred yen or a tenth of a dinar. A quote converts the amount for the limits anyway, and converts the fee
 * back at the same rate.
 */
export interface FeeSchedule {
  /** The currency of all amounts below. */
  readonly currency: CurrencyCode;
  readonly fixed: MinorUnits;
  /** From 0 to 1,000,000: 2,000 is 0.2 percent. */
  readonly partsPerMillion: bigint;
  readonly minimum: MinorUnits;
  /** Omitted if the fee has no upper limit. */
  readonly maximum?: MinorUnits;
}

const WHOLE = 1_000_000n;

/**
 * The fee of an amount, both in minor units of the schedule's currency. The share is rounded once, as named, before the
 * minimum and the maximum apply.
 *
 * @throws Error for an amount below zero, and for an invalid schedule: a part below zero, a share above the whole, or a
 *   minimum above the maximum. Schedules are our own data, so this is an unexpected failure.
 */
export function feeOf(schedule: FeeSchedule, amount: MinorUnits, rounding: Rounding): MinorUnits {
  const { currency, fixed, partsPerMillion, minimum, maximum } = schedule;
  const possible = fixed >= 0n && minimum >= 0n && partsPerMillion >= 0n && partsPerMillion <= WHOLE;
  if (!possible || (maximum !== undefined && maximum < minimum)) throw new Error('not a fee schedule');
  if (amount < 0n) throw new Error('the amount of a fee must not be below zero');

  const share = { from: currency, to: currency, numerator: partsPerMillion, denominator: WHOLE };
  const fee = partsPerMillion === 0n ? fixed : fixed + convert(amount, share, rounding).amount;
  if (fee < minimum) return minimum;
  return maximum !== undefined && fee > maximum ? maximum : minorUnits(fee);
}
