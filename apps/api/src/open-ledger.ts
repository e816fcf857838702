import type { Logger } from 'pino';
import { chooseRates } from '@banking/rates';
import { LedgerBankingService, hasWorkspace, LedgerDirectory, noteRefusals } from '@banking/operations';
import { makeDemoData } from '@banking/operations/demo';
import { explainFailure, openDeployment } from '@banking/deployment';
import { RefusalNotes } from './audit-events/note-refusals.js';
import type { Implementation } from './banking.module.js';
import type { ApiConfig } from './config.js';
import { openWebhookTerms } from './open-webhook-terms.js';
import { startWork } from './start-work.js';

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
  let webhookTerms: Awaited<ReturnType<typeof openWebhookTerms>>;
  try {
    webhookTerms = await openWebhookTerms(config);
    if (config.deployment.demo && (await makeDemoData(deployment))) log.info('created the demo data');
  } catch (error) {
    await deployment.close();
    throw explainFailure(error, { url: config.deployment.databaseUrl });
  }
  const terms = {
    validS: quotes.validS,
    openMax,
    hasPayoutNetwork: sandbox,
    rates: chooseRates({ rates: quotes.rates, sandbox }, database, warn),
  };
  const banking = new LedgerBankingService(database, books, terms, sandbox, undefined, webhookTerms);
  const notes = new RefusalNotes(
    {
      exists: (workspaceId) => hasWorkspace(database, workspaceId),
      write: (workspaceId, refused) => noteRefusals(database, workspaceId, refused),
    },
    (context, message) => log.warn(context, message),
  );
  let work: ReturnType<typeof startWork> | undefined;
  return {
    banking,
    database,
    appUsers: banking,
    directory: new LedgerDirectory(database, { bindsByEmail: config.bindsByEmail }),
    readiness: { check: () => database.ping(), work: async () => work?.readStatus() },
    refusals: [],
    watch: notes.watch,
    async onListening() {
      notes.start();
      if (!config.worker) return;
      const { eventsKeptDays } = config.deployment;
      const { auditKeptDays } = config;
      const webhooks = webhookTerms;
      work = startWork(deployment, banking, { sandbox, eventsKeptDays, auditKeptDays, webhooks, log });
    },
    async close() {
      await notes.stop();
      await work?.stop();
      await deployment.close();
    },
  };
}
