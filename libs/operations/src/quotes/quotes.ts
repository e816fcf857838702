import {
  type Created,
  type CreateQuoteInput,
  type CurrencyCode,
  currencyOf,
  decimalsOf,
  parseTransferAmount,
  type Quote,
  type QuoteId,
  Refusal,
  type RequestOptions,
  type TransferAmount,
  type WorkspaceId,
  type PlainNumber,
} from '@banking/domain';
import { bind, type Database, isServedElsewhere, sqlStatement, type SqlStatement } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';
import { createKnownOnce, type CreationLimit, findReplay } from '../idempotency/create-once.js';
import { RETENTION } from '../idempotency/idempotency-key.js';
import { PLAN_BY_ORDER } from '../lists/paged-list.js';
import { checkPayee } from '../payments/payment-entries.js';
import {
  CONVERSION_ROUNDING,
  factsOf,
  type FixedAmount,
  isElsewhere,
  partiesOf,
  type Payee,
  type PayeeHere,
  payerOf,
  type PaymentParties,
} from '../payments/payment-facts.js';
import type { PaymentMeans } from '../payments/payment-terms.js';
import { pricePayment } from '../payments/price-payment.js';
import {
  column,
  type Columns,
  digits,
  digitsOrNull,
  type RowOf,
  timestampOf,
  withoutNulls,
} from '../resources/columns.js';
import { composeAccount, composeRecipient, PARTIES, type PartiesRow } from '../resources/compose-parties.js';
import { type Composed, type Reading, readResource, type ResourceQuery, selectedOf } from '../resources/reading.js';

const QUOTE_COLUMNS = {
  quoteId: column<bigint>('id'),
  quoteAmount: digits('amount'),
  quoteRate: column<string>('rate'),
  quoteFeeAmount: digitsOrNull('fee_amount'),
  quoteTargetAmount: digits('target_amount'),
  quoteExpiresAt: column<string>('expires_at'),
  quoteCreatedAt: column<string>('created_at'),
  targetCurrencyId: column<number>('target_currency_id'),
} satisfies Columns;

type QuoteRow = RowOf<typeof QUOTE_COLUMNS>;

/** A quote `t` with all its edges. Of a recipient in another workspace it discloses only the arriving amount and currency. */
const QUOTE: Composed<QuoteFacts, Quote> = {
  columns: `${selectedOf([QUOTE_COLUMNS, 't'])}, ${PARTIES.columns}`,
  joins: PARTIES.joins,
  compose(reference, row) {
    const createdAt = timestampOf(row.quoteCreatedAt);
    return withoutNulls<Quote>({
      id: Number(row.quoteId) as QuoteId,
      amount: row.quoteAmount as TransferAmount,
      rate: row.quoteRate,
      feeAmount: row.quoteFeeAmount as TransferAmount | null,
      targetAmount: row.quoteTargetAmount as TransferAmount,
      expiresAt: timestampOf(row.quoteExpiresAt),
      createdAt,
      updatedAt: createdAt,
      edges: withoutNulls<Quote['edges']>({
        account: composeAccount(reference, row),
        recipient: composeRecipient(reference, row),
        targetCurrency: reference.currency(row.targetCurrencyId),
      }),
    });
  },
};

const GET_QUOTE = sqlStatement<QuoteFacts>(
  'get_quote',
  `select ${QUOTE.columns} from quote t ${QUOTE.joins}
   where t.workspace_id = $1 and t.id = $2`,
);

const quoteQuery = (workspaceId: number, quoteId: number): ResourceQuery<QuoteFacts, Quote> => ({
  bound: bind(GET_QUOTE, workspaceId, quoteId),
  compose: QUOTE.compose,
});

/** @throws Refusal `quote_not_found` also for a quote of another workspace */
export async function getQuote(
  reading: Reading,
  workspaceId: WorkspaceId,
  quoteId: QuoteId | PlainNumber,
): Promise<Quote> {
  return readResource(reading, workspaceId, quoteQuery(workspaceId, quoteId), 'quote_not_found');
}

const ADD_QUOTE = sqlStatement(
  'add_quote',
  `insert into quote (workspace_id, id, account_id, currency_id, recipient_id, target_currency_id, amount, fee_amount, target_amount,
                      rate, rate_source, rate_as_of, rounding, fixed_side, remainder_numerator, remainder_denominator, expires_at,
                      terms_change_id)
   select $1, $2, $3, a.currency_id, $4, c.id, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
          statement_timestamp() + make_interval(secs => $16), $17
   from account a, currency c where a.workspace_id = $1 and a.id = $3 and c.code = $5`,
);

/** How long a quote is valid unless a deployment sets it, in seconds. */
const VALID_S = 300;

export interface QuoteTerms {
  /** How long a quote is valid, in seconds, at most a day. */
  readonly validS?: number | undefined;
  /** How many quotes of a workspace may be open: neither used nor expired. Default: any number. */
  readonly openMax?: number | undefined;
}

/** Takes none for a replay: ids of quotes have no gaps but those of refusals. */
const NEXT_QUOTE = sqlStatement<{ id: bigint }>(
  'next_quote',
  `select nextval('quote_id_seq') as id
   where not exists (
     select from idempotency i
     where i.workspace_id = $1 and i.operation = $2 and i.key = $3 and i.created_at > statement_timestamp() - ${RETENTION})`,
);

const READ_PAYEE_STATUS = sqlStatement<{ status: string }>(
  'read_payee_status',
  'select status from account where workspace_id = $1 and id = $2',
);

/**
 * In a scope of its own, because the account may be of another workspace.
 *
 * @returns undefined if its workspace has left this database; then the money crosses to it
 */
async function readPayeeStatus(database: Database, { workspaceId, accountId }: PayeeHere): Promise<string | undefined> {
  try {
    const reads = [bind(READ_PAYEE_STATUS, workspaceId, accountId)] as const;
    const [[payee]] = await database.pipeline({ workspaces: [workspaceId] }, reads);
    return payee?.status;
  } catch (error) {
    if (!isServedElsewhere(error)) throw error;
    return undefined;
  }
}

/**
 * Creates a quote, in three round trips to the database: for a replay and the facts, for the quote, and for its response. There is one
 * more for a payee of this database. Prices outside of any database transaction, because a source of rates may be slow. The payment may
 * become impossible afterwards, so an order checks it again.
 *
 * @throws Refusal `body_malformed`, `amount_malformed`, `amount_out_of_range`, `currency_unknown`, those of `partiesOf`,
 *   `pricePayment`, `checkPayee`, `openQuotesLimit` and `createOnce`
 */
export async function createQuote(
  reading: Reading,
  caller: AuditedCall,
  input: CreateQuoteInput,
  options: RequestOptions,
  means: PaymentMeans & QuoteTerms,
): Promise<Created<Quote>> {
  const { accountID, amount, targetAmount, recipientID, targetCurrency } = input;
  const { rates, rails, validS = VALID_S, openMax } = means;
  if ((recipientID === undefined) === (targetCurrency === undefined)) throw notOneOf('recipientID', 'targetCurrency');
  const { workspaceId } = caller;
  const fixed = fixedAmountOf(amount, targetAmount);
  const named = targetCurrency === undefined ? undefined : payable(targetCurrency);

  const chosen = amount === undefined ? { targetAmount } : { amount };
  const target = recipientID === undefined ? { targetCurrency: named } : { recipientID };
  const request = { workspaceId, operation: 'createQuote', content: { accountID, ...chosen, ...target } };
  const { database } = reading;
  const payment = { workspaceId, accountId: accountID, recipientId: recipientID };
  const next = bind(NEXT_QUOTE, workspaceId, request.operation, options.idempotencyKey);
  const reads = [factsOf([payment]), next] as const;
  const { replay, rows } = await findReplay<Quote, typeof reads>(database, request, options, reads);
  if (replay) return replay;
  const [[facts], [drawn]] = rows;
  // Each statement has a snapshot of its own: another request of the key was committed after the first one.
  if (!drawn) return createQuote(reading, caller, input, options, means);
  if (!facts) throw new Error('no facts were read for the payment');
  const { payee, ...parties }: PaymentParties & { readonly payee?: Payee } = named
    ? { from: payerOf(facts).from, to: named }
    : partiesOf(facts, accountID, rails);
  const price = await pricePayment(parties, fixed, rates);
  if (payee && !isElsewhere(payee)) {
    const status = await readPayeeStatus(database, payee);
    if (status !== undefined) checkPayee(workspaceId, payee, status, price.targetAmount);
  }
  const id = Number(drawn.id);
  const { dated, fee, remainder } = price;
  const terms = [price.amount, fee, price.targetAmount, price.rateText, dated?.source, dated?.asOf];
  const termsChangeId = named ? undefined : facts.terms_change_id;
  const rounding = [CONVERSION_ROUNDING, price.fixedSide, remainder.numerator, remainder.denominator, validS];
  const creation = {
    writes: [
      bind(ADD_QUOTE, workspaceId, id, accountID, recipientID, parties.to, ...terms, ...rounding, termsChangeId),
    ],
    audited: { type: 'quote', id },
    resource: quoteQuery(workspaceId, id),
  };
  const limit = openMax === undefined ? undefined : openQuotesLimit(workspaceId, openMax);
  return createKnownOnce(reading, request, options, caller, creation, limit);
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

/**
 * A query of its own under the lock, so that it reads what the earlier holder committed. Without statistics, the order keeps the plan on
 * `quote_by_expiry`, and the subquery keeps it on the primary key of `quote_use`. A join would read all uses of the workspace.
 */
export const COUNT_OPEN_QUOTES = sqlStatement<{ open: number; oldestForS: number | null }>(
  'count_open_quotes',
  `select count(*)::int as open, ceil(extract(epoch from min(q.expires_at) - statement_timestamp()))::int as "oldestForS"
   from (select workspace_id, id, expires_at from quote
         where workspace_id = $1 and expires_at > statement_timestamp() order by expires_at) q
   where (select u.quote_id from quote_use u where u.workspace_id = q.workspace_id and u.quote_id = q.id) is null`,
);

type OpenQuotes = typeof COUNT_OPEN_QUOTES extends SqlStatement<infer Row> ? Row : never;

/**
 * Limits the open quotes of a workspace, neither used nor expired, to `max`. Quotes of a workspace are counted and added one at a time,
 * by any process.
 *
 * It refuses with `rate_limited`, with the time until the oldest open quote expires.
 */
const openQuotesLimit = (workspaceId: number, max: number): CreationLimit<OpenQuotes> => ({
  turn: `open quotes ${workspaceId}`,
  reads: [PLAN_BY_ORDER, bind(COUNT_OPEN_QUOTES, workspaceId)],
  check({ open, oldestForS }) {
    if (open < max) return;
    const message = `The workspace has ${open} open quotes of at most ${max}. Use one, or wait until one expires.`;
    throw new Refusal('rate_limited', message, { retryAfterSeconds: Math.max(1, oldestForS ?? 1) });
  },
});

type QuoteFacts = QuoteRow & PartiesRow;
