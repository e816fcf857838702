import type { Logger } from 'pino';
import type { Deployment } from '@banking/deployment';
import { type CrossingPort, type LedgerBankingService, startBankingWorker } from '@banking/operations';

/** The database whose work is done, where there are several. */
interface CellOfWork {
  readonly cell?: string;
  readonly crossings?: CrossingPort;
}

/** Starts the due work of one database in this process. */
export function startWork(
  deployment: Deployment,
  { orders }: LedgerBankingService,
  { sandbox, log, cell, crossings }: { readonly sandbox: boolean; readonly log: Logger } & CellOfWork,
): ReturnType<typeof startBankingWorker> {
  return startBankingWorker(deployment, {
    orders,
    sandbox,
    crossings,
    onError: (error, failed) => {
      const { workspaceId, kind, subjectId, tries, chore } = failed ?? {};
      log.warn({ err: error, cell, workspaceId, kind, subjectId, tries, chore }, 'work failed');
    },
    onPayoutStop: ({ stoppedAt, findings, workspaceIds }) =>
      log.error({ stoppedAt, cell, findings, workspaceIds }, 'payouts stopped'),
  });
}
