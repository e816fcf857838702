import type { Logger } from 'pino';
import { chooseRates, LedgerBankingService, LedgerDirectory, openDeployment, startWork } from '@banking/operations';
import type { Backing } from './backing.module.js';
import type { Config } from './config.js';

/** Our own books in PostgreSQL. What is due is done by this process too, as long as nobody runs a worker of its own. */
export async function openBooks(config: Config, log: Logger): Promise<Backing> {
  const { quotes, openQuotesMax: openMax, sandbox } = config;
  const warn = (line: string) => log.warn(line);
  const deployment = await openDeployment({
    ...config.deployment,
    isService: true,
    log: (line) => log.info(line),
    warn,
  });
  const { database, books } = deployment;
  const terms = {
    validS: quotes.validS,
    openMax,
    rates: chooseRates({ rates: quotes.rates, sandbox }, database, warn),
  };
  const banking = new LedgerBankingService(database, books, terms, sandbox);
  let work: ReturnType<typeof startWork> | undefined;
  return {
    banking,
    directory: new LedgerDirectory(database, { bindsByEmail: config.bindsByEmail }),
    readiness: { check: () => database.ping(), work: async () => work?.readStatus() },
    refusals: [],
    async begin() {
      if (!config.worker) return;
      work = startWork(deployment, {
        orders: banking.orders,
        sandbox,
        onError: (error, failed) => {
          const { workspaceId, kind, subjectId, tries, chore } = failed ?? {};
          log.warn({ err: error, workspaceId, kind, subjectId, tries, chore }, 'work failed');
        },
      });
    },
    async close() {
      await work?.stop();
      await deployment.close();
    },
  };
}
