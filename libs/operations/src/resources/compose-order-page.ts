import type { Execution, Order } from '@banking/domain';
import { column, type Columns, packed, unpacking } from './columns.js';
import { type EdgeFacts, Edges, edgesOf } from './compose-edges.js';
import {
  composeExecution,
  composeOrder,
  EXECUTION_COLUMNS,
  type ExecutionRow,
  ORDER_COLUMNS,
  type OrderRow,
} from './compose-order.js';
import { type ComposedPage, type PackedRows, packedRows } from './compose-page.js';

/** An order of a list has its latest executions. */
const LATEST = 10;

interface LinkedOrder extends OrderRow {
  readonly accountId: number;
  readonly recipientId: number | null;
}
interface LinkedExecution extends ExecutionRow {
  readonly orderId: number;
  readonly transactionId: number | null;
}

const LINKED_ORDER: Columns<LinkedOrder> = {
  ...ORDER_COLUMNS,
  accountId: column('account_id'),
  recipientId: column('recipient_id'),
};
const LINKED_EXECUTION: Columns<LinkedExecution> = {
  ...EXECUTION_COLUMNS,
  orderId: column('order_id'),
  transactionId: column('transaction_id'),
};
const orderOf = unpacking(LINKED_ORDER);
const executionOf = unpacking(LINKED_EXECUTION);

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
      const row = executionOf(values);
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
