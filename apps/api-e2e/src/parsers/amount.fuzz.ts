import {
  fromBalanceAmount,
  parseAmount,
  parseTransferAmount,
  Refusal,
  toBalanceAmount,
  toDecimal,
  toTransferAmount,
} from '@banking/domain';
import type { ParserTarget, Verdict } from './parser-target.js';

const REASONS = ['amount_malformed', 'amount_out_of_range', 'amount_too_precise', 'currency_unknown'];
/** Currencies with two, no, three and four decimals. */
const CURRENCIES = ['EUR', 'JPY', 'KWD', 'CLF'];

/** The value, or undefined if it is refused as documented. */
function read<T>(reading: () => T): T | undefined {
  try {
    return reading();
  } catch (error) {
    if (error instanceof Refusal && REASONS.includes(error.reason)) return undefined;
    throw error;
  }
}

function checkTransferAmount(text: string): boolean {
  const amount = read(() => parseTransferAmount(text));
  if (amount === undefined) return false;
  if (amount !== BigInt(text) || toTransferAmount(amount) !== text) throw new Error('the transfer amount is not exact');
  const balance = read(() => toBalanceAmount(amount));
  if (balance !== undefined && fromBalanceAmount(balance) !== amount) throw new Error('the balance is not exact');
  return true;
}

function checkDecimal(text: string, currency: string): boolean {
  const amount = read(() => parseAmount(text, currency));
  if (amount === undefined) return false;
  // Missing decimals are zeros, and zero has no sign.
  const [whole = '', fraction = ''] = text.split('.');
  const [, decimals = ''] = toDecimal(amount, currency).split('.');
  const padded = `${whole}${decimals === '' ? '' : `.${fraction.padEnd(decimals.length, '0')}`}`;
  if (toDecimal(amount, currency) !== (amount === 0n ? padded.replace('-', '') : padded)) {
    throw new Error('the decimal is not exact');
  }
  if (parseAmount(toDecimal(amount, currency), currency) !== amount) throw new Error('the decimal is not read again');
  return true;
}

/** An amount, or a currency and an amount with a space between. */
function check(input: string): Verdict {
  const [, named, decimal = ''] = /^(\S{0,5}) (.*)$/s.exec(input) ?? [];
  const accepted = [
    checkTransferAmount(input),
    ...CURRENCIES.map((currency) => checkDecimal(input, currency)),
    named !== undefined && checkDecimal(decimal, named),
  ];
  return accepted.includes(true) ? 'accepted' : 'refused';
}

export const target: ParserTarget = {
  examples: ['1250', 'EUR 12.34'],
  tokens: [
    ...CURRENCIES,
    'XAU',
    '.',
    '-',
    '00',
    '9223372036854775808',
    '-9223372036854775807',
    '0.0000',
    '9'.repeat(40),
  ],
  lengthMax: 16_384,
  check,
};
