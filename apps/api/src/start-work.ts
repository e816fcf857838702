import type { Logger } from 'pino';
import type { Deployment } from '@banking/deployment';
import { type LedgerBankingService, startBankingWorker } from '@banking/operations';

/** Starts the due work of one database in this process. @param cell its name, where there are several */
export function startWork(
  deployment: Deployment,
  { orders }: LedgerBankingService,
  { sandbox, log, cell }: { readonly sandbox: boolean; readonly log: Logger; readonly cell?: string },
): ReturnType<typeof startBankingWorker> {
  return startBankingWorker(deployment, {
    orders,
    sandbox,
    onError: (error, failed) => {
      const { workspaceId, kind, subjectId, tries, chore } = failed ?? {};
      log.warn({ err: error, cell, workspaceId, kind, subjectId, tries, chore }, 'work failed');
    },
    onPayoutStop: ({ stoppedAt, findings, workspaceIds }) =>
      log.error({ stoppedAt, cell, findings, workspaceIds }, 'payouts stopped'),
  });
}
