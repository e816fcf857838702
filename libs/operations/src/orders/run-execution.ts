import { minorUnits, type RepeatUnit, Refusal, type Timestamp } from '@banking/domain';
import type { PostedTransaction } from '@banking/ledger';
import { isPassingFailure } from '@banking/payouts';
import { bind, statement, type Bound, type Database } from '@banking/postgres';
import type { RateSource } from '../rates/rate-source.js';
import type { OrderSheet } from './order-rows.js';
import { paymentEntries } from './payment-entries.js';
import type { NamedPayment, PaymentFacts } from './payment-facts.js';
import { termsOf, type PaymentTerms } from './payment-terms.js';
import type { ReadyOrder } from './post-orders.js';
import { paymentRows } from './ready-order.js';
import { dueAndNext, type Occurrence } from './recurrence.js';

/** A run that is due, with what its order says. */
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
  readonly sequence: number;
  /** How many runs were refused in a row before this one. A rejected payout was carried out, so it is none of them. */
  readonly failedBefore: number;
  /** Whether its order is paused, or has to be. */
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
  readonly sequence: number;
  readonly failed_before: number;
  readonly is_paused: boolean;
}

const READ_RUN = statement<RunRow>(
  'read_run',
  `select o.id as order_id, o.account_id, o.recipient_id, o.amount, o.description, o.purpose_code, o.anchor,
          rfc3339(o.stop_at) as stop_at, o.repeat_unit, o.repeat_value, e.sequence,
          (select count(*)::int from (
             select l.status, l.failure_code from execution l
             where (l.workspace_id, l.order_id) = (o.workspace_id, o.id) and l.sequence < e.sequence
             order by l.sequence desc limit $3) l where l.status = 'failed' and l.failure_code <> 'payout_rejected') as failed_before,
          o.paused_at is not null or pause_required(o.workspace_id, o.id) is not null as is_paused
   from execution e join customer_order o on (o.workspace_id, o.id) = (e.workspace_id, e.order_id)
   where e.workspace_id = $1 and e.id = $2 and e.status = 'scheduled' and o.status = 'active'`,
);
/** Before anything else of the run: an order that was cancelled meanwhile steps nowhere, and the database says so. */
const STEP_ORDER = statement(
  'step_order',
  'update customer_order set status = $3, updated_at = statement_timestamp() where workspace_id = $1 and id = $2',
);
const FINISH_EXECUTION = statement(
  'finish_execution',
  `update execution set status = $3, transaction_id = $4, failure_code = $5, failure_message = $6,
     executed_at = case when $4::bigint is not null then statement_timestamp() end
   where workspace_id = $1 and id = $2`,
);

/** A recurring order gives up when so many runs have failed in a row. */
const FAILURES_MAX = 3;

/** The run, if it is still to come: undefined once it has run, and when its order was cancelled. */
export async function readRun(
  database: Database,
  workspaceId: number,
  executionId: number,
): Promise<DueRun | undefined> {
  const read = bind(READ_RUN, workspaceId, executionId, FAILURES_MAX - 1);
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
      sequence: row.sequence,
      failedBefore: row.failed_before,
      isPaused: row.is_paused,
    }
  );
}

export const namedBy = ({ workspaceId, accountId, recipientId }: DueRun): NamedPayment => ({
  workspaceId,
  accountId,
  recipientId,
});

/**
 * Makes a run ready for the books, at the terms of the moment. What refuses it is written down as its failure, and what comes after
 * it is put into the queue with it.
 *
 * @param hold the first of its writes: who does the work has to say so in the same flight
 * @throws Refusal for what passes, `unavailable` and `rate_unavailable`: the run is to be tried again
 */
export async function readyRun(
  run: DueRun,
  nextExecutionId: number,
  facts: PaymentFacts,
  rates: RateSource,
  hold: Bound<unknown>,
): Promise<ReadyOrder> {
  const { workspaceId, accountId } = run;
  const schedule = { startAt: run.anchor, stopAt: run.stopAt, repeatUnit: run.repeatUnit, repeatValue: run.repeatValue }; // prettier-ignore
  const { next } = dueAndNext(schedule, run.sequence, facts.now as Timestamp);
  const ready = {
    workspaceId,
    accountId,
    entries: [],
    refusalSheet: (refusal: Refusal): OrderSheet => failedSheet(run, refusal, { next, nextExecutionId, hold }),
  };
  try {
    const payment = { ...run, amount: minorUnits(run.amount) };
    const terms = await termsOf(payment, facts, rates);
    const entries = paymentEntries({ ...payment, valueDate: facts.today }, terms);
    const sheet = (posted: readonly PostedTransaction[]) => ranSheet(run, terms, posted, { next, nextExecutionId, hold }); // prettier-ignore
    return { ...ready, entries, sheet };
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || isPassingFailure(refusal)) throw refusal;
    return { ...ready, refusal, sheet: () => ({}) };
  }
}

/** What follows a run. */
interface Following {
  readonly next: Occurrence | undefined;
  readonly nextExecutionId: number;
  readonly hold: Bound<unknown>;
}

function ranSheet(
  run: DueRun,
  terms: PaymentTerms,
  posted: readonly PostedTransaction[],
  following: Following,
): OrderSheet {
  const { workspaceId, executionId } = run;
  const transactionId = posted[0]!.id;
  const status = terms.payee ? 'completed' : 'pending';
  const finish = bind(FINISH_EXECUTION, workspaceId, executionId, status, transactionId, null, null);
  const payment = paymentRows({ amount: minorUnits(run.amount) }, workspaceId, terms, transactionId);
  return { ...followed(run, following, finish, following.next ? 'active' : 'completed'), ...payment };
}

function failedSheet(run: DueRun, refusal: Refusal, following: Following): OrderSheet {
  const { workspaceId, executionId, failedBefore } = run;
  const { reason, message } = refusal;
  const finish = bind(FINISH_EXECUTION, workspaceId, executionId, 'failed', null, reason, message);
  const isOver = failedBefore + 1 >= FAILURES_MAX || run.repeatUnit === undefined;
  if (isOver) return followed(run, { ...following, next: undefined }, finish, 'failed');
  return followed(run, following, finish, following.next ? 'active' : 'completed');
}

function followed(
  { workspaceId, orderId }: DueRun,
  { next, nextExecutionId, hold }: Following,
  finish: Bound<unknown>,
  orderStatus: 'active' | 'completed' | 'failed',
): OrderSheet {
  const changes = [hold, bind(STEP_ORDER, workspaceId, orderId, orderStatus), finish];
  if (!next) return { changes };
  const { at, sequence } = next;
  return {
    changes,
    executions: [{ workspaceId, id: nextExecutionId, orderId, sequence, status: 'scheduled', scheduledAt: at }],
    due: [{ workspaceId, executionId: nextExecutionId, dueAt: at }],
  };
}
