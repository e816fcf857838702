import {
  currencyOf,
  decimalsOf,
  parseTransferAmount,
  Refusal,
  type Created,
  type CurrencyCode,
  type RequestOptions,
  type Quote,
  type CreateQuoteInput,
} from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { createOnce, findReplay } from '../idempotency/create-once.js';
import { readPaymentFacts } from '../payments/payment-facts.js';
import { partiesOf, payerOf, type PaymentParties } from '../payments/payment-parties.js';
import type { FixedAmount } from '../payments/fixed-amount.js';
import { CONVERSION_ROUNDING } from '../payments/rounding.js';
import type { PaymentMeans } from '../payments/payment-terms.js';
import { pricePayment } from '../payments/price-payment.js';
import type { AuditedCall } from '../audit/audited-call.js';
import type { Reading } from '../resources/reading.js';
import { quoteQuery } from './get-quote.js';
import { checkOpenQuotes } from './open-quote-limit.js';

const NEXT_QUOTE = sqlStatement<{ id: bigint }>('next_quote', `select nextval('quote_id_seq') as id`);
const ADD_QUOTE = sqlStatement(
  'add_quote',
  `insert into quote (workspace_id, id, account_id, currency_id, recipient_id, target_currency_id, amount, fee_amount, target_amount,
                      rate, rate_source, rate_as_of, rounding, fixed_side, remainder_numerator, remainder_denominator, expires_at)
   select $1, $2, $3, a.currency_id, $4, c.id, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
          statement_timestamp() + make_interval(secs => $16)
   from account a, currency c where a.workspace_id = $1 and a.id = $3 and c.code = $5`,
);

/**
 * Creates a quote. Prices outside of any database transaction, because a source of rates may be slow. The payment may become impossible
 * afterwards, so an order checks it again.
 *
 * @throws Refusal `body_malformed`, `amount_malformed`, `amount_out_of_range`, `currency_unknown`, those of `partiesOf`,
 *   `pricePayment`, `checkOpenQuotes` and `createOnce`
 */
export async function createQuote(
  reading: Reading,
  caller: AuditedCall,
  { accountID, amount, targetAmount, recipientID, targetCurrency }: CreateQuoteInput,
  options: RequestOptions,
  {
    rates,
    hasPayoutNetwork,
    validS,
    openMax,
  }: PaymentMeans & { readonly validS: number; readonly openMax?: number | undefined },
): Promise<Created<Quote>> {
  if ((recipientID === undefined) === (targetCurrency === undefined)) throw notOneOf('recipientID', 'targetCurrency');
  const { workspaceId } = caller;
  const fixed = fixedAmountOf(amount, targetAmount);
  const named = targetCurrency === undefined ? undefined : payable(targetCurrency);

  const chosen = amount === undefined ? { targetAmount } : { amount };
  const target = recipientID === undefined ? { targetCurrency: named } : { recipientID };
  const request = { workspaceId, operation: 'createQuote', content: { accountID, ...chosen, ...target } };
  const { database } = reading;
  const replay = await findReplay<Quote>(database, request, options);
  if (replay) return replay;

  const [facts] = await readPaymentFacts(
    database,
    [{ workspaceId, accountId: accountID, recipientId: recipientID }],
    false,
  );
  if (!facts) throw new Error('no facts were read for the payment');
  const parties: PaymentParties = named
    ? { from: payerOf(facts).from, to: named }
    : partiesOf(facts, accountID, hasPayoutNetwork);
  const price = await pricePayment(parties, fixed, rates);
  return createOnce(reading, request, options, caller, async (tx) => {
    if (openMax !== undefined) await checkOpenQuotes(tx, workspaceId, openMax);
    const [[next]] = await tx.pipeline([bind(NEXT_QUOTE)] as const);
    const id = Number(next!.id);
    const { dated, fee, remainder } = price;
    const terms = [price.amount, fee, price.targetAmount, price.rateText, dated?.source, dated?.asOf];
    const rounding = [CONVERSION_ROUNDING, price.fixedSide, remainder.numerator, remainder.denominator, validS];
    return {
      writes: [bind(ADD_QUOTE, workspaceId, id, accountID, recipientID, parties.to, ...terms, ...rounding)],
      audited: { type: 'quote', id },
      resource: quoteQuery(workspaceId, id),
    };
  });
}

/** @throws Refusal `currency_unknown` for a code without decimals, such as a metal */
function payable(code: string): CurrencyCode {
  decimalsOf(code);
  return currencyOf(code).code;
}

/** @throws Refusal `body_malformed`, `amount_malformed`, `amount_out_of_range` */
function fixedAmountOf(
  amount: CreateQuoteInput['amount'],
  targetAmount: CreateQuoteInput['targetAmount'],
): FixedAmount {
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
