import { minorUnits, type MinorUnits, type Refusal } from '@banking/domain';
import type { PostedTransaction } from '@banking/ledger';
import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import { holdWork } from '@banking/work-queue';
import { isElsewhere, statusOfPayment } from '../payments/payment-parties.js';
import type { PaymentTerms } from '../payments/payment-terms.js';
import type { OrderDecision } from './decide-orders.js';
import { runTime } from './next-run.js';
import type { OrderRow, OrderWrites } from './order-statements.js';
import type { Placement, PreparedRun } from './prepared-order.js';
import { FAILED_RUNS_MAX } from './read-run.js';

/** Comes before all other writes of a run: the database rejects the step of an order that was cancelled in between. */
const STEP_ORDER = sqlStatement(
  'step_order',
  'update customer_order set status = $3, updated_at = statement_timestamp() where workspace_id = $1 and id = $2',
);
const FINISH_EXECUTION = sqlStatement(
  'finish_execution',
  `update execution set status = $3, transaction_id = $4, failure_code = $5, failure_message = $6,
     executed_at = case when $4::bigint is not null then statement_timestamp() end
   where workspace_id = $1 and id = $2`,
);

/** What a decision writes besides the books. The refusal of a placement is not written; the refusal of a run is its failure. */
export function writesOf(decision: OrderDecision): OrderWrites {
  const { order } = decision;
  if (decision.kind === 'refused') return order.kind === 'run' ? writesOfFailedRun(order, decision.refusal) : {};
  if (decision.kind !== 'posted') return {};
  const { terms } = order;
  if (!terms) throw new Error('an order without terms was posted');
  const { posted, at } = decision;
  if (order.kind === 'run') return writesOfRun(order, terms, posted);
  return order.draft.type === 'instant' ? writesOfPayment(order, terms, posted, at) : writesOfSchedule(order, at);
}

/** An instant order is completed by its payment, whatever the outcome of a payout. */
function writesOfPayment(
  order: Placement,
  terms: PaymentTerms,
  posted: readonly PostedTransaction[],
  at: string,
): OrderWrites {
  const { workspaceId, orderId, executionId: id, remittanceId } = order.ids;
  const { amount, quoteID: quoteId } = order.draft;
  const transactionId = posted[0]!.id;
  const status = statusOfPayment(terms.payee);
  return {
    orders: [orderRow(order, 'completed', at)],
    executions: [{ workspaceId, id, orderId, sequence: 1, status, transactionId, scheduledAt: at, executedAt: at }],
    ...writesOfTerms(terms, { workspaceId, transactionId, amount, quoteId, remittanceId, at }),
    ...(quoteId !== undefined && { quoteUses: [{ workspaceId, quoteId, orderId }] }),
  };
}

function writesOfSchedule(order: Placement, at: string): OrderWrites {
  const { workspaceId, orderId, executionId } = order.ids;
  const { startAt = '', stopAt, repeatUnit, repeatValue } = order.draft;
  const dueAt = runTime({ startAt, stopAt, repeatUnit, repeatValue }, 1);
  if (dueAt === undefined) throw new Error('a schedule without runs was not refused');
  return {
    orders: [orderRow(order, 'active', at)],
    executions: [{ workspaceId, id: executionId, orderId, sequence: 1, status: 'scheduled', scheduledAt: dueAt }],
    due: [{ workspaceId, executionId, dueAt }],
  };
}

function orderRow({ draft, ids }: Placement, status: OrderRow['status'], at: string): OrderRow {
  const { recipientID: recipientId, quoteID: quoteId, startAt: anchor } = draft;
  return { ...draft, ...ids, id: ids.orderId, recipientId, quoteId, anchor, status, at };
}

function writesOfRun(prepared: PreparedRun, terms: PaymentTerms, posted: readonly PostedTransaction[]): OrderWrites {
  const { workspaceId, executionId, amount } = prepared.run;
  const transactionId = posted[0]!.id;
  const finish = bind(
    FINISH_EXECUTION,
    workspaceId,
    executionId,
    statusOfPayment(terms.payee),
    transactionId,
    null,
    null,
  );
  return {
    ...withNextRun(prepared, finish),
    ...writesOfTerms(terms, { workspaceId, transactionId, amount: minorUnits(amount) }),
  };
}

/** A recurring order fails with its third failed run in a row, any other order with the first. */
function writesOfFailedRun(prepared: PreparedRun, { reason, message }: Refusal): OrderWrites {
  const { workspaceId, executionId, failedBefore, repeatUnit } = prepared.run;
  const finish = bind(FINISH_EXECUTION, workspaceId, executionId, 'failed', null, reason, message);
  const isOver = failedBefore + 1 >= FAILED_RUNS_MAX || repeatUnit === undefined;
  return isOver ? { changes: stepsOf(prepared, 'failed', finish) } : withNextRun(prepared, finish);
}

/** Finishes a run and schedules the next one; without one, the order is completed. */
function withNextRun(prepared: PreparedRun, finish: BoundStatement<unknown>): OrderWrites {
  const { next, nextExecutionId: id, run } = prepared;
  const { workspaceId, orderId } = run;
  if (!next) return { changes: stepsOf(prepared, 'completed', finish) };
  const { at, sequence } = next;
  return {
    changes: stepsOf(prepared, 'active', finish),
    executions: [{ workspaceId, id, orderId, sequence, status: 'scheduled', scheduledAt: at }],
    due: [{ workspaceId, executionId: id, dueAt: at }],
  };
}

const stepsOf = (
  { claim, run }: PreparedRun,
  status: 'active' | 'completed' | 'failed',
  finish: BoundStatement<unknown>,
): readonly BoundStatement<unknown>[] => [
  holdWork(claim),
  bind(STEP_ORDER, run.workspaceId, run.orderId, status),
  finish,
];

interface PostedPayment {
  readonly workspaceId: number;
  readonly transactionId: number;
  readonly amount: MinorUnits;
  readonly quoteId?: number | undefined;
  readonly remittanceId?: number | undefined;
  readonly at?: string | undefined;
}

/** The conversion and the payout or crossing of a payment, if it has them. */
function writesOfTerms({ conversion, payee, ...money }: PaymentTerms, payment: PostedPayment): OrderWrites {
  const { workspaceId, transactionId, remittanceId, at } = payment;
  return {
    ...(conversion && { conversions: [{ ...conversion, ...money, ...payment }] }),
    ...(!payee && { payouts: [{ workspaceId, transactionId, remittanceId, at }] }),
    ...(payee &&
      isElsewhere(payee) && {
        crossings: [
          {
            workspaceId,
            transactionId,
            accountCode: payee.accountCode,
            currencyId: money.targetCurrencyId,
            amount: money.targetAmount,
          },
        ],
      }),
  };
}
