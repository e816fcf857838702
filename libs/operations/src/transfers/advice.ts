import {
  type OrderId,
  type PaymentAdvice,
  type PlainNumber,
  Refusal,
  type TransactionId,
  type TransactionStatus,
  type TransferAmount,
  type TransferDirection,
  type TransferId,
  type WorkspaceId,
} from '@banking/domain';
import { bind, lookup, sqlStatement } from '@banking/postgres';
import { payoutKey, uetrOf } from '@banking/payouts';
import {
  column,
  type Columns,
  digits,
  digitsOrNull,
  type RowOf,
  sqlOf,
  timestampOf,
  withoutNulls,
} from '../resources/columns.js';
import {
  BENEFICIARY_COLUMNS,
  beneficiaryOf,
  type BeneficiaryRow,
  composeRecipient,
  RECIPIENT_COLUMNS,
  type RecipientRow,
} from '../resources/compose-parties.js';
import { orderIdOf } from '../resources/compose-transaction.js';
import { type Reading, readResource, type ResourceQuery, selectedOf } from '../resources/reading.js';
import type { Reference } from '../reference/reference.js';

const PAYMENT = {
  transferId: column<bigint>('id'),
  direction: column<TransferDirection>('direction'),
  type: column<string>('type'),
  amount: digits('amount'),
  feeAmount: digitsOrNull('fee_amount'),
  description: column<string | null>('description'),
  purpose: column<string | null>('purpose'),
  debitedAt: column<string>('created_at'),
} satisfies Columns;

const TRANSACTION = {
  transactionId: column<bigint>('id'),
  status: column<TransactionStatus>('status'),
  endedAt: column<string>('updated_at'),
  targetAmount: digitsOrNull('target_amount'),
  targetCurrencyId: column<number | null>('target_currency_id'),
  rate: column<string | null>('rate'),
  rateSource: column<string | null>('rate_source'),
  rateAsOf: column<string | null>('rate_as_of'),
  orderId: sqlOf<bigint | null>((x) => orderIdOf({ workspaceId: `${x}.workspace_id`, id: `${x}.id` })),
} satisfies Columns;

const ACCOUNT = {
  accountId: column<bigint>('id'),
  accountName: column<string>('name'),
  accountAlias: column<string | null>('alias'),
  accountCode: column<string>('code'),
  currencyId: column<number>('currency_id'),
} satisfies Columns;

const PAYOUT = {
  workspaceId: column<bigint>('workspace_id'),
  keyNonce: column<string | null>('key_nonce'),
} satisfies Columns;

type AdviceRow = RowOf<typeof PAYMENT> &
  RowOf<typeof TRANSACTION> &
  RowOf<typeof ACCOUNT> &
  RowOf<typeof PAYOUT> &
  RecipientRow &
  BeneficiaryRow;

const GET_ADVICE = sqlStatement<AdviceRow>(
  'get_payment_advice',
  `select ${selectedOf([PAYMENT, 't'], [TRANSACTION, 'x'], [ACCOUNT, 'a'], [PAYOUT, 'm'], [RECIPIENT_COLUMNS, 'r'], [BENEFICIARY_COLUMNS, 'n'])}
   from transfer t
   cross join ${lookup('select * from transaction l where l.workspace_id = t.workspace_id and l.id = t.transaction_id')} x
   cross join ${lookup('select * from account l where l.workspace_id = t.workspace_id and l.id = t.account_id')} a
   left join ${lookup('select * from payout l where l.workspace_id = t.workspace_id and l.transaction_id = t.transaction_id')} m on true
   left join ${lookup('select * from recipient l where l.workspace_id = t.workspace_id and l.id = t.recipient_id')} r on true
   ${beneficiaryOf('r')}
   where t.workspace_id = $1 and t.id = $2 and t.account_version is not null and a.kind = 'customer'`,
);

/** @throws Refusal `transfer_not_found` also for a transfer of another workspace, `advice_not_found` */
export async function getPaymentAdvice(
  reading: Reading,
  workspaceId: WorkspaceId,
  transferId: TransferId | PlainNumber,
): Promise<PaymentAdvice> {
  const query: ResourceQuery<AdviceRow, { readonly advice: PaymentAdvice | undefined }> = {
    bound: bind(GET_ADVICE, workspaceId, transferId),
    compose: (reference, row) => ({ advice: composeAdvice(reference, row) }),
  };
  const { advice } = await readResource(reading, workspaceId, query, 'transfer_not_found');
  if (!advice) throw new Refusal('advice_not_found');
  return advice;
}

/** Undefined for a transfer that is no payment to a recipient. */
function composeAdvice(reference: Reference, row: AdviceRow): PaymentAdvice | undefined {
  const recipient = composeRecipient(reference, row);
  if (row.direction !== 'debit' || row.type === 'fee' || recipient === null) return undefined;
  const { workspaceId, keyNonce, currencyId, amount } = row;
  const transactionId = Number(row.transactionId);
  return withoutNulls<PaymentAdvice>({
    id: Number(row.transferId) as TransferId,
    transactionID: transactionId as TransactionId,
    orderID: row.orderId === null ? null : (Number(row.orderId) as OrderId),
    status: row.status,
    uetr: keyNonce && uetrOf(payoutKey({ workspaceId: Number(workspaceId), transactionId, nonce: keyNonce })),
    amount: amount as TransferAmount,
    feeAmount: (row.feeAmount ?? '0') as TransferAmount,
    targetAmount: (row.targetAmount ?? amount) as TransferAmount,
    rate: row.rate,
    rateSource: row.rateSource,
    rateAsOf: row.rateAsOf === null ? null : timestampOf(row.rateAsOf),
    description: row.description,
    purpose: row.purpose,
    debitedAt: timestampOf(row.debitedAt),
    endedAt: row.status === 'pending' ? null : timestampOf(row.endedAt),
    edges: {
      account: withoutNulls<PaymentAdvice['edges']['account']>({
        id: Number(row.accountId) as PaymentAdvice['edges']['account']['id'],
        name: row.accountName,
        alias: row.accountAlias,
        code: row.accountCode,
        edges: { currency: reference.currency(currencyId) },
      }),
      recipient,
      targetCurrency: reference.currency(row.targetCurrencyId ?? currencyId),
    },
  });
}
