import { carryOut, hearRail, PAYOUT, SandboxRail, startWorker, type Claim, type Worker, type WorkerOptions, type WorkHandler } from '@banking/payouts'; // prettier-ignore
import type { Deployment } from './open-deployment.js';
import type { OrderDesk } from './orders/order-desk.js';
import { EXECUTION } from './orders/order-rows.js';
import { readPayment } from './read-payment.js';

export interface WorkSettings {
  /** Where the runs of orders are carried out: where this process also places orders, the same desk. */
  readonly orders: OrderDesk;
  /** Whether payouts go to the sandbox's network, which moves no money. Without it they wait for a network. */
  readonly sandbox: boolean;
  /** Told what went wrong, with the work it went wrong with; for the log. */
  readonly onError?: ((error: unknown, claim?: Claim) => void) | undefined;
}

type Kept = Pick<Deployment, 'database' | 'books'>;

/** Starts doing what is due in a deployment. Any number may, in any number of processes. Stop it before the deployment is closed. */
export function startWork(deployment: Kept, settings: WorkSettings): Worker {
  return startWorker(workOf(deployment, settings));
}

/** Who does what: runs that are due, payouts, and hearing what the network says of them. */
export function workOf({ database, books }: Kept, { orders, sandbox, onError }: WorkSettings): WorkerOptions {
  const run: WorkHandler = {
    async run(claim) {
      await orders.run(claim);
      return 'done';
    },
  };
  if (!sandbox) return { database, handlers: { [EXECUTION]: run }, onError };
  const rail = new SandboxRail(database);
  const carry = carryOut({ books, rail, readPayment: (workspaceId, id) => readPayment(database, workspaceId, id) });
  return {
    database,
    handlers: { [EXECUTION]: run, [PAYOUT]: carry },
    chores: [() => hearRail({ books, rail, onError })],
    onError,
  };
}
