import type { Quote, QuoteId, TransferAmount } from '@banking/domain';
import { composeAccount } from './compose-account.js';
import { composeRecipient } from './compose-recipient.js';
import { PARTIES, type PartiesRow } from './parties.js';
import { column, type Columns, digits } from './columns.js';
import { type Composed, selectedOf } from './composed.js';
import { timestampOf } from './timestamp-of.js';
import { withoutNulls } from './without-nulls.js';

interface QuoteRow {
  readonly quoteId: bigint;
  readonly quoteAmount: string;
  readonly quoteRate: string;
  readonly quoteFeeAmount: string | null;
  readonly quoteTargetAmount: string;
  readonly quoteExpiresAt: string;
  readonly quoteCreatedAt: string;
  readonly targetCurrencyId: number;
}

const QUOTE_COLUMNS: Columns<QuoteRow> = {
  quoteId: column('id'),
  quoteAmount: digits('amount'),
  quoteRate: column('rate'),
  quoteFeeAmount: digits('fee_amount'),
  quoteTargetAmount: digits('target_amount'),
  quoteExpiresAt: column('expires_at'),
  quoteCreatedAt: column('created_at'),
  targetCurrencyId: column('target_currency_id'),
};

export type QuoteFacts = QuoteRow & PartiesRow;

/** A quote `t` with all its edges. Of a recipient in another workspace it discloses only the arriving amount and currency. */
export const QUOTE: Composed<QuoteFacts, Quote> = {
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
