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

/**
 * The amount of a payout is the credit of the settlement account. After a conversion it is in the target currency.
 *
 * Each `offset 0` keeps its subquery one index search for each payout. Otherwise the planner may join all beneficiaries of the workspace.
 */
export const READ_PAYMENTS = sqlStatement<PaymentRow>(
  'read_payments',
  `select u.position::int, s.amount, c.code as currency, d.description, d.purpose, n.data
   from unnest($1::bigint[], $2::bigint[]) with ordinality u(workspace_id, transaction_id, position)
   cross join lateral (
     select t.recipient_id, t.description, t.purpose from transfer t
     where t.workspace_id = u.workspace_id and t.transaction_id = u.transaction_id
       and t.direction = 'debit' and t.type <> 'fee' and t.account_version is not null
     offset 0
   ) d
   cross join lateral (
     select b.data from beneficiary b where b.workspace_id = u.workspace_id and b.recipient_id = d.recipient_id offset 0
   ) n
   cross join lateral (
     select t.amount, t.currency_id from transfer t
     where t.workspace_id = u.workspace_id and t.transaction_id = u.transaction_id and t.direction = 'credit'
       and (select o.kind from account o where o.workspace_id = t.workspace_id and o.id = t.account_id) = 'settlement'
     offset 0
   ) s
   join currency c on c.id = s.currency_id`,
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
