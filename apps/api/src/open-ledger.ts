import type { Logger } from 'pino';
import { chooseRates } from '@banking/rates';
import { LedgerBankingService, LedgerDirectory, startBankingWorker } from '@banking/operations';
import { makeDemoData } from '@banking/demo';
import { explainFailure, openDeployment } from '@banking/deployment';
import type { Implementation } from './banking.module.js';
import type { ApiConfig } from './config.js';

/** Opens our own books in PostgreSQL. With `WORKER=on`, this process also does due work. */
export async function openLedger(config: ApiConfig, log: Logger): Promise<Implementation> {
  const { quotes, openQuotesMax: openMax, sandbox } = config;
  const warn = (line: string) => log.warn(line);
  const deployment = await openDeployment({
    ...config.deployment,
    isService: true,
    log: (line) => log.info(line),
    warn,
  });
  const { database, books } = deployment;
  try {
    if (config.deployment.demo) await makeDemoData(deployment);
  } catch (error) {
    await deployment.close();
    throw explainFailure(error, config.deployment.databaseUrl);
  }
  const terms = {
    validS: quotes.validS,
    openMax,
    rates: chooseRates({ rates: quotes.rates, sandbox }, database, warn),
  };
  const banking = new LedgerBankingService(database, books, terms, sandbox);
  let work: ReturnType<typeof startBankingWorker> | undefined;
  return {
    banking,
    database,
    directory: new LedgerDirectory(database, { bindsByEmail: config.bindsByEmail }),
    readiness: { check: () => database.ping(), work: async () => work?.readStatus() },
    refusals: [],
    async onListening() {
      if (!config.worker) return;
      work = startBankingWorker(deployment, {
        orders: banking.orders,
        sandbox,
        onError: (error, failed) => {
          const { workspaceId, kind, subjectId, tries, chore } = failed ?? {};
          log.warn({ err: error, workspaceId, kind, subjectId, tries, chore }, 'work failed');
        },
        onPayoutStop: ({ stoppedAt, findings, workspaceIds }) =>
          log.error({ stoppedAt, findings, workspaceIds }, 'payouts stopped'),
      });
    },
    async close() {
      await work?.stop();
      await deployment.close();
    },
  };
}
