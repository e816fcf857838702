import { minorUnits } from '@banking/domain';
import type { PaymentContent } from '@banking/payouts';
import { bind, sqlStatement, type Database } from '@banking/postgres';

interface PaymentRow {
  amount: bigint;
  currency: string;
  description: string | null;
  purpose: string | null;
  data: Readonly<Partial<Record<string, string>>>;
}

/** The amount of a payout is the credit of the settlement account. After a conversion it is in the target currency. */
const READ_PAYMENT = sqlStatement<PaymentRow>(
  'read_payment',
  `select s.amount, c.code as currency, d.description, d.purpose, n.data
   from transfer d
   join beneficiary n on (n.workspace_id, n.recipient_id) = (d.workspace_id, d.recipient_id)
   join transfer s on (s.workspace_id, s.transaction_id) = (d.workspace_id, d.transaction_id) and s.direction = 'credit'
   join account o on (o.workspace_id, o.id) = (s.workspace_id, s.account_id) and o.kind = 'settlement'
   join currency c on c.id = s.currency_id
   where d.workspace_id = $1 and d.transaction_id = $2
     and d.direction = 'debit' and d.type <> 'fee' and d.account_version is not null`,
);

/**
 * The payment of a transaction as the network needs it: amount, beneficiary and texts.
 *
 * @throws Error for a transaction that is no payout
 */
export async function readPayment(
  database: Database,
  workspaceId: number,
  transactionId: number,
): Promise<PaymentContent> {
  const row = await database.read({ workspaces: [workspaceId] }, bind(READ_PAYMENT, workspaceId, transactionId));
  if (!row) throw new Error(`transaction ${transactionId} is no payout`);
  const { amount, currency, description, purpose, data } = row;
  const { routingCodeType1: type, routingCodeValue1: code } = data;
  return {
    amount: minorUnits(amount),
    currency,
    creditor: {
      name: data.beneficiaryName ?? '',
      account: data.beneficiaryAccountNumber ?? '',
      routing: type !== undefined && code !== undefined ? { type, code } : undefined,
    },
    description: description ?? undefined,
    purpose: purpose ?? undefined,
  };
}
