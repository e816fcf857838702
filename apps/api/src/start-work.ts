import type { Logger } from 'pino';
import type { Deployment, VerificationOverCells } from '@banking/deployment';
import { type CrossingPort, type LedgerBankingService, startBankingWorker } from '@banking/operations';
import type { OpenWebhooks } from '@banking/webhooks';

/** The database whose work is done, where there are several. */
interface CellOfWork {
  readonly cell?: string;
  readonly crossings?: CrossingPort;
  /** At home only. */
  readonly chores?: readonly VerificationOverCells[];
}

/** The settings of the work of one database. */
interface WorkOfDatabase extends CellOfWork {
  readonly sandbox: boolean;
  readonly eventsKeptDays: number;
  readonly auditKeptDays: number;
  readonly webhooks: OpenWebhooks | undefined;
  readonly log: Logger;
}

/** Starts the due work of one database in this process. */
export function startWork(
  deployment: Deployment,
  { orders }: LedgerBankingService,
  { sandbox, eventsKeptDays, auditKeptDays, webhooks, log, cell, crossings, chores }: WorkOfDatabase,
): ReturnType<typeof startBankingWorker> {
  return startBankingWorker(deployment, {
    orders,
    sandbox,
    eventsKeptDays,
    crossings,
    chores,
    auditKeptDays,
    webhooks,
    cell,
    onError: (error, failed) => {
      const { workspaceId, kind, subjectId, tries, chore } = failed ?? {};
      log.warn({ err: error, cell, workspaceId, kind, subjectId, tries, chore }, 'work failed');
    },
    onPayoutStop: ({ stoppedAt, findings, workspaceIds }) =>
      log.error({ stoppedAt, cell, findings, workspaceIds }, 'payouts stopped'),
  });
}
