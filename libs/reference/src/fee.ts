import { convert, type CurrencyCode, type MinorUnits, minorUnits, type Rounding } from '@banking/domain';

/**
 * What a payout costs: a fixed part and a share of the amount, the two together not below a minimum nor above a maximum.
 *
 * In a currency of its own, the one its corridor states limits in, because the accounts that pay are in many: "100
 * minor units" would be a dollar of one account, a hundred yen of another and a tenth of a dinar of a third. Whoever
 * quotes converts the amount for the limits anyway, and takes the fee back at the same rate.
 */
export interface FeeSchedule {
  /** ISO 4217 alpha-3, of everything below. */
  readonly currency: CurrencyCode;
  readonly fixed: MinorUnits;
  /** From 0 to 1,000,000: 2,000 is 0.2 percent. */
  readonly partsPerMillion: bigint;
  readonly minimum: MinorUnits;
  /** Left out where a large amount costs as much as its share comes to. */
  readonly maximum?: MinorUnits;
}

const WHOLE = 1_000_000n;

/**
 * What this amount costs by this schedule, both in minor units of the schedule's currency. Exact up to the last step:
 * the share is rounded once, as named, and the bounds hold after that.
 *
 * @throws Error for an amount below zero, and for a schedule with a part below zero, a share above the whole or its
 * minimum above its maximum: schedules are our own data, so a bad one is a bug.
 */
export function feeOf(schedule: FeeSchedule, amount: MinorUnits, rounding: Rounding): MinorUnits {
  const { currency, fixed, partsPerMillion, minimum, maximum } = schedule;
  const possible = fixed >= 0n && minimum >= 0n && partsPerMillion >= 0n && partsPerMillion <= WHOLE;
  if (!possible || (maximum !== undefined && maximum < minimum)) throw new Error('not a fee schedule');
  if (amount < 0n) throw new Error(`nothing is charged for an amount below zero: ${amount}`);

  const share = { from: currency, to: currency, numerator: partsPerMillion, denominator: WHOLE };
  const fee = partsPerMillion === 0n ? fixed : fixed + convert(amount, share, rounding).amount;
  if (fee < minimum) return minimum;
  return maximum !== undefined && fee > maximum ? maximum : minorUnits(fee);
}
