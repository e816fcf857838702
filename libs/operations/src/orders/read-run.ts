import type { RepeatUnit, Timestamp } from '@banking/domain';
import type { HashedOrder } from '@banking/domain/proof';
import { bind, sqlStatement, type Database } from '@banking/postgres';

/** A recurring order fails after so many failed runs in a row. */
export const FAILED_RUNS_MAX = 3;

/** A due run with the terms of its order. */
export interface DueRun {
  readonly workspaceId: number;
  readonly executionId: number;
  readonly orderId: number;
  readonly accountId: number;
  readonly recipientId: number;
  readonly amount: bigint;
  readonly description: string | undefined;
  readonly purposeCode: string | undefined;
  readonly anchor: string;
  readonly stopAt: Timestamp | undefined;
  readonly repeatUnit: RepeatUnit | undefined;
  readonly repeatValue: number | undefined;
  readonly type: string;
  readonly externalReference: string | undefined;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly sequence: number;
  /** How many runs in a row were refused before this one. A rejected payout was carried out and does not count. */
  readonly failedBefore: number;
  /** Whether its order is paused, or must be. */
  readonly isPaused: boolean;
}

interface RunRow {
  readonly order_id: bigint;
  readonly account_id: bigint;
  readonly recipient_id: bigint;
  readonly amount: bigint;
  readonly description: string | null;
  readonly purpose_code: string | null;
  readonly anchor: string;
  readonly stop_at: Timestamp | null;
  readonly repeat_unit: RepeatUnit | null;
  readonly repeat_value: number | null;
  readonly type: string;
  readonly external_reference: string | null;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly sequence: number;
  readonly failed_before: number;
  readonly is_paused: boolean;
}

const READ_RUN = sqlStatement<RunRow>(
  'read_run',
  `select o.id as order_id, o.account_id, o.recipient_id, o.amount, o.description, o.purpose_code, o.anchor,
          rfc3339(o.stop_at) as stop_at, o.repeat_unit, o.repeat_value, o.type, o.external_reference, o.metadata, e.sequence,
          (select count(*)::int from (
             select l.status, l.failure_code from execution l
             where (l.workspace_id, l.order_id) = (o.workspace_id, o.id) and l.sequence < e.sequence
             order by l.sequence desc limit $3) l where l.status = 'failed' and l.failure_code <> 'payout_rejected') as failed_before,
          o.paused_at is not null or pause_required(o.workspace_id, o.id) is not null as is_paused
   from execution e join customer_order o on (o.workspace_id, o.id) = (e.workspace_id, e.order_id)
   where e.workspace_id = $1 and e.id = $2 and e.status = 'scheduled' and o.status = 'active'`,
);

/** The run, or undefined if it took place or its order was cancelled. */
export async function readRun(
  database: Database,
  workspaceId: number,
  executionId: number,
): Promise<DueRun | undefined> {
  const read = bind(READ_RUN, workspaceId, executionId, FAILED_RUNS_MAX - 1);
  const row = await database.read({ workspaces: [workspaceId] }, read);
  return (
    row && {
      workspaceId,
      executionId,
      orderId: Number(row.order_id),
      accountId: Number(row.account_id),
      recipientId: Number(row.recipient_id),
      amount: row.amount,
      description: row.description ?? undefined,
      purposeCode: row.purpose_code ?? undefined,
      anchor: row.anchor,
      stopAt: row.stop_at ?? undefined,
      repeatUnit: row.repeat_unit ?? undefined,
      repeatValue: row.repeat_value ?? undefined,
      type: row.type,
      externalReference: row.external_reference ?? undefined,
      metadata: row.metadata ?? undefined,
      sequence: row.sequence,
      failedBefore: row.failed_before,
      isPaused: row.is_paused,
    }
  );
}

/** The fields of the order that each of its transactions covers. An order that runs later has no quote. */
export function hashedOrder(run: DueRun): HashedOrder {
  const { orderId: id, accountId, recipientId, amount, type, anchor: startAt } = run;
  const { description, purposeCode, repeatUnit, repeatValue, stopAt, externalReference, metadata } = run;
  const payment = { id, accountId, recipientId, amount: amount.toString(), type, description, purposeCode };
  return { ...payment, repeatUnit, repeatValue, startAt, stopAt, externalReference, metadata };
}
