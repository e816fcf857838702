import { carryOut, hearRail, PAYOUT, SandboxRail, startWorker, type Claim, type Worker } from '@banking/payouts';
import type { Deployment } from './open-deployment.js';
import { readPayment } from './read-payment.js';

export interface WorkSettings {
  /** Whether payouts go to the sandbox's network, which moves no money. Without it they wait for a network. */
  readonly sandbox: boolean;
  /** Told what went wrong, with the work it went wrong with; for the log. */
  readonly onError?: ((error: unknown, claim?: Claim) => void) | undefined;
}

/** Starts doing what is due in a deployment. Any number may, in any number of processes. Stop it before the deployment is closed. */
export function startWork(
  { database, books }: Pick<Deployment, 'database' | 'books'>,
  { sandbox, onError }: WorkSettings,
): Worker {
  if (!sandbox) return startWorker({ database, handlers: {}, onError });
  const rail = new SandboxRail(database);
  return startWorker({
    database,
    handlers: {
      [PAYOUT]: carryOut({ books, rail, readPayment: (workspaceId, id) => readPayment(database, workspaceId, id) }),
    },
    chores: [() => hearRail({ books, rail, onError })],
    onError,
  });
}
