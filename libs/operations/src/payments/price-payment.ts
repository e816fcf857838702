import {
  type Conversion,
  convert,
  type CurrencyCode,
  decimalsOf,
  inverse,
  type MinorUnits,
  minorUnits,
  type Rate,
  rateOf,
  Refusal,
  toDecimal,
} from '@banking/domain';
import type { Leg } from '@banking/ledger';
import { type DatedRate, feeOf, noRate, type RateSource, writtenRate } from '@banking/reference';
import { refusedField } from './field-refusal.js';
import {
  CONVERSION_ROUNDING,
  FEE_ROUNDING,
  type FixedAmount,
  type PaidCorridor,
  type PaymentParties,
} from './payment-facts.js';

/** The amounts, rate and fee of a payment. */
export interface Price {
  /** The amount that leaves the account without the fee, in minor units of its currency. */
  readonly amount: MinorUnits;
  /** The amount that arrives, in minor units of the target currency. */
  readonly targetAmount: MinorUnits;
  readonly fixedSide: FixedAmount['side'];
  /**
   * The worth of `amount` at the rate beyond `targetAmount`, in parts of a minor unit of the target currency. It is below one minor unit
   * if `amount` is fixed, and below the worth of one minor unit of the account's currency if `targetAmount` is.
   */
  readonly remainder: Conversion['remainder'];
  /** The rate as it is shown. The amounts use exactly this rate. */
  readonly rateText: string;
  /** Source and time of the rate. Undefined within a currency. */
  readonly dated?: Pick<DatedRate, 'source' | 'asOf'> | undefined;
  /** In minor units of the account's currency. Undefined if there is no recipient. */
  readonly fee?: MinorUnits | undefined;
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

  const { rate, rateText, dated } = await roundedRate(from, to, rates);
  const rateTo = async (currency: CurrencyCode): Promise<Rate> => {
    if (currency === to) return rate;
    return currency === from ? rateOf(from, from, '1') : rates.rateOf(from, currency);
  };
  const amount = fixed.side === 'source' ? fixed.value : smallestAmount(fixed, rate);
  if (corridor) {
    // The worth of the amount is the target or more, so a target of exactly the maximum would exceed it.
    const isTarget = fixed.side === 'target' && corridor.limitCurrency === to;
    const limited = isTarget ? fixed.value : amount;
    checkLimits(limited, corridor, isTarget ? rateOf(to, to, '1') : await rateTo(corridor.limitCurrency), fixed);
  }

  const { targetAmount, remainder } =
    fixed.side === 'source' ? convertAll(amount, rate) : convertTo(fixed.value, amount, rate);
  checkArrival(targetAmount, to, corridor, fixed);
  const fee = recipient && (await feeOfPayment(amount, corridor, rateTo));
  return { amount, fixedSide: fixed.side, targetAmount, remainder, rateText, dated, fee };
}

/** The smallest amount whose worth at the rate is the target or more. */
function smallestAmount({ value, field }: FixedAmount, rate: Rate): MinorUnits {
  try {
    return convert(value, inverse(rate), 'up').amount;
  } catch (error) {
    if (!(error instanceof Refusal && error.reason === 'amount_out_of_range')) throw error;
    const message = 'The amount to pay is larger than the service can store. Request a smaller target amount.';
    throw refusedField(field, 'amount_out_of_range', message);
  }
}

/** Converts an amount into whole minor units of the target currency. */
function convertAll(amount: MinorUnits, rate: Rate): Pick<Price, 'targetAmount' | 'remainder'> {
  const { amount: targetAmount, remainder } = convert(amount, rate, CONVERSION_ROUNDING);
  return { targetAmount, remainder };
}

/** The target exactly. The rest of the amount's worth is the remainder. */
function convertTo(
  targetAmount: MinorUnits,
  amount: MinorUnits,
  rate: Rate,
): Pick<Price, 'targetAmount' | 'remainder'> {
  const worth = amount * rate.numerator * 10n ** BigInt(decimalsOf(rate.to));
  const denominator = rate.denominator * 10n ** BigInt(decimalsOf(rate.from));
  return { targetAmount, remainder: { numerator: worth - targetAmount * denominator, denominator } };
}

interface RoundedRate {
  readonly rate: Rate;
  readonly rateText: string;
  readonly dated?: DatedRate;
}

/** By the rate of the source, which is the same object for as long as it is the latest. */
const roundedRates = new WeakMap<DatedRate, RoundedRate>();

/** The rate of the source, rounded down to the decimal that is shown. All amounts use that decimal exactly. */
async function roundedRate(from: CurrencyCode, to: CurrencyCode, rates: RateSource): Promise<RoundedRate> {
  if (from === to) return { rate: rateOf(from, to, '1'), rateText: '1' };
  const dated = await rates.rateOf(from, to);
  const known = roundedRates.get(dated);
  if (known) return known;
  const rateText = writtenRate(dated);
  if (rateText === undefined) throw noRate(from, to);
  const rounded = { rate: rateOf(from, to, rateText), rateText, dated };
  roundedRates.set(dated, rounded);
  return rounded;
}

/** Limits are inclusive. They are compared with the exact amount, without rounding. */
function checkLimits(
  amount: MinorUnits,
  { limitCurrency, minimum, maximum }: PaidCorridor,
  rate: Rate,
  { field }: FixedAmount,
): void {
  const exact = amount * rate.numerator * 10n ** BigInt(decimalsOf(rate.to));
  const unit = rate.denominator * 10n ** BigInt(decimalsOf(rate.from));
  if (exact < minimum * unit) {
    throw refusedField(
      field,
      'amount_below_minimum',
      `The amount is below the corridor minimum of ${shown(minimum, limitCurrency)}.`,
    );
  }
  if (exact > maximum * unit) {
    throw refusedField(
      field,
      'amount_above_maximum',
      `The amount is above the corridor maximum of ${shown(maximum, limitCurrency)}.`,
    );
  }
}

/** At least one minor unit must arrive, and for SWIFT the minimum of the correspondent banks. */
function checkArrival(
  arrives: MinorUnits,
  to: CurrencyCode,
  corridor: PaidCorridor | undefined,
  { field }: FixedAmount,
): void {
  const least = (corridor?.payoutMethod === 'SWIFT' && corridor.swiftMinimum) || 1n;
  if (arrives < least)
    throw refusedField(
      field,
      'amount_below_minimum',
      `The target amount is below the minimum of ${shown(minorUnits(least), to)}.`,
    );
}

const shown = (amount: MinorUnits, currency: CurrencyCode) => `${toDecimal(amount, currency)} ${currency}`;

/**
 * The fee of a payment in minor units of the account's currency, zero if its corridor has no fee.
 *
 * The amount is converted to the currency of the schedule, and the fee is converted back at the same rate.
 */
async function feeOfPayment(
  amount: MinorUnits,
  corridor: PaidCorridor | undefined,
  rateTo: (currency: CurrencyCode) => Promise<Rate>,
): Promise<MinorUnits> {
  const schedule = corridor?.fee;
  if (!schedule) return minorUnits(0n);
  const rate = await rateTo(schedule.currency);
  const fee = feeOf(schedule, convert(amount, rate, FEE_ROUNDING).amount, FEE_ROUNDING);
  return convert(fee, inverse(rate), FEE_ROUNDING).amount;
}

/** The legs that charge a fee: from the customer's account to the workspace's account for fees. */
export const feeLegs = (accountId: number, currencyId: number, amount: MinorUnits): Leg[] => [
  { type: 'fee', account: accountId, currencyId, direction: 'debit', amount },
  { type: 'fee', account: 'fees', currencyId, direction: 'credit', amount },
];
