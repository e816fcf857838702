import type { Logger } from 'pino';
import { type Deployment, explainFailure, openDeployment, type VerificationOverCells } from '@banking/deployment';
import {
  type CrossingPort,
  hasWorkspace,
  handOverTo,
  LedgerBankingService,
  LedgerDirectory,
  noteRefusals,
  startBankingWorker,
  type WebhookTerms,
} from '@banking/operations';
import { makeDemoData } from '@banking/operations/demo';
import { API_ROLE, SERVICE_ROLES, WORKER_ROLE } from '@banking/postgres';
import { ConfigError } from '@banking/process';
import { chooseRates } from '@banking/rates';
import { type OpenWebhooks, openWebhooks, refusedUrl, SealError } from '@banking/webhooks';
import { RefusalNotes } from './audit-events/note-refusals.js';
import type { Implementation } from './banking.module.js';
import type { ApiConfig } from './config.js';

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

/** The roles of this process: without due work, and without a sandbox that simulates a network, that of the API alone. */
export function rolesOf({ worker, sandbox }: Pick<ApiConfig, 'worker' | 'sandbox'>): readonly string[] {
  if (worker) return SERVICE_ROLES;
  return sandbox ? [API_ROLE, WORKER_ROLE] : [API_ROLE];
}

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

/**
 * What makes secrets of webhook endpoints, checks their addresses and delivers to them. Undefined for a live deployment without a key.
 *
 * @throws ConfigError if the key of a sandbox cannot be used
 */
export async function openWebhookTerms({
  webhooks,
  sandbox,
  deployment: { dataDir },
}: Pick<ApiConfig, 'webhooks' | 'sandbox' | 'deployment'>): Promise<(WebhookTerms & OpenWebhooks) | undefined> {
  try {
    const opened = await openWebhooks({ ...webhooks, isSandbox: sandbox, dataDir });
    return opened && { ...opened, refusedUrl: (url) => refusedUrl(url, opened.policy) };
  } catch (error) {
    throw error instanceof SealError ? new ConfigError([error.message]) : error;
  }
}

/** Opens our own books in PostgreSQL. With `WORKER=on`, this process also does due work. */
export async function openLedger(config: ApiConfig, log: Logger): Promise<Implementation> {
  const { quotes, openQuotesMax: openMax, sandbox } = config;
  const warn = (line: string) => log.warn(line);
  const deployment = await openDeployment({
    ...config.deployment,
    isService: true,
    roles: rolesOf(config),
    log: (line) => log.info(line),
    warn,
  });
  const { database, books } = deployment;
  let webhookTerms: Awaited<ReturnType<typeof openWebhookTerms>>;
  try {
    webhookTerms = await openWebhookTerms(config);
    const { demo } = config.deployment;
    if (demo && (await makeDemoData({ ...deployment, role: WORKER_ROLE }))) log.info('created the demo data');
  } catch (error) {
    await deployment.close();
    throw explainFailure(error, { url: config.deployment.databaseUrl });
  }
  let work: ReturnType<typeof startWork> | undefined;
  const terms = {
    ...handOverTo(() => work),
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
