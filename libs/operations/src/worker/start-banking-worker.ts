import type { Books } from '@banking/ledger';
import type { Database } from '@banking/postgres';
import { EVENTS_MAX, payoutHandler, type PayoutStop, receiveRailEvents, PAYOUT, SandboxRail } from '@banking/payouts';
import {
  startWorker,
  wakeDelayed,
  type Chore,
  type Worker,
  type WorkerOptions,
  type WorkHandler,
} from '@banking/work-queue';
import { deleteOldDeliveries, type OpenWebhooks, WebhookDelivery } from '@banking/webhooks';
import { OldAuditEvents } from '../audit/delete-old-audit-events.js';
import { AUDIT_ROWS_MAX, recordAudit } from '../audit/record-audit.js';
import type { CrossingPort } from '../crossings/crossing-port.js';
import { CROSSING } from '../crossings/open-crossings.js';
import { crossingHandler } from '../crossings/settle-crossing.js';
import { composeEvent } from '../events/compose-event.js';
import { EVENTS_KEPT_DAYS, OldEvents } from '../events/old-events.js';
import { RECORDED_MAX, recordChanges } from '../events/record-changes.js';
import { deleteIfCancelled } from '../orders/cancel-order.js';
import { ExpiredKeys } from '../idempotency/delete-expired-keys.js';
import { deleteOldReference } from '../reference/reference-data.js';
import type { OrderService } from '../orders/order-service.js';
import { EXECUTION } from '../orders/order-statements.js';
import { runOrder } from '../orders/run-order.js';
import { paymentReader } from './read-payment.js';
import { refreshStatistics } from './refresh-statistics.js';
import { ContinuousVerification } from './verify-continuously.js';

export interface WorkSettings {
  /** Carries out the runs of orders. A process that also places orders uses one service for both. */
  readonly orders: OrderService;
  /** Whether payouts go to the sandbox network, which moves no money. Otherwise they wait for a network. */
  readonly sandbox: boolean;
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
  /** How long events and deliveries of webhooks are listed. Default: 30 days. */
  readonly eventsKeptDays?: number | undefined;
  /** What delivers to webhook endpoints. Without it, none is delivered to. */
  readonly webhooks?: OpenWebhooks | undefined;
}

const EXPIRED_KEYS_IDLE_MS = 5 * 60_000;
/** How long an event is late at most while there is little to record. */
const RECORD_IDLE_MS = 150;
const OLD_EVENTS_IDLE_MS = 60 * 60_000;
const VERIFY_NEW_MS = 60_000;
/** The pause between two batches of a backlog: catching up leaves most of the time to other work. */
const VERIFY_BACKLOG_MS = 1_000;
const VERIFY_NEXT_MS = 5_000;
const STATISTICS_MS = 2_000;
const AUDIT_IDLE_MS = 200;
const WAKE_IDLE_MS = 1_000;
const OLD_AUDIT_IDLE_MS = 60 * 60_000;
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

/** The handlers and chores of a worker: due runs, crossings, payouts, events of the network, expired idempotency records, verification, statistics,
 * and events. */
export function workOf(
  { database, books }: OpenBooks,
  {
    orders,
    sandbox,
    crossings,
    chores: more = [],
    onError,
    onPayoutStop,
    auditKeptDays = AUDIT_KEPT_DAYS,
    eventsKeptDays = EVENTS_KEPT_DAYS,
    webhooks,
    cell,
  }: WorkSettings,
): WorkerOptions {
  const run: WorkHandler = {
    async run(claim) {
      await runOrder(orders, claim);
      return 'done';
    },
    noteFailures: (failures) => failures.flatMap(({ claim, isParked }) => (isParked ? deleteIfCancelled(claim) : [])),
  };
  const handlers: WorkerOptions['handlers'] = {
    [EXECUTION]: run,
    ...(crossings && { [CROSSING]: crossingHandler({ books, port: crossings }) }),
  };
  const expiredKeys = new ExpiredKeys(database);
  const deleting: Chore = {
    name: 'expired-keys',
    run: async () => (await expiredKeys.deleteBatch()) + (await deleteOldReference(database)),
    idleMs: EXPIRED_KEYS_IDLE_MS,
  };
  const oldEvents = new OldEvents(database, eventsKeptDays);
  const oldAudit = new OldAuditEvents(database, auditKeptDays);
  const verification = new ContinuousVerification(database, onPayoutStop, cell);
  const chores: readonly Chore[] = [
    { name: 'events', run: () => recordChanges(database), idleMs: RECORD_IDLE_MS, fullBatch: RECORDED_MAX },
    { name: 'old-events', run: () => oldEvents.deleteBatch(), idleMs: OLD_EVENTS_IDLE_MS },
    { name: 'old-deliveries', run: () => deleteOldDeliveries(database, eventsKeptDays), idleMs: OLD_EVENTS_IDLE_MS },
    deleting,
    { name: 'audit', run: () => recordAudit(database), idleMs: AUDIT_IDLE_MS, fullBatch: AUDIT_ROWS_MAX },
    { name: 'old-audit-events', run: () => oldAudit.deleteBatch(), idleMs: OLD_AUDIT_IDLE_MS },
    { name: 'verification', run: paced(() => verification.verifyNew(), VERIFY_NEW_MS), idleMs: VERIFY_BACKLOG_MS },
    { name: 'repeated-verification', run: () => verification.verifyNext(), idleMs: VERIFY_NEXT_MS },
    { name: 'statistics', run: paced(() => analyzeTables(database), STATISTICS_MS), idleMs: STATISTICS_MS },
    ...(webhooks ? [new WebhookDelivery({ database, ...webhooks, composeEvent, onError })] : []),
    ...(crossings?.returns ? [wakingOf(database, () => crossings.returns!())] : []),
    ...more,
  ];
  if (!sandbox) return { database, handlers, chores, onError };
  const rail = new SandboxRail(database);
  const carry = payoutHandler({ books, rail, readPayment: paymentReader(database) });
  return {
    database,
    handlers: { ...handlers, [PAYOUT]: carry },
    chores: [
      { name: 'rail-events', run: () => receiveRailEvents({ books, rail, onError }), fullBatch: EVENTS_MAX },
      ...chores,
    ],
    onError,
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
