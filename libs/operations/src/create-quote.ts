import { currencyOf, decimalsOf, parseTransferAmount, Refusal, type Created, type CurrencyCode, type Intent, type Quote, type QuoteWish, type UserId, type WorkspaceId } from '@banking/domain'; // prettier-ignore
import { bind, statement, type Database } from '@banking/postgres';
import { quoteRead } from './get-quote.js';
import { answeredBefore, makeOnce } from './idempotency.js';
import { readPaymentFacts } from './orders/payment-facts.js';
import { checkOpenQuotes } from './quotes/open-quote-limit.js';
import { partiesOf, payerOf, type PaymentParties } from './quotes/payment-parties.js';
import { type FixedAmount, pricePayment, ROUNDING } from './quotes/price-payment.js';
import type { RateSource } from './rates/rate-source.js';

const NEXT_QUOTE = statement<{ id: bigint }>('next_quote', `select nextval('quote_id_seq') as id`);
const ADD_QUOTE = statement(
  'add_quote',
  `insert into quote (workspace_id, id, account_id, currency_id, recipient_id, target_currency_id, amount, fee_amount, target_amount,
                      rate, rate_source, rate_as_of, rounding, fixed_side, remainder_numerator, remainder_denominator, expires_at)
   select $1, $2, $3, a.currency_id, $4, c.id, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
          statement_timestamp() + make_interval(secs => $16)
   from account a, currency c where a.workspace_id = $1 and a.id = $3 and c.code = $5`,
);

/**
 * Prices first, outside of any database transaction, because a source of rates may take its time; then writes the quote down. Between
 * the two it may become untrue that the payment can be made, and a moment later it may anyway: an order looks again.
 *
 * @throws Refusal `body_malformed`, `amount_malformed`, `amount_out_of_range`, `currency_unknown`, those of `partiesOf`,
 *   `pricePayment`, `checkOpenQuotes` and `makeOnce`
 */
export async function createQuote(
  database: Database,
  { workspaceId, actor }: { readonly workspaceId: WorkspaceId; readonly actor: UserId | undefined },
  { accountID, amount, targetAmount, recipientID, targetCurrency }: QuoteWish,
  intent: Intent,
  { rates, validS, openMax }: { readonly rates: RateSource; readonly validS: number; readonly openMax?: number | undefined }, // prettier-ignore
): Promise<Created<Quote>> {
  if ((recipientID === undefined) === (targetCurrency === undefined)) throw notOneOf('recipientID', 'targetCurrency');
  const fixed = fixedAmountOf(amount, targetAmount);
  const named = targetCurrency === undefined ? undefined : payable(targetCurrency);

  const chosen = amount === undefined ? { targetAmount } : { amount };
  const target = recipientID === undefined ? { targetCurrency: named } : { recipientID };
  const request = { workspaceId, operation: 'createQuote', content: { accountID, ...chosen, ...target } };
  const before = await answeredBefore<Quote>(database, request, intent);
  if (before) return before;

  const [facts] = await readPaymentFacts(
    database,
    [{ workspaceId, accountId: accountID, recipientId: recipientID }],
    false,
  );
  if (!facts) throw new Error('facts for a payment that was not asked for');
  const parties: PaymentParties = named ? { from: payerOf(facts).from, to: named } : partiesOf(facts, accountID);
  const price = await pricePayment(parties, fixed, rates);
  return makeOnce(database, request, intent, actor, async (tx) => {
    if (openMax !== undefined) await checkOpenQuotes(tx, workspaceId, openMax);
    const [[next]] = await tx.flight([bind(NEXT_QUOTE)] as const);
    const id = Number(next!.id);
    const { dated, fee, remainder } = price;
    const promise = [price.amount, fee, price.targetAmount, price.rateText, dated?.source, dated?.asOf];
    const left = [ROUNDING, price.fixedSide, remainder.numerator, remainder.denominator, validS];
    return {
      writes: [bind(ADD_QUOTE, workspaceId, id, accountID, recipientID, parties.to, ...promise, ...left)],
      answer: quoteRead(workspaceId, id),
    };
  });
}

/** @throws Refusal `currency_unknown` for what no amount can be written in */
function payable(code: string): CurrencyCode {
  decimalsOf(code);
  return currencyOf(code).code;
}

/** @throws Refusal `body_malformed`, `amount_malformed`, `amount_out_of_range` */
function fixedAmountOf(amount: QuoteWish['amount'], targetAmount: QuoteWish['targetAmount']): FixedAmount {
  if ((amount === undefined) === (targetAmount === undefined)) throw notOneOf('amount', 'targetAmount');
  const [side, field, digits = ''] =
    amount === undefined
      ? (['target', 'targetAmount', targetAmount] as const)
      : (['source', 'amount', amount] as const);
  const value = parseTransferAmount(digits);
  if (value === 0n) throw new Refusal('amount_malformed', `${field} must be at least 1.`);
  return { side, value, field };
}

function notOneOf(...fields: readonly [string, string]): Refusal {
  const message = `Give either ${fields.join(' or ')}, exactly one of the two.`;
  const reason = 'body_malformed';
  return new Refusal(reason, message, { details: fields.map((field) => ({ path: `/${field}`, reason, message })) });
}
