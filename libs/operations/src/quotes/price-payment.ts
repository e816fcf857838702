import { convert, type Conversion, type CurrencyCode, decimalsOf, inverse, type MinorUnits, minorUnits, type Rate, rateOf, Refusal, type Rounding, toDecimal } from '@banking/domain'; // prettier-ignore
import { feeOf, feeScheduleOf } from '@banking/reference';
import { type DatedRate, noRate, type RateSource } from '../rates/rate-source.js';
import { writtenRate } from '../rates/written-rate.js';
import type { PaidCorridor, PaymentParties } from './payment-parties.js';

/** Of what arrives: a conversion never pays out more than it takes in. The caller chooses the amount, so no rounding is in its favour. */
export const ROUNDING: Rounding = 'down';
/** Of the fee, at each step: it is never less than its schedule says. */
const FEE_ROUNDING: Rounding = 'up';

/** What one payment costs, and what arrives. */
export interface Price extends Conversion {
  /** The rate as it is shown, which is the rate that was used. */
  readonly rateText: string;
  /** Who says so since when; undefined within a currency. */
  readonly dated?: Pick<DatedRate, 'source' | 'asOf'>;
  /** In the currency of the account; undefined where there is no recipient. */
  readonly fee?: MinorUnits;
}

/**
 * Prices a payment of an amount in the currency of the account. Asks for rates, so never call it inside a database transaction.
 *
 * @throws Refusal `corridor_disabled`, `amount_below_minimum`, `amount_above_maximum`, `amount_out_of_range`, `rate_unavailable`
 */
export async function pricePayment(
  { from, to, recipient }: PaymentParties,
  amount: MinorUnits,
  rates: RateSource,
): Promise<Price> {
  const corridor = recipient?.corridor;
  if (corridor && !corridor.enabled) throw new Refusal('corridor_disabled');

  const { rate, ...said } = await dealtRate(from, to, rates);
  const rateTo = async (currency: CurrencyCode): Promise<Rate> => {
    if (currency === to) return rate;
    return currency === from ? rateOf(from, from, '1') : rates.rateOf(from, currency);
  };
  if (corridor) checkLimits(amount, corridor, await rateTo(corridor.limitCurrency));

  const converted = convert(amount, rate, ROUNDING);
  checkArrival(converted.amount, to, corridor);
  const fee = recipient && (await feeFor(amount, corridor, rateTo));
  return { ...converted, ...said, ...(fee !== undefined && { fee }) };
}

/** The exact rate of the source, rounded down to the decimal that is shown; and from there on that decimal, exactly. */
async function dealtRate(from: CurrencyCode, to: CurrencyCode, rates: RateSource) {
  if (from === to) return { rate: rateOf(from, to, '1'), rateText: '1' };
  const dated = await rates.rateOf(from, to);
  const rateText = writtenRate(dated);
  if (rateText === undefined) throw noRate(from, to);
  return { rate: rateOf(from, to, rateText), rateText, dated };
}

/** Both limits are included, and compared with the exact amount: nothing is rounded into them. */
function checkLimits(amount: MinorUnits, { limitCurrency, minimum, maximum }: PaidCorridor, rate: Rate): void {
  const exact = amount * rate.numerator * 10n ** BigInt(decimalsOf(rate.to));
  const unit = rate.denominator * 10n ** BigInt(decimalsOf(rate.from));
  if (exact < minimum * unit) {
    throw outside('amount_below_minimum', `A payment on this way must be worth at least ${shown(minimum, limitCurrency)}.`); // prettier-ignore
  }
  if (exact > maximum * unit) {
    throw outside('amount_above_maximum', `A payment on this way must be worth at most ${shown(maximum, limitCurrency)}.`); // prettier-ignore
  }
}

/** At least something must arrive, and as much as the banks on the way pass on. */
function checkArrival(arrives: MinorUnits, to: CurrencyCode, corridor: PaidCorridor | undefined): void {
  const least = (corridor?.payoutMethod === 'SWIFT' && corridor.swiftMinimum) || 1n;
  if (arrives < least) throw outside('amount_below_minimum', `At least ${shown(minorUnits(least), to)} must arrive.`);
}

/** The schedule of the corridor in its own currency, on the amount at the rate of the payment, and back at that rate. */
async function feeFor(
  amount: MinorUnits,
  corridor: PaidCorridor | undefined,
  rateTo: (currency: CurrencyCode) => Promise<Rate>,
): Promise<MinorUnits> {
  const schedule = corridor && feeScheduleOf(corridor.id);
  if (!schedule) return minorUnits(0n);
  const rate = await rateTo(schedule.currency);
  const fee = feeOf(schedule, convert(amount, rate, FEE_ROUNDING).amount, FEE_ROUNDING);
  return convert(fee, inverse(rate), FEE_ROUNDING).amount;
}

const shown = (amount: MinorUnits, currency: CurrencyCode) => `${toDecimal(amount, currency)} ${currency}`;

function outside(reason: 'amount_below_minimum' | 'amount_above_maximum', message: string): Refusal {
  return new Refusal(reason, message, { details: [{ path: '/amount', reason, message }] });
}
