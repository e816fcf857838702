import { minorUnits, type Timestamp } from '@banking/domain';
import { type Books, booksAs, ownLegsOf } from '@banking/ledger';
import {
  type DecisionHook,
  EVENTS_MAX,
  type OpenRails,
  type Outgoing,
  type Payer,
  type PayerReader,
  type PaymentContent,
  type PaymentReader,
  PAYOUT,
  payoutHandler,
  type PayoutStop,
  receiveRailEvents,
} from '@banking/payouts';
import { BatchedCalls, bind, type Database, lookup, sqlStatement, VERIFIER_ROLE, WORKER_ROLE } from '@banking/postgres';
import { deleteOldDeliveries, type OpenWebhooks, WebhookDelivery } from '@banking/webhooks';
import {
  type Chore,
  startWorker,
  wakeDelayed,
  type Worker,
  type WorkerOptions,
  type WorkHandler,
} from '@banking/work-queue';
import { APPROVAL, approvalHandler, type CarryingOut } from '../approvals/carry-out.js';
import { expireApprovals } from '../approvals/decide-approval.js';
import { AUDIT_ROWS_MAX, deleteAuditEvents, recordAudit } from '../audit/record-audit.js';
import { CROSSING, crossingHandler, type CrossingPort } from '../crossings/crossings.js';
import { bookDeposits } from '../deposits/book-deposits.js';
import type { ReceivingAccount } from '../deposits/match-entry.js';
import { composeEvent } from '../events/events.js';
import { EVENTS_KEPT_DAYS, OldEvents, recordChanges, RECORDED_MAX } from '../events/record-changes.js';
import { ExpiredKeys } from '../idempotency/idempotency-key.js';
import { deleteCountedPayments } from '../limits/limits.js';
import { REMOVED_PLACER, removedPlacerHandler } from '../members/pause-orders.js';
import { deleteIfCancelled } from '../orders/change-orders.js';
import type { OrderService } from '../orders/order-service.js';
import type { HandOver } from '../orders/post-orders.js';
import { EXECUTION } from '../orders/schedule.js';
import { runOrder } from '../orders/run-order.js';
import { type PersonalDataRetention, UnusedPersonalData } from '../personal-data/unused-personal-data.js';
import { deleteOldReference } from '../reference/reference.js';
import { applyDueReference } from '../reference/reference-changes.js';
import { OldRows } from './old-rows.js';
import { reportOnce } from './report-once.js';
import { ContinuousVerification } from './verify-continuously.js';
import type { WorkKind } from './work-kinds.js';

interface WorkSettings {
  /** Carries out the runs of orders. A process that also places orders uses one service for both. */
  readonly orders: OrderService;
  /** Carries out approved requests. Without it, they wait for a worker that has it. */
  readonly approvals?: CarryingOut | undefined;
  /** Opens the payment networks that it calls, on the database of the worker. Payouts of other networks wait for a worker that has them. */
  readonly rails?: ((database: Database) => OpenRails) | undefined;
  /** The bank accounts whose entries it books. Default: none, and no entries are booked. */
  readonly bankAccounts?: readonly ReceivingAccount[] | undefined;
  /** Decides payouts that need a decision. Without it, they wait for a worker that has it, or for an operator. */
  readonly decisionHook?: DecisionHook | undefined;
  /** Where payments to other databases are submitted. Without it, they wait for a worker that has it. */
  readonly crossings?: CrossingPort | undefined;
  /** What the worker does besides, such as what concerns several databases. */
  readonly chores?: readonly Chore[] | undefined;
  /** Receives each error with the work or the chore that failed; for the log. */
  readonly onError?: WorkerOptions['onError'];
  /** Called once for each stop of payouts that a verification of the books caused, also after a restart; for the log. */
  readonly onPayoutStop?: (stop: PayoutStop) => void;
  /** How long entries of the audit trail are kept, in days: at least 365. Default 3,650. */
  readonly auditKeptDays?: number | undefined;
  /** The name of the database, where there are several; for metrics. */
  readonly cell?: string | undefined;
  /** How long personal data are kept. Default: ten years. */
  readonly personalData?: PersonalDataRetention | undefined;
  /** How long events and deliveries of webhooks are listed. Default: 30 days. */
  readonly eventsKeptDays?: number | undefined;
  /** What delivers to webhook endpoints. Without it, none is delivered to. */
  readonly webhooks?: OpenWebhooks | undefined;
}

const EXPIRED_KEYS_IDLE_MS = 5 * 60_000;

const EXPIRED_APPROVALS_IDLE_MS = 10_000;

const RECORD_IDLE_MS = 150;

/** A document applies so much after it is effective, at most. */
const REFERENCE_IDLE_MS = 500;

const OLD_EVENTS_IDLE_MS = 60 * 60_000;
const VERIFY_NEW_MS = 60_000;

/** The pause between two batches of a backlog: catching up leaves most of the time to other work. */
const VERIFY_BACKLOG_MS = 1_000;

const VERIFY_NEXT_MS = 5_000;
const STATISTICS_MS = 2_000;
const AUDIT_IDLE_MS = 200;
const WAKE_IDLE_MS = 1_000;
const OLD_AUDIT_IDLE_MS = 60 * 60_000;
/** A pass reads all recipients and deposits. */
const PERSONAL_DATA_IDLE_MS = 6 * 60 * 60_000;
const AUDIT_KEPT_DAYS = 3_650;

/** An open database with its books. */
interface OpenBooks {
  readonly database: Database;
  readonly books: Books;
}

/** Starts a worker. Any number of workers may run, in any number of processes. Stop it before the deployment is closed. */
export function startBankingWorker(deployment: OpenBooks, settings: WorkSettings): Worker {
  return startWorker(workOf(deployment, settings));
}

/** Gives the work of orders to the worker of the same process, while it has one. */
export const handOverTo = (workerOf: () => Worker | undefined): Required<HandOver> => ({
  reservePayouts: (rail, count) => workerOf()?.reserve(PAYOUT, count, rail),
  onPlaced: (isQueued) => workerOf()?.nudge(isQueued),
});

/** The handlers and chores of a worker: due runs, crossings, payouts, events of the network, expired idempotency records, verification, statistics,
 * and events. */
export function workOf(
  opened: OpenBooks,
  {
    orders,
    rails: openRails = () => new Map(),
    bankAccounts = [],
    decisionHook: hook,
    crossings,
    approvals,
    chores: more = [],
    onError,
    onPayoutStop,
    auditKeptDays = AUDIT_KEPT_DAYS,
    eventsKeptDays = EVENTS_KEPT_DAYS,
    personalData,
    webhooks,
    cell,
  }: WorkSettings,
): WorkerOptions {
  const books = booksAs(opened.books, WORKER_ROLE);
  const { database } = books;
  const run: WorkHandler = {
    async run(claim) {
      await runOrder(orders, claim);
      return 'done';
    },
    noteFailures: (failures) => failures.flatMap(({ claim, isParked }) => (isParked ? deleteIfCancelled(claim) : [])),
  };
  const handlers: { [Kind in WorkKind]?: WorkHandler } = {
    [EXECUTION]: run,
    [REMOVED_PLACER]: removedPlacerHandler(database),
  };
  if (approvals) handlers[APPROVAL] = approvalHandler(database, approvals);
  if (crossings) handlers[CROSSING] = crossingHandler({ books, port: crossings });
  const expiredKeys = new ExpiredKeys(database);
  const deleting: Chore = {
    name: 'expired-keys',
    run: async () => (await expiredKeys.deleteBatch()) + (await deleteOldReference(database)),
    idleMs: EXPIRED_KEYS_IDLE_MS,
  };
  const oldEvents = new OldEvents(database, eventsKeptDays);
  const unused = new UnusedPersonalData(database, personalData);
  const oldAudit = new OldRows(database, deleteAuditEvents(auditKeptDays));
  const oldCounted = new OldRows(database, deleteCountedPayments());
  const verification = new ContinuousVerification(opened.database.as(VERIFIER_ROLE), onPayoutStop, cell);
  const chores: readonly Chore[] = [
    {
      name: 'events',
      run: () => recordChanges(database),
      idleMs: RECORD_IDLE_MS,
      fullBatch: RECORDED_MAX,
      isNudged: true,
    },
    { name: 'old-events', run: () => oldEvents.deleteBatch(), idleMs: OLD_EVENTS_IDLE_MS },
    { name: 'old-deliveries', run: () => deleteOldDeliveries(database, eventsKeptDays), idleMs: OLD_EVENTS_IDLE_MS },
    deleting,
    { name: 'expired-approvals', run: () => expireApprovals(database), idleMs: EXPIRED_APPROVALS_IDLE_MS },
    { name: 'reference', run: () => applyDueReference(database), idleMs: REFERENCE_IDLE_MS },
    { name: 'audit', run: () => recordAudit(database), idleMs: AUDIT_IDLE_MS, fullBatch: AUDIT_ROWS_MAX },
    { name: 'old-audit-events', run: () => oldAudit.deleteBatch(), idleMs: OLD_AUDIT_IDLE_MS },
    { name: 'old-counted-payments', run: () => oldCounted.deleteBatch(), idleMs: OLD_AUDIT_IDLE_MS },
    { name: 'personal-data', run: () => unused.eraseBatch(), idleMs: PERSONAL_DATA_IDLE_MS },
    { name: 'verification', run: paced(() => verification.verifyNew(), VERIFY_NEW_MS), idleMs: VERIFY_BACKLOG_MS },
    { name: 'repeated-verification', run: () => verification.verifyNext(), idleMs: VERIFY_NEXT_MS },
    { name: 'statistics', run: paced(() => analyzeTables(database), STATISTICS_MS), idleMs: STATISTICS_MS },
    ...(webhooks ? [new WebhookDelivery({ database, ...webhooks, composeEvent, onError })] : []),
    ...bookDeposits(books, bankAccounts, onError),
    ...(crossings?.returns ? [wakingOf(database, () => crossings.returns!())] : []),
    ...more,
  ];
  const rails = openRails(database);
  if (rails.size === 0) return { database, handlers, chores, onError };
  const decisions = { hook, readPayer: payerReader(database) };
  const carry = payoutHandler({ books, rails, decisions, readPayment: paymentReader(database) });
  const onEventError = onError && reportOnce(onError);
  const receiving = [...rails].map(([name, rail]): Chore => {
    const control = new AbortController();
    const { signal } = control;
    return {
      name: `rail-events-${name}`,
      run: () => receiveRailEvents({ books, name, rail, signal, onError: onEventError }),
      fullBatch: EVENTS_MAX,
      stop: async () => control.abort(),
    };
  });
  const ofRails = [...rails.values()].flatMap((rail) => rail.chores ?? []);
  handlers[PAYOUT] = carry;
  return {
    ...{ database, onError, handlers },
    chores: [...receiving, ...ofRails, ...chores],
  };
}

/** Payments to a database that was away are tried when it answers again, and not at the end of their delay. */
function wakingOf(database: Database, returns: () => Promise<number>): Chore {
  let seen = 0;
  return {
    name: 'wake-delayed',
    idleMs: WAKE_IDLE_MS,
    async run() {
      const count = await returns();
      if (count === seen) return 0;
      await wakeDelayed(database, [CROSSING, EXECUTION]);
      seen = count;
      return 0;
    },
  };
}

/** One pass over all tables; the next one waits. */
async function analyzeTables(database: Database): Promise<number> {
  await refreshStatistics(database);
  return 0;
}

/** Runs each time the interval has passed, and after each pause of its chore while there is a backlog. */
function paced(run: () => Promise<number>, intervalMs: number): Chore['run'] {
  let dueAtMs = 0;
  return async () => {
    if (performance.now() < dueAtMs) return 0;
    dueAtMs = (await run()) > 0 ? 0 : performance.now() + intervalMs;
    return 0;
  };
}

const ANALYZE_NEXT_TABLE = sqlStatement<{ analyzed: number | null }>(
  'analyze_next_table',
  'select analyze_next_table($1::oid) as analyzed',
);

/**
 * Analyzes the tables without current statistics of the planner, each in a database transaction of its own: autovacuum may not have
 * reached them, and a crash of the server deletes the counters by which it decides.
 *
 * Without statistics, indexes that begin with the workspace have the same cost, and a statement may read a whole workspace for each row.
 *
 * @returns the number of tables
 */
export async function refreshStatistics(database: Database): Promise<number> {
  let after: number | null = 0;
  for (let count = 0; ; count += 1) {
    const row: { readonly analyzed: number | null } | undefined = await database.read(
      {},
      bind(ANALYZE_NEXT_TABLE, after),
    );
    after = row?.analyzed ?? null;
    if (after === null) return count;
  }
}

interface PaymentRow {
  /** In the list of payouts, from 1. */
  position: number;
  amount: bigint;
  currency: string;
  description: string | null;
  purpose: string | null;
  data: Readonly<Partial<Record<string, string>>>;
  payout_method: string;
}

/** The amount of a payout is the credit of the settlement account. After a conversion it is in the target currency. */
export const READ_PAYMENTS = sqlStatement<PaymentRow>(
  'read_payments',
  `select u.position::int, s.amount, c.code as currency, d.description, d.purpose, n.data, k.payout_method
   from unnest($1::bigint[], $2::bigint[]) with ordinality u(workspace_id, transaction_id, position)
   cross join ${lookup(`select t.recipient_id, t.description, t.purpose from transfer t
     where t.workspace_id = u.workspace_id and t.transaction_id = u.transaction_id
       and t.direction = 'debit' and t.type <> 'fee'`)} d
   cross join lateral beneficiary_of(u.workspace_id, d.recipient_id) n
   cross join ${lookup(`select k.payout_method from recipient r join corridor k on k.id = r.corridor_id
     where r.workspace_id = u.workspace_id and r.id = d.recipient_id`)} k
   join ${ownLegsOf('settlement', { workspaceId: 'u.workspace_id', id: 'u.transaction_id' })} s on s.direction = 'credit'
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

const READ_PAYER = sqlStatement<{ account_id: bigint; order_id: bigint | null; created_at: Timestamp }>(
  'read_payer',
  `select d.account_id, e.order_id, rfc3339(p.created_at) as created_at
   from payout p
   cross join ${lookup(`select t.account_id from transfer t
     where t.workspace_id = p.workspace_id and t.transaction_id = p.transaction_id and t.direction = 'debit' and t.type <> 'fee'`)} d
   left join lateral (
     select x.order_id from execution x where x.workspace_id = p.workspace_id and x.transaction_id = p.transaction_id limit 1) e on true
   where p.workspace_id = $1 and p.transaction_id = $2`,
);

/** Reads who pays a payout, for the decision hook. @throws Error for a transaction that is no payout */
function payerReader(database: Database): PayerReader {
  return async (workspaceId, transactionId): Promise<Payer> => {
    const row = await database.read({ workspaces: [workspaceId] }, bind(READ_PAYER, workspaceId, transactionId));
    if (!row) throw new Error(`transaction ${transactionId} is no payout`);
    const { account_id: accountId, order_id: orderId, created_at: createdAt } = row;
    return { accountId: Number(accountId), createdAt, ...(orderId !== null && { orderId: Number(orderId) }) };
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

function paymentOf({ amount, currency, description, purpose, data, payout_method }: PaymentRow): PaymentContent {
  const { routingCodeType1: type, routingCodeValue1: code, beneficiaryTownName: townName } = data;
  return {
    amount: minorUnits(amount),
    currency,
    creditor: {
      name: data.beneficiaryName ?? '',
      account: data.beneficiaryAccountNumber ?? '',
      routing: type !== undefined && code !== undefined ? { type, code } : undefined,
      address: data.beneficiaryAddress,
      country: data.beneficiaryCountryCode,
      bankCountry: data.destinationCountry,
      postalAddress:
        townName === undefined
          ? undefined
          : {
              streetName: data.beneficiaryStreetName,
              buildingNumber: data.beneficiaryBuildingNumber,
              postCode: data.beneficiaryPostCode,
              townName,
            },
    },
    description: description ?? undefined,
    purpose: purpose ?? undefined,
    payoutMethod: payout_method,
  };
}
