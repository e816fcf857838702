import {
  LIMIT_DEFAULT,
  type Account,
  type Execution,
  type ExecutionId,
  type Order,
  type OrderId,
  type QuoteId,
  type Recipient,
  type Transaction,
  type TransferAmount,
  type UserId,
} from '@banking/domain';
import type { Reference } from '../reference/reference.js';
import { composeAccount } from './compose-account.js';
import { composeRecipient } from './compose-recipient.js';
import { PARTIES, type PartiesRow } from './parties.js';
import {
  composeTransaction,
  composeTransfers,
  remittanceOf,
  REMITTANCE_COLUMNS,
  type RemittanceRow,
  transactionColumns,
  type TransactionRow,
} from './compose-transaction.js';
import { column, type Columns, digits, joined, packed, packing, unpacking } from './columns.js';
import { type Composed, selectedOf } from './composed.js';
import { timestampOf } from './timestamp-of.js';
import { withoutNulls } from './without-nulls.js';

export interface OrderRow {
  readonly orderId: bigint | number;
  readonly orderAmount: string;
  readonly orderStatus: string;
  readonly orderType: string;
  readonly orderDescription: string | null;
  readonly purposeCode: string | null;
  readonly repeatUnit: string | null;
  readonly repeatValue: number | null;
  readonly startAt: string | null;
  readonly stopAt: string | null;
  readonly pausedAt: string | null;
  readonly pauseReason: string | null;
  readonly quoteId: bigint | number | null;
  readonly externalReference: string | null;
  readonly metadata: Readonly<Record<string, string>> | null;
  /** Missing in a stored response from before the field. */
  readonly placedBy?: bigint | number | null;
  readonly cancelledBy?: bigint | number | null;
  readonly orderCreatedAt: string;
  readonly orderUpdatedAt: string;
}
/** An execution without its transaction. */
export interface ExecutionRow {
  readonly id: number;
  readonly sequence: number;
  readonly status: string;
  readonly scheduledAt: string | null;
  readonly executedAt: string | null;
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
}
export type OrderFacts = OrderRow & PartiesRow & { readonly executions: readonly (readonly unknown[])[] | null };

/** The user who cancelled an order, from its trail. An operator who cancels one is no user. */
const cancelledBy = (order: string): string =>
  `case when ${order}.status = 'cancelled' then (
     select l.user_id from order_change l
     where l.workspace_id = ${order}.workspace_id and l.order_id = ${order}.id and l.after ->> 'status' = 'cancelled'
     order by l.id desc limit 1) end`;

export const ORDER_COLUMNS: Columns<OrderRow> = {
  orderId: column('id'),
  orderAmount: digits('amount'),
  orderStatus: column('status'),
  orderType: column('type'),
  orderDescription: column('description'),
  purposeCode: column('purpose_code'),
  repeatUnit: column('repeat_unit'),
  repeatValue: column('repeat_value'),
  startAt: column('start_at'),
  stopAt: column('stop_at'),
  pausedAt: column('paused_at'),
  pauseReason: column('pause_reason'),
  quoteId: column('quote_id'),
  externalReference: column('external_reference'),
  metadata: column('metadata'),
  placedBy: column('placed_by'),
  cancelledBy,
  orderCreatedAt: column('created_at'),
  orderUpdatedAt: column('updated_at'),
};
export const EXECUTION_COLUMNS: Columns<ExecutionRow> = {
  id: column('id'),
  sequence: column('sequence'),
  status: column('status'),
  scheduledAt: column('scheduled_at'),
  executedAt: column('executed_at'),
  failureCode: column('failure_code'),
  failureMessage: column('failure_message'),
};
const EXECUTION_LENGTH = Object.keys(EXECUTION_COLUMNS).length;
const executionOf = unpacking(EXECUTION_COLUMNS);

/** Most transfers of an order are on its account `t.account_id`. */
const EXECUTED_TRANSACTION = transactionColumns('t.account_id');
const TRANSACTION_LENGTH = Object.keys(EXECUTED_TRANSACTION).length;
const transactionOf = unpacking(EXECUTED_TRANSACTION);
const valuesOfExecution = packing(EXECUTION_COLUMNS);
const valuesOfTransaction = packing(EXECUTED_TRANSACTION);
const valuesOfRemittance = packing(REMITTANCE_COLUMNS);

/** An execution in the form of `OrderFacts`. */
export const packedExecution = (
  execution: ExecutionRow,
  transaction: TransactionRow | undefined,
  remittance: RemittanceRow | undefined,
): readonly unknown[] => [
  ...valuesOfExecution(execution),
  transaction ? valuesOfTransaction(transaction) : null,
  remittance ? valuesOfRemittance(remittance) : null,
];

/** SQL expressions for a page of executions: how many of the latest, and optionally before which sequence. */
interface Executions {
  readonly latest: string;
  readonly before?: string;
}

/** The executions of the order `t` in the order of their sequence, each with its transaction and tracking once it has one. */
const packedExecutions = ({ latest, before }: Executions): string =>
  `(select json_agg(${packed(EXECUTION_COLUMNS, 'e', [
    `case when x.id is not null then ${packed(EXECUTED_TRANSACTION, 'x')} end`,
    `case when m.id is not null then ${packed(REMITTANCE_COLUMNS, 'm')} end`,
  ])} order by e.sequence)
    from (select * from execution l where l.workspace_id = t.workspace_id and l.order_id = t.id ${before === undefined ? '' : `and l.sequence < ${before}`}
          order by l.order_id desc, l.sequence desc limit ${latest}) e
    ${joined('transaction', 'x', 'l.workspace_id = e.workspace_id and l.id = e.transaction_id')}
    ${joined('remittance', 'm', 'l.workspace_id = x.workspace_id and l.transaction_id = x.id')})`;

/** An order `t` with all its edges, its executions among them. */
export const orderWith = (executions: Executions): Composed<OrderFacts, Order> => ({
  columns: `${selectedOf([ORDER_COLUMNS, 't'])}, ${PARTIES.columns},
   ${packedExecutions(executions)} as executions`,
  joins: PARTIES.joins,
  compose: composeWholeOrder,
});

/** A placed order, with the latest page of its executions. */
export const ORDER = orderWith({ latest: String(LIMIT_DEFAULT) });

const userOrNull = (id: bigint | number | null | undefined) => (id == null ? null : (Number(id) as UserId));
const timeOrNull = (text: string | null) => (text === null ? null : timestampOf(text));

function composeWholeOrder(reference: Reference, row: OrderFacts): Order {
  const account = composeAccount(reference, row);
  return composeOrder(row, {
    account,
    recipient: composeRecipient(reference, row),
    executions: (row.executions ?? []).map((values) => composeWholeExecution(reference, row, values, account)),
  });
}

interface OrderEdges {
  readonly account: Account;
  readonly recipient: Recipient | null;
  readonly executions: readonly Execution[];
}

export function composeOrder(row: OrderRow, edges: OrderEdges): Order {
  return withoutNulls<Order>({
    id: Number(row.orderId) as OrderId,
    amount: row.orderAmount as TransferAmount,
    status: row.orderStatus,
    type: row.orderType,
    description: row.orderDescription,
    purposeCode: row.purposeCode,
    repeatUnit: row.repeatUnit,
    repeatValue: row.repeatValue,
    startAt: timeOrNull(row.startAt),
    stopAt: timeOrNull(row.stopAt),
    pausedAt: timeOrNull(row.pausedAt),
    pauseReason: row.pauseReason,
    quoteID: row.quoteId === null ? null : (Number(row.quoteId) as QuoteId),
    externalReference: row.externalReference,
    metadata: row.metadata,
    placedBy: userOrNull(row.placedBy),
    cancelledBy: userOrNull(row.cancelledBy),
    createdAt: timestampOf(row.orderCreatedAt),
    updatedAt: timestampOf(row.orderUpdatedAt),
    edges: withoutNulls<Order['edges']>({ ...edges }),
  });
}

function composeWholeExecution(
  reference: Reference,
  { orderId }: OrderRow,
  values: readonly unknown[],
  account: Account,
): Execution {
  const row = executionOf(values);
  const [transaction, remittance] = values.slice(EXECUTION_LENGTH) as (readonly unknown[] | null)[];
  const executed = transaction && {
    ...transactionOf(transaction.slice(0, TRANSACTION_LENGTH)),
    ...remittanceOf(remittance),
  };
  return composeExecution(
    row,
    executed && composeTransaction(executed, orderId, composeTransfers(reference, executed, account)),
  );
}

/** @param transaction null if none was posted */
export function composeExecution(row: ExecutionRow, transaction: Transaction | null | undefined): Execution {
  return withoutNulls<Execution>({
    id: row.id as ExecutionId,
    sequence: row.sequence,
    status: row.status,
    scheduledAt: timeOrNull(row.scheduledAt),
    executedAt: timeOrNull(row.executedAt),
    failureCode: row.failureCode,
    failureMessage: row.failureMessage,
    edges: withoutNulls<Execution['edges']>({ transaction: transaction ?? null }),
  });
}
