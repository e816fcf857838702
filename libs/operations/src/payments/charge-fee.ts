import { convert, type CurrencyCode, inverse, type MinorUnits, minorUnits, type Rate } from '@banking/domain';
import type { Leg } from '@banking/ledger';
import { feeOf, feeScheduleOf } from '@banking/reference';
import { FEE_ROUNDING } from './rounding.js';

/**
 * The fee of a payment in minor units of the account's currency, zero if its corridor has no schedule.
 *
 * The amount is converted to the currency of the schedule, and the fee is converted back at the same rate.
 */
export async function feeOfPayment(
  amount: MinorUnits,
  corridorId: number | undefined,
  rateTo: (currency: CurrencyCode) => Promise<Rate>,
): Promise<MinorUnits> {
  const schedule = corridorId === undefined ? undefined : feeScheduleOf(corridorId);
  if (!schedule) return minorUnits(0n);
  const rate = await rateTo(schedule.currency);
  const fee = feeOf(schedule, convert(amount, rate, FEE_ROUNDING).amount, FEE_ROUNDING);
  return convert(fee, inverse(rate), FEE_ROUNDING).amount;
}

/** The legs that charge a fee: from the customer's account to the workspace's account for fees. */
export function feeLegs(accountId: number, currencyId: number, amount: MinorUnits): Leg[] {
  const leg = { currencyId, amount, type: 'fee' };
  return [
    { ...leg, account: accountId, direction: 'debit' },
    { ...leg, account: 'fees', direction: 'credit' },
  ];
}
