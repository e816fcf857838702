import { minorUnits } from '@banking/domain';
import type { Outgoing, PaymentContent, PaymentReader } from '@banking/payouts';
import { BatchedCalls, bind, sqlStatement, type Database } from '@banking/postgres';

interface PaymentRow {
  /** In the list of payouts, from 1. */
  position: number;
  amount: bigint;
  currency: string;
  description: string | null;
  purpose: string | null;
  data: Readonly<Partial<Record<string, string>>>;
}

/** The amount of a payout is the credit of the settlement account. After a conversion it is in the target currency. */
const READ_PAYMENTS = sqlStatement<PaymentRow>(
  'read_payments',
  `select u.position::int, s.amount, c.code as currency, d.description, d.purpose, n.data
   from unnest($1::bigint[], $2::bigint[]) with ordinality u(workspace_id, transaction_id, position)
   join transfer d on (d.workspace_id, d.transaction_id) = (u.workspace_id, u.transaction_id)
   join beneficiary n on (n.workspace_id, n.recipient_id) = (d.workspace_id, d.recipient_id)
   join transfer s on (s.workspace_id, s.transaction_id) = (d.workspace_id, d.transaction_id) and s.direction = 'credit'
   join account o on (o.workspace_id, o.id) = (s.workspace_id, s.account_id) and o.kind = 'settlement'
   join currency c on c.id = s.currency_id
   where d.direction = 'debit' and d.type <> 'fee' and d.account_version is not null`,
);

/**
 * Reads the payment of a transaction as the network needs it: amount, beneficiary and texts. Payments that are read at the same time
 * share one statement.
 *
 * @throws Error for a transaction that is no payout
 */
export function paymentReader(database: Database): PaymentReader {
  const reads = new BatchedCalls((payouts: readonly Outgoing[]) => readPayments(database, payouts));
  return async (workspaceId, transactionId) => {
    const payment = await reads.call({ workspaceId, transactionId });
    if (!payment) throw new Error(`transaction ${transactionId} is no payout`);
    return payment;
  };
}

async function readPayments(
  database: Database,
  payouts: readonly Outgoing[],
): Promise<readonly (PaymentContent | undefined)[]> {
  const workspaces = payouts.map(({ workspaceId }) => workspaceId);
  const transactions = payouts.map(({ transactionId }) => transactionId);
  const [rows] = await database.pipeline({ workspaces: [...new Set(workspaces)] }, [
    bind(READ_PAYMENTS, workspaces, transactions),
  ] as const);
  const found = new Map(rows.map((row) => [row.position, paymentOf(row)]));
  return payouts.map((_, index) => found.get(index + 1));
}

function paymentOf({ amount, currency, description, purpose, data }: PaymentRow): PaymentContent {
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
