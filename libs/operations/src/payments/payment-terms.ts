import { type CurrencyCode, type MinorUnits, minorUnits, rateOf, Refusal, convert } from '@banking/domain';
import { type Conversion, type ConvertedAmount, currencyCode } from '@banking/ledger';
import type { RailRouting } from '@banking/payouts';
import type { RateSource } from '@banking/reference';
import { refusedQuote } from './field-refusal.js';
import { rateToLimit } from '../limits/limit-rates.js';
import { inUtc } from '../resources/columns.js';
import {
  type FixedAmount,
  partiesOf,
  type Payee,
  payerOf,
  type PaymentFacts,
  type QuoteFacts,
} from './payment-facts.js';
import { type Price, pricePayment } from './price-payment.js';

/** The payment of an order. */
export interface Payment {
  readonly accountId: number;
  readonly recipientId: number;
  /** In minor units of the account's currency, without the fee. */
  readonly amount: MinorUnits;
  readonly quoteId?: number | undefined;
}

/** The price of a payment: that of its quote, or the current one. */
export interface PaymentTerms {
  readonly currencyId: number;
  readonly targetCurrencyId: number;
  readonly targetAmount: MinorUnits;
  readonly fee: MinorUnits;
  /** Undefined within a currency. */
  readonly conversion?: ConversionTerms | undefined;
  /** The internal account that is paid. Undefined for a payout. */
  readonly payee?: Payee | undefined;
  /** The payment network that carries a payout. */
  readonly rail?: string | undefined;
  /** The document that stated the terms of the corridor of a payout. */
  readonly termsChangeId?: number | undefined;
  /**
   * What it counts in the currencies of limits that are neither of the two. Undefined if the workspace has no limits.
   */
  readonly convertedAmounts?: readonly ConvertedAmount[] | undefined;
}

/** The terms of a conversion. Digits are text. */
export type ConversionTerms = Pick<
  Conversion,
  'rate' | 'rateSource' | 'rateAsOf' | 'remainderNumerator' | 'remainderDenominator' | 'fixedSide'
>;

/** What a deployment makes payments with. */
export interface PaymentMeans {
  readonly rates: RateSource;
  /** The payment networks of payouts. A payout that none serves is refused. */
  readonly rails: RailRouting;
}

/**
 * Prices a payment. May call a source of rates, so never call it inside a database transaction.
 *
 * @throws Refusal `account_not_found`, `account_disabled`, `recipient_invalid`, `payouts_unavailable`, `quote_unusable`, `quote_expired`,
 *   `quote_used`, and refusals of `pricePayment`
 */
export async function termsOf(payment: Payment, facts: PaymentFacts, means: PaymentMeans): Promise<PaymentTerms> {
  const terms = await pricedTerms(payment, facts, means);
  const { limit_currency_ids: limits } = facts;
  if (limits === null) return terms;
  return { ...terms, convertedAmounts: await convertedAmounts(payment.amount, terms, limits, means.rates) };
}

async function pricedTerms(
  payment: Payment,
  facts: PaymentFacts,
  { rates, rails }: PaymentMeans,
): Promise<PaymentTerms> {
  const { currencyId } = payerOf(facts);
  const parties = partiesOf(facts, payment.accountId, rails);
  const { payee, rail } = parties;
  const targetCurrencyId = facts.recipient_currency_id;

  const quote = quoteOf(payment, facts);
  if (quote?.feeAmount != null) {
    if (facts.corridor_id !== null && !facts.corridor_enabled) throw new Refusal('corridor_disabled');
    const { targetAmount, feeAmount } = quote;
    return {
      currencyId,
      targetCurrencyId,
      targetAmount: minorUnits(BigInt(targetAmount)),
      fee: minorUnits(BigInt(feeAmount)),
      conversion: asQuoted(quote),
      payee,
      rail,
      termsChangeId: quote.termsChangeId ?? undefined,
    };
  }
  // A quote of a currency fixes the rate only. Limits and fee of the corridor are the current ones.
  const bound = quote ? boundBy(quote, facts.recipient_currency, rates) : rates;
  const price = await pricePayment(parties, fixedAmountOf(payment, quote), bound);
  const { targetAmount, fee = minorUnits(0n) } = price;
  const termsChangeId = facts.terms_change_id === null ? undefined : Number(facts.terms_change_id);
  return { currencyId, targetCurrencyId, targetAmount, fee, conversion: asPriced(price), payee, rail, termsChangeId };
}

/** @throws Refusal `quote_unusable`, `quote_expired`, `quote_used` */
function quoteOf({ quoteId, accountId, recipientId, amount }: Payment, facts: PaymentFacts): QuoteFacts | undefined {
  const { quote, recipient_currency_id } = facts;
  if (quoteId === undefined) return undefined;
  if (quote === null) throw refusedQuote('quote_unusable');
  const isSamePayment =
    quote.accountId === accountId &&
    quote.targetCurrencyId === recipient_currency_id &&
    quote.amount === amount.toString() &&
    (quote.recipientId === null || quote.recipientId === recipientId);
  if (!isSamePayment)
    throw refusedQuote(
      'quote_unusable',
      'The quote is of another account, recipient or amount. Request one for these, or name none.',
    );
  if (quote.isUsed) throw refusedQuote('quote_used');
  if (quote.isExpired) throw refusedQuote('quote_expired');
  return quote;
}

/** The fixed amount of the quote, so that the order is priced as the quote was. A refusal refers to the amount of the order. */
function fixedAmountOf({ amount }: Payment, quote: QuoteFacts | undefined): FixedAmount {
  if (quote?.fixedSide !== 'target') return { side: 'source', value: amount, field: 'amount' };
  return { side: 'target', value: minorUnits(BigInt(quote.targetAmount)), field: 'amount' };
}

/** A source with the rate of the quote for its target currency, and current rates for other pairs. */
function boundBy({ rate, rateSource, rateAsOf }: QuoteFacts, target: CurrencyCode, rates: RateSource): RateSource {
  if (rateSource === null || rateAsOf === null) return rates;
  return {
    rateOf: (from, to) =>
      to === target
        ? Promise.resolve({ ...rateOf(from, to, rate), source: rateSource, asOf: rateAsOf })
        : rates.rateOf(from, to),
  };
}

function asQuoted(quote: QuoteFacts): ConversionTerms | undefined {
  const { rate, rateSource, rateAsOf, remainderNumerator, remainderDenominator, fixedSide } = quote;
  if (rateSource === null || rateAsOf === null) return undefined;
  return { rate, rateSource, rateAsOf, remainderNumerator, remainderDenominator, fixedSide };
}

function asPriced({ rateText, dated, remainder, fixedSide }: Price): ConversionTerms | undefined {
  if (!dated) return undefined;
  return {
    rate: rateText,
    rateSource: dated.source,
    // The hash of a transaction covers this text, so it equals the one that the database returns.
    rateAsOf: inUtc(dated.asOf),
    remainderNumerator: remainder.numerator.toString(),
    remainderDenominator: remainder.denominator.toString(),
    fixedSide,
  };
}

/**
 * What a payment counts in the currencies of limits that it neither leaves in nor arrives in: at the rates of the moment, rounded up.
 * May call a source of rates, so never call it inside a database transaction.
 *
 * @throws Refusal `rate_unavailable`, `amount_out_of_range`
 */
async function convertedAmounts(
  amount: MinorUnits,
  { currencyId, targetCurrencyId }: { readonly currencyId: number; readonly targetCurrencyId: number },
  limitCurrencyIds: readonly number[],
  rates: RateSource,
): Promise<readonly ConvertedAmount[]> {
  const from = currencyCode(currencyId) as CurrencyCode;
  const others = limitCurrencyIds.filter((id) => id !== currencyId && id !== targetCurrencyId);
  return Promise.all(
    others.map(async (id) => {
      const to = currencyCode(id) as CurrencyCode;
      const rate = await rateToLimit(from, to, rates);
      return { currencyId: id, rate, amount: convert(amount, rateOf(from, to, rate), 'up').amount };
    }),
  );
}
