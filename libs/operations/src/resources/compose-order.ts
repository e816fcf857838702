import {
  type Account,
  type ApprovalId,
  type Execution,
  type ExecutionId,
  LIMIT_DEFAULT,
  type Order,
  type OrderId,
  type PlaceOrderInput,
  type QuoteId,
  type Recipient,
  type Transaction,
  type TransactionStatus,
  type TransferAmount,
  type UserId,
} from '@banking/domain';
import { type ErasableStatements, type HashedOrder, ORDER_STATEMENT_NAMES } from '@banking/domain/proof';
import { byteaOf } from '@banking/postgres';
import type { Reference } from '../reference/reference.js';
import {
  type Column,
  column,
  type Columns,
  digits,
  hex,
  inUtc,
  joined,
  packed,
  packedByName,
  packing,
  type RowOf,
  sqlOf,
  timestampOf,
  unpacking,
  unpackingNames,
  withoutNulls,
} from './columns.js';
import { type EdgeFacts, Edges, edgesOf } from './compose-edges.js';
import { type AccountRow, composeAccount, composeRecipient, PARTIES, type PartiesRow } from './compose-parties.js';
import {
  composeTransaction,
  composeTransfers,
  REMITTANCE_COLUMNS,
  remittanceAsOpened,
  remittanceOf,
  type RemittanceRow,
  transactionAsPosted,
  transactionColumns,
  type TransactionRow,
} from './compose-transaction.js';
import { type Composed, type ComposedPage, type PackedRows, packedRows, selectedOf } from './reading.js';

/** An order as it was placed. The transactions that carry it out cover these fields, and the texts by `textsDigest`. */
export type OrderContent = HashedOrder &
  ErasableStatements &
  Pick<PlaceOrderInput, 'type' | 'repeatUnit'> & {
    /** The approval that it waits for, or waited for. */
    readonly approvalId?: number | undefined;
    /** Of its texts, in hex. Missing without any, and once they were erased. */
    readonly textsSalt?: string | undefined;
  };

export type OrderFacts = OrderRow & PartiesRow & { readonly executions: readonly (readonly unknown[])[] | null };

/** The user who cancelled an order, from its trail. An operator who cancels one is no user. */
const cancelledBy = (order: string): string =>
  `case when ${order}.status = 'cancelled' then (
     select l.user_id from order_change l
     where l.workspace_id = ${order}.workspace_id and l.order_id = ${order}.id and l.after ->> 'status' = 'cancelled'
     order by l.id desc limit 1) end`;

/** The column of `customer_order` for a field of the content. */
const columnOf = (name: keyof OrderContent): string =>
  name === 'startAt' ? 'anchor' : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

type ContentColumns<Name extends keyof OrderContent> = { readonly [N in Name]-?: Column<OrderContent[N]> };

/** The fields whose value is that of their column. */
const plain = <Name extends keyof OrderContent>(...names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, column(columnOf(name))])) as ContentColumns<Name>;

/** The fields whose value is that of their column, in hex. */
const IN_HEX = ['approvalDigest', 'textsSalt', 'textsDigest'] as const;

const CONTENT_COLUMNS: ContentColumns<keyof OrderContent> = {
  ...plain('id', 'accountId', 'recipientId', 'type', 'repeatUnit', 'startAt', 'quoteId', 'approvalId'),
  ...plain(...ORDER_STATEMENT_NAMES),
  amount: digits('amount'),
  stopAt: (o) => `rfc3339(${o}.stop_at)`,
  ...(Object.fromEntries(IN_HEX.map((name) => [name, hex(columnOf(name))])) as ContentColumns<(typeof IN_HEX)[number]>),
};

const CONTENT_NAMES = Object.keys(CONTENT_COLUMNS) as (keyof OrderContent)[];

const COLUMNS_WRITTEN = CONTENT_NAMES.map((name) => [name, columnOf(name)] as const);

/** The row of `customer_order` for the content of an order that is placed: its values by column. */
export function rowOfContent(content: OrderContent): Readonly<Record<string, unknown>> {
  const row: Record<string, unknown> = {};
  for (const [name, written] of COLUMNS_WRITTEN) row[written] = content[name];
  for (const name of IN_HEX) row[columnOf(name)] = byteaOf(content[name]);
  row['start_at'] = content.startAt;
  return row;
}

/** The content of an order as JSON, from its row. What its transactions cover: times are texts of the request. */
export const contentOfRow = (alias: string): string => `json_strip_nulls(${packedByName(CONTENT_COLUMNS, alias)})`;

/** The content of these fields. Others are left out, and so are those without a value. */
export function contentOfFields<Fields extends Partial<OrderContent>>(fields: Fields): Fields {
  const content: Partial<Record<keyof OrderContent, unknown>> = {};
  for (const name of CONTENT_NAMES) if (fields[name] != null) content[name] = fields[name];
  return content as Fields;
}

/** What an order shows as edges, or not at all. */
const NOT_SHOWN = ['id', 'accountId', 'recipientId', 'approvalDigest', 'textsSalt', 'textsDigest'] as const;
type NotShown = (typeof NOT_SHOWN)[number];

/** What an order shows of its content, besides its edges. */
type ShownContent = {
  readonly [Name in keyof Omit<OrderContent, NotShown>]-?: Exclude<OrderContent[Name], undefined> | null;
};

const SHOWN_NAMES = CONTENT_NAMES.filter(
  (name) => !(NOT_SHOWN as readonly string[]).includes(name),
) as (keyof ShownContent)[];

/** An array, with the times of the columns: a list reads many of them. */
const shownOfRow = (alias: string): string => {
  const columns = { ...CONTENT_COLUMNS, startAt: column('start_at'), stopAt: column('stop_at') };
  return `json_build_array(${SHOWN_NAMES.map((name) => columns[name](alias)).join(', ')})`;
};

/** The content of an order in the form of `OrderFacts`. */
export const shownValues = (content: OrderContent): readonly unknown[] =>
  SHOWN_NAMES.map((name) => content[name] ?? null);

const shownContent = unpackingNames<ShownContent>(SHOWN_NAMES);

const ORDER_COLUMNS = {
  orderId: column<bigint | number>('id'),
  shown: sqlOf<readonly unknown[]>(shownOfRow),
  orderStatus: column<string>('status'),
  pausedAt: column<string | null>('paused_at'),
  pauseReason: column<string | null>('pause_reason'),
  placedBy: column<bigint | number | null>('placed_by'),
  cancelledBy: sqlOf<bigint | number | null>(cancelledBy),
  orderCreatedAt: column<string>('created_at'),
  orderUpdatedAt: column<string>('updated_at'),
} satisfies Columns;

type OrderRow = RowOf<typeof ORDER_COLUMNS>;

const EXECUTION_COLUMNS = {
  id: column<number>('id'),
  sequence: column<number>('sequence'),
  status: column<string>('status'),
  scheduledAt: column<string | null>('scheduled_at'),
  executedAt: column<string | null>('executed_at'),
  failureCode: column<string | null>('failure_code'),
  failureMessage: column<string | null>('failure_message'),
} satisfies Columns;

/** An execution without its transaction. */
type ExecutionRow = RowOf<typeof EXECUTION_COLUMNS>;

const EXECUTION_LENGTH = Object.keys(EXECUTION_COLUMNS).length;
const executionOf = unpacking(EXECUTION_COLUMNS);

/** Most transfers of an order are on its account `t.account_id`. */
const EXECUTED_TRANSACTION = transactionColumns('t.account_id');

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

export const statusOfExecution = (values: readonly unknown[]): string => executionOf(values).status;

/** Whether an execution has not taken place yet. */
export const isWaiting = (status: string): boolean => status === 'scheduled' || status === 'awaiting_approval';

/**
 * The first execution of an order, in the form of `OrderFacts`, as it was when the order was placed.
 *
 * @param status at that time; it was that of the transaction too
 * @param payee what of the account that was paid has changed since, if it is one of the workspace
 */
export function executionAsPlaced(
  values: readonly unknown[],
  status: string,
  payee: Partial<AccountRow>,
): readonly unknown[] {
  const execution = executionOf(values);
  const [transaction, remittance] = values.slice(EXECUTION_LENGTH) as (readonly unknown[] | null)[];
  const isCarriedOut = !isWaiting(status) && transaction != null;
  const placed = {
    ...execution,
    status,
    executedAt: isCarriedOut ? execution.executedAt : null,
    failureCode: null,
    failureMessage: null,
  };
  return packedExecution(
    placed,
    isCarriedOut ? transactionAsPosted(transactionOf(transaction), status as TransactionStatus, payee) : undefined,
    isCarriedOut && remittance ? remittanceAsOpened(remittanceOf(remittance)) : undefined,
  );
}

/** SQL expressions for a page of executions: how many of the latest, and optionally before which sequence. */
interface Executions {
  readonly latest: string;
  readonly before?: string;
}

/** The executions of the order `t` in the order of their sequence, each with its transaction and tracking once it has one. */
const packedExecutions = ({ latest, before }: Executions): string =>
  `(select json_agg(${packed(EXECUTION_COLUMNS, 'e', [
    `case when x.id is not null then ${packed(EXECUTED_TRANSACTION, 'x')} end`,
    `case when m.transaction_id is not null then ${packed(REMITTANCE_COLUMNS, 'm')} end`,
  ])} order by e.sequence)
    from (select * from execution l where l.workspace_id = t.workspace_id and l.order_id = t.id ${before === undefined ? '' : `and l.sequence < ${before}`}
          order by l.order_id desc, l.sequence desc limit ${latest}) e
    ${joined('transaction', 'x', 'l.workspace_id = e.workspace_id and l.id = e.transaction_id')}
    ${joined('payout', 'm', 'l.workspace_id = x.workspace_id and l.transaction_id = x.id')})`;

/** An order `t` with all its edges, its executions among them. */
export const orderWith = (executions: Executions): Composed<OrderFacts, Order> => ({
  columns: `${selectedOf([ORDER_COLUMNS, 't'])}, ${PARTIES.columns},
   ${packedExecutions(executions)} as executions`,
  joins: PARTIES.joins,
  compose: composeWholeOrder,
});
const timeOrNull = (text: string | null) => (text === null ? null : timestampOf(text));

const userOrNull = (id: bigint | number | null | undefined) => (id == null ? null : (Number(id) as UserId));

/** A placed order, with the latest page of its executions. */
export const ORDER = orderWith({ latest: String(LIMIT_DEFAULT) });

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

function composeOrder(row: OrderRow, edges: OrderEdges): Order {
  const { amount, type, repeatUnit, repeatValue, startAt, stopAt, quoteId, approvalId, ...others } = shownContent(
    row.shown,
  );
  const { externalReference, metadata, ...stated } = others;
  return withoutNulls<Order>({
    id: Number(row.orderId) as OrderId,
    amount: amount as TransferAmount,
    status: row.orderStatus,
    type,
    ...stated,
    repeatUnit,
    repeatValue,
    startAt: startAt === null ? null : inUtc(startAt),
    stopAt: stopAt === null ? null : inUtc(stopAt),
    pausedAt: timeOrNull(row.pausedAt),
    pauseReason: row.pauseReason,
    quoteID: quoteId as QuoteId | null,
    approvalID: approvalId as ApprovalId | null,
    externalReference,
    metadata,
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
  if (!transaction) return composeExecution(row, null);
  const executed = transactionOf(transaction);
  const transfers = composeTransfers(reference, executed, account);
  return composeExecution(row, composeTransaction(executed, remittanceOf(remittance), orderId, transfers));
}

/** @param transaction null if none was posted */
function composeExecution(row: ExecutionRow, transaction: Transaction | null | undefined): Execution {
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

/** An order of a list has its latest executions. */
const LATEST = 10;

const LINKED_EXECUTION = {
  ...EXECUTION_COLUMNS,
  orderId: column<number>('order_id'),
  transactionId: column<number | null>('transaction_id'),
} satisfies Columns;

const LINKED_ORDER = {
  ...ORDER_COLUMNS,
  accountId: column<number>('account_id'),
  recipientId: column<number>('recipient_id'),
} satisfies Columns;

const orderOf = unpacking(LINKED_ORDER);
const linkedExecutionOf = unpacking(LINKED_EXECUTION);

export interface OrderPageFacts extends EdgeFacts {
  readonly orders: PackedRows;
  readonly executions: PackedRows;
}

/** A transaction carries out one execution at most. */
const EDGES = edgesOf({
  ids: 'select transaction_id as id, order_id from linked_execution where transaction_id is not null',
  orderId: 'i.order_id',
});

/** A page of orders, each with its latest executions in the order of their sequence. */
export const ORDER_PAGE: ComposedPage<OrderPageFacts, Order> = {
  tables: `, linked_execution as materialized (
       select e.* from page t cross join lateral (
         select * from execution l where l.workspace_id = $1 and l.order_id = t.id
         order by l.order_id desc, l.sequence desc limit ${LATEST}) e)
     ${EDGES.tables}`,
  columns: `${packedRows(packed(LINKED_ORDER, 't'), 'page t')} as orders,
   ${packedRows(packed(LINKED_EXECUTION, 'e'), 'linked_execution e', 'e.order_id, e.sequence')} as executions, ${EDGES.columns}`,
  compose(reference, facts) {
    const edges = new Edges(reference, facts);
    const executions = new Map<number, Execution[]>();
    for (const values of facts.executions ?? []) {
      const row = linkedExecutionOf(values);
      const execution = composeExecution(row, edges.transaction(row.transactionId));
      const all = executions.get(row.orderId);
      if (all) all.push(execution);
      else executions.set(row.orderId, [execution]);
    }
    const orders = new Map((facts.orders ?? []).map(orderOf).map((row) => [Number(row.orderId), row]));
    return (id) => {
      const row = orders.get(id);
      return (
        row &&
        composeOrder(row, {
          account: edges.account(row.accountId),
          recipient: edges.recipient(row.recipientId),
          executions: executions.get(id) ?? [],
        })
      );
    };
  },
};
