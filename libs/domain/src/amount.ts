import { type RefusalRow, BaseRefusal } from './base-refusal.js';

/** The rows that this library refuses with itself: amounts and their currencies. */
export const AMOUNT_REFUSALS = {
  amount_malformed: {
    status: 400,
    message: 'The amount is not in the format of this field.',
    action:
      'In a request, write digits in the smallest unit of the currency: no sign, no decimal point, no leading zero.',
  },
  amount_out_of_range: {
    status: 400,
    message: 'The amount is larger than the service can store or show.',
    action: 'Send a smaller amount: at most 9223372036854775807 minor units, and 9007199254740991 for a balance.',
  },
  amount_too_precise: {
    status: 400,
    message: 'The amount has more decimals than its currency.',
    action: 'Round the amount to the decimals of the currency before you send it.',
  },
  currency_unknown: {
    status: 400,
    message: 'The currency is not a current ISO 4217 code with a smallest unit.',
    action: 'Send the three capital letters of a current currency, such as EUR.',
  },
} as const satisfies Record<string, RefusalRow>;

/** Makes a refusal about an amount or its currency, without loading the whole table. `instanceof Refusal` holds for it. */
export function amountRefusal(reason: keyof typeof AMOUNT_REFUSALS, message: string): BaseRefusal {
  return new BaseRefusal(reason, AMOUNT_REFUSALS[reason], message);
}

declare const unit: unique symbol;

/**
 * A signed whole number of a currency's smallest unit: cents for EUR, yen for JPY, fils for KWD.
 *
 * The only type for arithmetic. It is a `bigint`, so `<`, `===` and `+` work on it; {@link add} and
 * {@link subtract} keep the type. Its currency always travels beside it, never inside it.
 */
export type MinorUnits = bigint & { readonly [unit]: 'minor' };

/**
 * An amount as transfers, orders, fees and limits write it: digits in a string, minor units, never negative.
 *
 * It is a `string`, so it can be stored and printed as it is. Read it with {@link parseTransferAmount} to calculate.
 */
export type TransferAmount = string & { readonly [unit]: 'transfer' };

/**
 * An amount as balances write it: a JSON integer, minor units, at most 2^53 - 1 either way.
 *
 * Always a number at run time. No value has the second type of the union. It is there because the compiler adds strings to
 * everything except symbols. With it, none of these compiles:
 * `transfer + balance` (which would join digits), `balance + balance`, `balance - 1`, `balance < 100`,
 * `const n: number = balance`. Read it with {@link fromBalanceAmount} instead.
 *
 * These still compile: `transfer + transfer` and `transfer + minorUnits` (both give a plain `string`,
 * which no function accepts as an amount without parsing it), and `transfer < transfer` (which compares text).
 */
export type BalanceAmount = (number & { readonly [unit]: 'balance' }) | (symbol & { readonly [unit]: 'balance' });

/** The largest amount that the books store: PostgreSQL's `bigint`, 2^63 - 1. */
export const MINOR_UNITS_MAX = 9_223_372_036_854_775_807n;

const DIGITS = /^(?:0|[1-9][0-9]{0,18})$/;

/**
 * Converts a whole number to minor units.
 *
 * @throws Refusal `amount_out_of_range` above {@link MINOR_UNITS_MAX} or below its negative.
 */
export function minorUnits(value: bigint): MinorUnits {
  if (value > MINOR_UNITS_MAX || value < -MINOR_UNITS_MAX) {
    throw amountRefusal(
      'amount_out_of_range',
      'An amount would be above the limit of 9223372036854775807 minor units.',
    );
  }
  return value as MinorUnits;
}

/**
 * Reads an amount as transfers and orders write it.
 *
 * `"1250"` in EUR is twelve euros fifty. Each amount has one spelling, without sign, point, leading zero or space. So equal
 * amounts are equal strings.
 *
 * @throws Refusal `amount_malformed` for any other spelling, more than nineteen digits included.
 * @throws Refusal `amount_out_of_range` above {@link MINOR_UNITS_MAX}.
 */
export function parseTransferAmount(text: string): MinorUnits {
  if (!DIGITS.test(text)) {
    throw amountRefusal('amount_malformed', 'Write the amount in digits, in the smallest unit of the currency.');
  }
  return minorUnits(BigInt(text));
}

/** Writes an amount as transfers do. It must not be negative, because the direction is a separate field. */
export function toTransferAmount(amount: MinorUnits): TransferAmount {
  if (amount < 0n) throw new Error(`a transfer amount cannot be negative: ${amount}`);
  return amount.toString() as TransferAmount;
}

/**
 * Writes an amount as balances do.
 *
 * @throws Refusal `amount_out_of_range` beyond 2^53 - 1, because a JSON integer would lose digits.
 */
export function toBalanceAmount(amount: MinorUnits): BalanceAmount {
  const integer = Number(amount);
  if (!Number.isSafeInteger(integer)) {
    throw amountRefusal(
      'amount_out_of_range',
      'The balance is above the limit of 9007199254740991 minor units for a JSON integer.',
    );
  }
  return integer as BalanceAmount;
}

/** Reads an amount as balances write it. @throws Error for a fraction or an unsafe integer, which no sender may produce */
export function fromBalanceAmount(amount: BalanceAmount | number): MinorUnits {
  if (typeof amount !== 'number' || !Number.isSafeInteger(amount)) {
    throw new Error(`not a whole number of minor units: ${String(amount)}`);
  }
  return BigInt(amount) as MinorUnits;
}

/**
 * The sum of two amounts of one currency.
 *
 * @throws Refusal `amount_out_of_range` if the books cannot store it.
 */
export function add(left: MinorUnits, right: MinorUnits): MinorUnits {
  return minorUnits(left + right);
}

/**
 * The difference of two amounts of one currency; below zero if the second is larger.
 *
 * @throws Refusal `amount_out_of_range` if the books cannot store it.
 */
export function subtract(left: MinorUnits, right: MinorUnits): MinorUnits {
  return minorUnits(left - right);
}

/** Orders two amounts of one currency, smaller first: fits `Array.prototype.sort`. */
export function compare(left: MinorUnits, right: MinorUnits): -1 | 0 | 1 {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/**
 * Splits an amount by weights. The shares add up to the amount.
 *
 * Each share is rounded down. The remaining units go one each to the first shares that were rounded. So each share is less
 * than one unit away from its exact part, and a weight of zero gets nothing.
 */
export function split(amount: MinorUnits, weights: readonly bigint[]): MinorUnits[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0n);
  if (amount < 0n) throw new Error(`only an amount of zero or more can be split: ${amount}`);
  if (total <= 0n || weights.some((weight) => weight < 0n)) {
    throw new Error('weights must not be negative, and one must be more than zero');
  }

  const parts = weights.map((weight) => ({ share: (amount * weight) / total, lost: (amount * weight) % total }));
  let left = amount - parts.reduce((sum, { share }) => sum + share, 0n);
  return parts.map(({ share, lost }) => {
    if (left === 0n || lost === 0n) return share as MinorUnits;
    left -= 1n;
    return (share + 1n) as MinorUnits;
  });
}
