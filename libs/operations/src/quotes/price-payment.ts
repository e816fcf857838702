import { convert, type Conversion, type CurrencyCode, decimalsOf, inverse, type MinorUnits, minorUnits, type Rate, rateOf, Refusal, type Rounding, toDecimal } from '@banking/domain'; // prettier-ignore
import { feeOf, feeScheduleOf } from '@banking/reference';
import { type DatedRate, noRate, type RateSource } from '../rates/rate-source.js';
import { writtenRate } from '../rates/written-rate.js';
import type { PaidCorridor, PaymentParties } from './payment-parties.js';

/** Of what arrives of an amount: a conversion never pays out more than it takes in. No rounding favours the caller, who chooses the amount. */
export const ROUNDING: Rounding = 'down';
/** Of the fee, at each step: it is never less than its schedule says. */
const FEE_ROUNDING: Rounding = 'up';

/** The amount of a payment that the caller chose. The other one follows from it. */
export interface FixedAmount {
  /** `source`: what leaves the account besides the fee. `target`: what arrives. */
  readonly side: 'source' | 'target';
  /** At least 1, in minor units of the currency of its side. */
  readonly value: MinorUnits;
  /** The field of the request that a refusal names. */
  readonly field: 'amount' | 'targetAmount';
}

/** What one payment costs, and what arrives. */
export interface Price {
  /** What leaves the account besides the fee, in minor units of its currency. */
  readonly amount: MinorUnits;
  /** What arrives, in minor units of the target currency. */
  readonly targetAmount: MinorUnits;
  readonly fixedSide: FixedAmount['side'];
  /**
   * What `amount` at the rate is worth beyond `targetAmount`, in parts of a minor unit of the target currency: less than one minor unit
   * if `amount` is fixed, less than one minor unit of the account's currency is worth if `targetAmount` is.
   */
  readonly remainder: Conversion['remainder'];
  /** The rate as it is shown, which is the rate that was used. */
  readonly rateText: string;
  /** Who says so since when; undefined within a currency. */
  readonly dated?: Pick<DatedRate, 'source' | 'asOf'>;
  /** In the currency of the account; undefined where there is no recipient. */
  readonly fee?: MinorUnits;
}

/**
 * Prices a payment of which one amount is fixed. Asks for rates, so never call it inside a database transaction.
 *
 * @throws Refusal `corridor_disabled`, `amount_below_minimum`, `amount_above_maximum`, `amount_out_of_range`, `rate_unavailable`
 */
export async function pricePayment(
  { from, to, recipient }: PaymentParties,
  fixed: FixedAmount,
  rates: RateSource,
): Promise<Price> {
  const corridor = recipient?.corridor;
  if (corridor && !corridor.enabled) throw new Refusal('corridor_disabled');

  const { rate, ...said } = await dealtRate(from, to, rates);
  const rateTo = async (currency: CurrencyCode): Promise<Rate> => {
    if (currency === to) return rate;
    return currency === from ? rateOf(from, from, '1') : rates.rateOf(from, currency);
  };
  const amount = fixed.side === 'source' ? fixed.value : smallestAmount(fixed, rate);
  if (corridor) checkLimits(amount, corridor, await rateTo(corridor.limitCurrency), fixed);

  const converted = fixed.side === 'source' ? convertAll(amount, rate) : convertTo(fixed.value, amount, rate);
  checkArrival(converted.targetAmount, to, corridor, fixed);
  const fee = recipient && (await feeFor(amount, corridor, rateTo));
  return { amount, fixedSide: fixed.side, ...converted, ...said, ...(fee !== undefined && { fee }) };
}

/** The smallest amount that is worth at least the target at the rate. */
function smallestAmount({ value, field }: FixedAmount, rate: Rate): MinorUnits {
  try {
    return convert(value, inverse(rate), 'up').amount;
  } catch (error) {
    if (!(error instanceof Refusal && error.reason === 'amount_out_of_range')) throw error;
    const message = 'The account would pay more than the books can hold. Ask for less to arrive.';
    throw refusedFor(field, 'amount_out_of_range', message);
  }
}

/** All of an amount, as far as whole minor units arrive. */
function convertAll(amount: MinorUnits, rate: Rate): Pick<Price, 'targetAmount' | 'remainder'> {
  const { amount: targetAmount, remainder } = convert(amount, rate, ROUNDING);
  return { targetAmount, remainder };
}

/** Exactly the target. What the amount is worth beyond it is left over. */
function convertTo(
  targetAmount: MinorUnits,
  amount: MinorUnits,
  rate: Rate,
): Pick<Price, 'targetAmount' | 'remainder'> {
  const worth = amount * rate.numerator * 10n ** BigInt(decimalsOf(rate.to));
  const denominator = rate.denominator * 10n ** BigInt(decimalsOf(rate.from));
  return { targetAmount, remainder: { numerator: worth - targetAmount * denominator, denominator } };
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
function checkLimits(
  amount: MinorUnits,
  { limitCurrency, minimum, maximum }: PaidCorridor,
  rate: Rate,
  { field }: FixedAmount,
): void {
  const exact = amount * rate.numerator * 10n ** BigInt(decimalsOf(rate.to));
  const unit = rate.denominator * 10n ** BigInt(decimalsOf(rate.from));
  if (exact < minimum * unit) {
    throw refusedFor(field, 'amount_below_minimum', `A payment on this way must be worth at least ${shown(minimum, limitCurrency)}.`); // prettier-ignore
  }
  if (exact > maximum * unit) {
    throw refusedFor(field, 'amount_above_maximum', `A payment on this way must be worth at most ${shown(maximum, limitCurrency)}.`); // prettier-ignore
  }
}

/** At least something must arrive, and as much as the banks on the way pass on. */
function checkArrival(
  arrives: MinorUnits,
  to: CurrencyCode,
  corridor: PaidCorridor | undefined,
  { field }: FixedAmount,
): void {
  const least = (corridor?.payoutMethod === 'SWIFT' && corridor.swiftMinimum) || 1n;
  if (arrives < least) throw refusedFor(field, 'amount_below_minimum', `At least ${shown(minorUnits(least), to)} must arrive.`); // prettier-ignore
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

function refusedFor(
  field: FixedAmount['field'],
  reason: 'amount_below_minimum' | 'amount_above_maximum' | 'amount_out_of_range',
  message: string,
): Refusal {
  return new Refusal(reason, message, { details: [{ path: `/${field}`, reason, message }] });
}
