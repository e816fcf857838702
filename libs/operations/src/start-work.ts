import {
  carryOut,
  hearRail,
  PAYOUT,
  SandboxRail,
  startWorker,
  type Chore,
  type Worker,
  type WorkerOptions,
  type WorkHandler,
} from '@banking/payouts';
import { deleteIfCancelled } from './cancel-order.js';
import { ExpiredKeys } from './delete-expired-keys.js';
import type { Deployment } from './open-deployment.js';
import type { OrderDesk } from './orders/order-desk.js';
import { EXECUTION } from './orders/order-rows.js';
import { readPayment } from './read-payment.js';

export interface WorkSettings {
  /** Where the runs of orders are carried out: where this process also places orders, the same desk. */
  readonly orders: OrderDesk;
  /** Whether payouts go to the sandbox's network, which moves no money. Without it they wait for a network. */
  readonly sandbox: boolean;
  /** Receives each error with the work or the chore that failed; for the log. */
  readonly onError?: WorkerOptions['onError'];
}

const EXPIRED_KEYS_IDLE_MS = 5 * 60_000;

type Kept = Pick<Deployment, 'database' | 'books'>;

/** Starts doing what is due in a deployment. Any number may, in any number of processes. Stop it before the deployment is closed. */
export function startWork(deployment: Kept, settings: WorkSettings): Worker {
  return startWorker(workOf(deployment, settings));
}

/** Who does what: runs that are due, payouts, receiving the events of the network, and deleting expired idempotency records. */
export function workOf({ database, books }: Kept, { orders, sandbox, onError }: WorkSettings): WorkerOptions {
  const run: WorkHandler = {
    async run(claim) {
      await orders.run(claim);
      return 'done';
    },
    noteFailure: (claim, { isParked }) => (isParked ? deleteIfCancelled(claim) : []),
  };
  const expiredKeys = new ExpiredKeys(database);
  const deleting: Chore = {
    name: 'expired-keys',
    run: () => expiredKeys.deleteBatch(),
    idleMs: EXPIRED_KEYS_IDLE_MS,
  };
  if (!sandbox) return { database, handlers: { [EXECUTION]: run }, chores: [deleting], onError };
  const rail = new SandboxRail(database);
  const carry = carryOut({ books, rail, readPayment: (workspaceId, id) => readPayment(database, workspaceId, id) });
  return {
    database,
    handlers: { [EXECUTION]: run, [PAYOUT]: carry },
    chores: [{ name: 'rail-events', run: () => hearRail({ books, rail, onError }) }, deleting],
    onError,
  };
}
