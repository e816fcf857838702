import type { PostedConversion } from '@banking/ledger';
import { type NewCrossing, openCrossings } from '../crossings/crossings.js';
import { openWork } from '@banking/work-queue';
import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';

/** A row of `customer_order`. */
export interface OrderRow {
  readonly workspaceId: number;
  readonly id: number;
  readonly accountId: number;
  readonly recipientId: number;
  readonly amount: bigint;
  readonly type: string;
  readonly status: 'active' | 'completed';
  readonly description?: string | undefined;
  readonly purposeCode?: string | undefined;
  readonly repeatUnit?: string | undefined;
  readonly repeatValue?: number | undefined;
  readonly anchor?: string | undefined;
  readonly stopAt?: string | undefined;
  readonly quoteId?: number | undefined;
  readonly externalReference?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly placedBy?: number | undefined;
  /** When it is placed, in the text of PostgreSQL. */
  readonly at: string;
}

/** A row of `execution`. A run that took place has a transaction, a scheduled one has its time. */
interface ExecutionRow {
  readonly workspaceId: number;
  readonly id: number;
  readonly orderId: number;
  readonly sequence: number;
  readonly status: 'scheduled' | 'pending' | 'completed';
  readonly transactionId?: number | undefined;
  readonly scheduledAt: string;
  /** When it took place. */
  readonly executedAt?: string | undefined;
}

interface QuoteUseRow {
  readonly workspaceId: number;
  readonly quoteId: number;
  readonly orderId: number;
}

/** Inserts in the order of the unique external reference. Two batches wait for each other and cannot deadlock. */
const INSERT_ORDERS = sqlStatement(
  'insert_orders',
  `insert into customer_order (workspace_id, id, account_id, recipient_id, amount, type, status, description, purpose_code,
     repeat_unit, repeat_value, anchor, start_at, stop_at, quote_id, external_reference, metadata, placed_by, created_at, updated_at)
   select w, id, account, recipient, amount, type, status, description, purpose, unit, value, anchor, anchor::timestamptz, stop, quote,
     reference, metadata::jsonb, placed_by, at, at
   from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[],
               $10::text[], $11::int[], $12::text[], $13::timestamptz[], $14::bigint[], $15::text[], $16::text[], $17::bigint[],
               $18::timestamptz[])
     u(w, id, account, recipient, amount, type, status, description, purpose, unit, value, anchor, stop, quote, reference, metadata, placed_by, at)
   order by w, reference`,
);

const INSERT_EXECUTIONS = sqlStatement(
  'insert_executions',
  `insert into execution (workspace_id, id, order_id, sequence, status, transaction_id, scheduled_at, executed_at)
   select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[], $5::text[], $6::bigint[], $7::timestamptz[], $8::timestamptz[])`,
);

const INSERT_QUOTE_USES = sqlStatement(
  'insert_quote_uses',
  `insert into quote_use (workspace_id, quote_id, order_id)
   select * from unnest($1::bigint[], $2::bigint[], $3::bigint[]) order by 1, 2`,
);

const column = <Row, Value>(rows: readonly Row[], value: (row: Row) => Value | undefined) =>
  rows.map((row) => value(row) ?? null);
/** Leaves out the statement if there are no rows. */
const when = (rows: readonly unknown[], write: () => BoundStatement<unknown>): BoundStatement<unknown>[] =>
  rows.length === 0 ? [] : [write()];

const insertOrders = (rows: readonly OrderRow[]): BoundStatement<unknown>[] =>
  when(rows, () =>
    bind(
      INSERT_ORDERS,
      column(rows, (row) => row.workspaceId),
      column(rows, (row) => row.id),
      column(rows, (row) => row.accountId),
      column(rows, (row) => row.recipientId),
      column(rows, (row) => row.amount.toString()),
      column(rows, (row) => row.type),
      column(rows, (row) => row.status),
      column(rows, (row) => row.description),
      column(rows, (row) => row.purposeCode),
      column(rows, (row) => row.repeatUnit),
      column(rows, (row) => row.repeatValue),
      column(rows, (row) => row.anchor),
      column(rows, (row) => row.stopAt),
      column(rows, (row) => row.quoteId),
      column(rows, (row) => row.externalReference),
      column(rows, (row) => row.metadata && JSON.stringify(row.metadata)),
      column(rows, (row) => row.placedBy),
      column(rows, (row) => row.at),
    ),
  );

const insertExecutions = (rows: readonly ExecutionRow[]): BoundStatement<unknown>[] =>
  when(rows, () =>
    bind(
      INSERT_EXECUTIONS,
      column(rows, (row) => row.workspaceId),
      column(rows, (row) => row.id),
      column(rows, (row) => row.orderId),
      column(rows, (row) => row.sequence),
      column(rows, (row) => row.status),
      column(rows, (row) => row.transactionId),
      column(rows, (row) => row.scheduledAt),
      column(rows, (row) => row.executedAt),
    ),
  );

const insertQuoteUses = (rows: readonly QuoteUseRow[]): BoundStatement<unknown>[] =>
  when(rows, () =>
    bind(
      INSERT_QUOTE_USES,
      column(rows, (row) => row.workspaceId),
      column(rows, (row) => row.quoteId),
      column(rows, (row) => row.orderId),
    ),
  );

/** A scheduled run. The worker takes it when it is due. */
interface DueRow {
  readonly workspaceId: number;
  readonly executionId: number;
  readonly dueAt: string;
}

/** The rows that one order writes, besides the books. */
export interface OrderWrites {
  readonly orders?: readonly OrderRow[];
  readonly executions?: readonly ExecutionRow[];
  readonly conversions?: readonly PostedConversion[];
  readonly quoteUses?: readonly QuoteUseRow[];
  /** Transactions that pay an account of another database. */
  readonly crossings?: readonly NewCrossing[];
  /** Scheduled runs. */
  readonly due?: readonly DueRow[];
  /** Changes of existing rows. */
  readonly changes?: readonly BoundStatement<unknown>[];
}

/** The writes of many orders besides their payments, one statement a table. */
export function orderStatements(writes: readonly OrderWrites[]): BoundStatement<unknown>[] {
  const all = <Row>(rows: (one: OrderWrites) => readonly Row[] | undefined) => writes.flatMap((one) => rows(one) ?? []);
  return [
    ...insertOrders(all(({ orders }) => orders)),
    ...insertExecutions(all(({ executions }) => executions)),
    ...insertQuoteUses(all(({ quoteUses }) => quoteUses)),
    ...openCrossings(all(({ crossings }) => crossings)),
    ...scheduleRuns(all(({ due }) => due)),
    ...all(({ changes }) => changes),
  ];
}

/** The kind of work that carries out a run of an order. */
export const EXECUTION = 'execution';

const scheduleRuns = (rows: readonly DueRow[]): BoundStatement<unknown>[] =>
  when(rows, () =>
    openWork(
      rows.map(({ workspaceId, executionId: subjectId, dueAt }) => ({
        workspaceId,
        kind: EXECUTION,
        subjectId,
        dueAt,
      })),
    ),
  );
