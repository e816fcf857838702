import { amountRefusal } from './amount-refusal.js';

declare const unit: unique symbol;

/**
 * A signed whole number of a currency's smallest unit: cents for EUR, yen for JPY, fils for KWD.
 *
 * The only type arithmetic is done in. It is a `bigint`, so `<`, `===` and `+` work on it; {@link add} and
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
 * At run time always a number. The second arm is never inhabited; it is there because the compiler lets a string be
 * added to anything but a symbol. With it, none of these compiles:
 * `transfer + balance` (which would join digits), `balance + balance`, `balance - 1`, `balance < 100`,
 * `const n: number = balance`. Read it with {@link fromBalanceAmount} instead.
 *
 * Still compiles, and is on the reader: `transfer + transfer` and `transfer + minorUnits` (both give a plain `string`,
 * which no function of ours takes for an amount without parsing it), and `transfer < transfer` (which compares text).
 */
export type BalanceAmount = (number & { readonly [unit]: 'balance' }) | (symbol & { readonly [unit]: 'balance' });

/** The largest amount the books store: PostgreSQL's `bigint`, 2^63 - 1. */
export const MINOR_UNITS_MAX = 9_223_372_036_854_775_807n;

const DIGITS = /^(?:0|[1-9][0-9]{0,18})$/;

/**
 * Takes a whole number as minor units.
 *
 * @throws Refusal `amount_out_of_range` when the books could not store it, either way of zero.
 */
export function minorUnits(value: bigint): MinorUnits {
  if (value > MINOR_UNITS_MAX || value < -MINOR_UNITS_MAX) {
    throw amountRefusal('amount_out_of_range', 'The amount is larger than the books can hold.');
  }
  return value as MinorUnits;
}

/**
 * Reads an amount as transfers and orders write it.
 *
 * `"1250"` in EUR is twelve euros fifty. One spelling per amount, without sign, point, leading zero or space, so equal
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

/** Writes an amount as transfers do. It must not be negative: the direction is a field of its own. */
export function toTransferAmount(amount: MinorUnits): TransferAmount {
  if (amount < 0n) throw new Error(`a transfer amount cannot be negative: ${amount}`);
  return amount.toString() as TransferAmount;
}

/**
 * Writes an amount as balances do.
 *
 * @throws Refusal `amount_out_of_range` when a JSON integer would lose digits: a failed read is better than a wrong one.
 */
export function toBalanceAmount(amount: MinorUnits): BalanceAmount {
  const integer = Number(amount);
  if (!Number.isSafeInteger(integer)) {
    throw amountRefusal('amount_out_of_range', 'The balance is too large to be shown as an integer.');
  }
  return integer as BalanceAmount;
}

/** Reads an amount as balances write it. A fraction or an unsafe integer is a bug of whoever sent it. */
export function fromBalanceAmount(amount: BalanceAmount | number): MinorUnits {
  if (typeof amount !== 'number' || !Number.isSafeInteger(amount)) {
    throw new Error(`not a whole number of minor units: ${String(amount)}`);
  }
  return BigInt(amount) as MinorUnits;
}

/**
 * The sum of two amounts of one currency.
 *
 * @throws Refusal `amount_out_of_range` when the books could not store it.
 */
export function add(left: MinorUnits, right: MinorUnits): MinorUnits {
  return minorUnits(left + right);
}

/**
 * What is left of the first amount without the second, of one currency; below zero when the second is larger.
 *
 * @throws Refusal `amount_out_of_range` when the books could not store it.
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
 * Divides an amount by weight without losing or inventing a unit.
 *
 * Every share is rounded down and the units left over go one each to the first shares that lost a part of one, so the
 * shares add up to the amount, each is less than one unit away from its exact part, and a weight of zero gets nothing.
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
