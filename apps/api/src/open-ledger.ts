import type { Logger } from 'pino';
import {
  accountCodes,
  Cells,
  CellsBankingService,
  CellsDirectory,
  CopiesComparison,
  type CellPlace,
  type Deployment,
  ensureEmbeddedCells,
  explainFailure,
  HomeOrCopies,
  reserveKnownCode,
  sumOfWork,
  untilOpen,
  VerificationOverCells,
} from '@banking/deployment';
import {
  demandDecisions,
  handOverTo,
  hasWorkspace,
  LedgerBankingService,
  LedgerDirectory,
  noteRefusals,
  startBankingWorker,
  type WebhookTerms,
} from '@banking/operations';
import { type DemoCells, makeDemoData } from '@banking/operations/demo';
import { API_ROLE, type Database, SERVICE_ROLES, WORKER_ROLE } from '@banking/postgres';
import { type CellConfig, ConfigError, FairSlots, type InTurn } from '@banking/process';
import { type Rails, readRails } from '@banking/rails';
import { chooseRates } from '@banking/reference';
import { HttpDecisionHook, type OpenWebhooks, openWebhooks, refusedUrl, SealError } from '@banking/webhooks';
import { RefusalNotes } from './audit-events/note-refusals.js';
import type { Implementation } from './banking.module.js';
import type { ApiConfig } from './config.js';
import { DirectoryTurns } from './http/directory-changes.js';
import { FairQueue } from './http/fair-queue.js';
import { WAITS_FOR_LOCKS } from './http/limits.js';
import { NOTE_REFUSAL } from './http/refusal.filter.js';
import { started } from './http/text-stream.js';

/** The implementation of the port on one database. */
interface CellService {
  readonly database: Database;
  readonly books: Deployment['books'];
  readonly banking: LedgerBankingService;
  readonly directory: LedgerDirectory;
  startWork(): void;
  /** Undefined before the due work is started. */
  work(): ReturnType<typeof startBankingWorker> | undefined;
  stop(): Promise<void>;
}

/** Opens our own books in one PostgreSQL database or several. With `WORKER=on`, this process also does the due work of each. */
export async function openLedger(config: ApiConfig, log: Logger, signal?: AbortSignal): Promise<Implementation> {
  const rails = readRails(config.deployment, config.worker ? 'payouts' : 'payees');
  const warn = (line: string) => log.warn(line);
  const { cells: further, demo, databaseUrl } = config.deployment;
  if (further) rails.refuseSeveralDatabases();
  const settings = {
    ...config.deployment,
    isService: true,
    roles: rolesOf(config),
    signal,
    log: (line: string) => log.info(line),
    warn,
  };
  const { decisions } = config;
  const decisionHook = decisions && new HttpDecisionHook(decisions);
  const directoryTurns = new DirectoryTurns();
  const inTurn = turnsOfLocks();
  let isWorking = false;
  let cells: Cells<CellService>;
  let webhookTerms: ReturnType<typeof openWebhookTerms> | undefined;
  const databases = () => cells.all().map(({ number, name, use }) => ({ number, name, database: use?.database }));
  const copies = new CopiesComparison(databases, warn);
  const ofHome = [new VerificationOverCells(databases), copies];
  const leave = further && (await ensureEmbeddedCells({ ...settings, cells: further }));
  try {
    cells = await Cells.open<CellService>(settings, async (deployment, place) => {
      // The folder of an embedded database is there now.
      const webhooks = await (webhookTerms ??= openWebhookTerms(config));
      const chores = place?.number === 0 ? ofHome : [];
      if (decisions) await demandDecisions(deployment.database);
      const service = cellService(
        deployment,
        { place, chores, webhooks, rails, decisionHook, directoryTurns, inTurn },
        config,
        log,
      );
      if (isWorking) service.startWork();
      return service;
    });
  } finally {
    await leave?.();
  }
  const { home } = cells;
  const open = () => cells.all().flatMap(({ use }) => use ?? []);
  try {
    const made = demo && { ...home, role: WORKER_ROLE, signal, cells: further && demoCells(cells, further) };
    if (made && (await makeDemoData(made))) log.info('created the demo data');
  } catch (error) {
    await cells.close();
    throw explainFailure(error, { url: databaseUrl });
  }
  const notes = new RefusalNotes(
    {
      exists: (id) => cells.inCellOf(id, ({ database }) => hasWorkspace(database, id)),
      write: (id, refused) => cells.inCellOf(id, ({ database }) => noteRefusals(database, id, refused)),
    },
    (context, message) => log.warn(context, message),
  );
  const homeOrCopies = () => new HomeOrCopies(cells.get(0), () => open().slice(1));
  const atHomeOrCopies = homeOrCopies();
  return {
    banking: new CellsBankingService(atHomeOrCopies, cells),
    appUsers: {
      async *appUserTexts(scope, query) {
        yield* await atHomeOrCopies.read(({ banking }) => started(banking.appUserTexts(scope, query)));
      },
    },
    database: home.database,
    cells:
      further &&
      (() =>
        cells.all().map(({ name, use }) => ({
          cell: name,
          database: use?.database,
          isCopyLost: copies.isLost(name),
          unserved: copies.unservedIn(name),
        }))),
    // By itself: an operation that home answers from memory says nothing about the copies of rights.
    directory: new CellsDirectory(homeOrCopies(), () => cells.all().map(({ use }) => use)),
    readiness: { check: () => anyAnswers(open()), work: () => readWork(open()) },
    directoryTurns,
    refusals: [],
    providers: [{ provide: NOTE_REFUSAL, useValue: notes.note }],
    async onListening() {
      notes.start();
      isWorking = config.worker;
      if (isWorking) for (const service of open()) service.startWork();
    },
    close: () => notes.stop().finally(() => cells.close()),
  };
}

/** Lets few requests at a time take a connection to wait for a lock: otherwise those for one lock could take all connections. */
function turnsOfLocks(): InTurn {
  const { running, waiting, waitMaxMs } = WAITS_FOR_LOCKS;
  const queue = new FairQueue<string>({
    running: new FairSlots(Infinity, running),
    waiting: new FairSlots(waiting),
    waitMaxMs,
    waitsFor: 'the requests before it',
    ofOneKey: 'such requests',
  });
  return (lock, work) => queue.run({ key: lock }, work);
}

/** The roles of this process: without due work, and without a sandbox that simulates a network, that of the API alone. */
function rolesOf({ worker, sandbox }: Pick<ApiConfig, 'worker' | 'sandbox'>): readonly string[] {
  if (worker) return SERVICE_ROLES;
  return sandbox ? [API_ROLE, WORKER_ROLE] : [API_ROLE];
}

/**
 * What makes secrets of webhook endpoints, checks their addresses and delivers to them. Undefined for a live deployment without a key.
 *
 * @throws ConfigError if the key of a sandbox cannot be used
 */
async function openWebhookTerms({
  webhooks,
  sandbox,
  deployment: { dataDir },
}: ApiConfig): Promise<(WebhookTerms & OpenWebhooks) | undefined> {
  try {
    const opened = await openWebhooks({ ...webhooks, isSandbox: sandbox, dataDir });
    return opened && { ...opened, refusedUrl: (url) => refusedUrl(url, opened.policy) };
  } catch (error) {
    throw error instanceof SealError ? new ConfigError([error.message]) : error;
  }
}

interface CellContext {
  readonly place: CellPlace | undefined;
  /** Of the due work of home. */
  readonly chores: readonly (VerificationOverCells | CopiesComparison)[];
  readonly webhooks: Awaited<ReturnType<typeof openWebhookTerms>>;
  readonly rails: Rails;
  readonly decisionHook: HttpDecisionHook | undefined;
  readonly directoryTurns: DirectoryTurns;
  readonly inTurn: InTurn;
}

function cellService(
  deployment: Deployment,
  { place, chores, webhooks, rails, decisionHook, directoryTurns, inTurn }: CellContext,
  config: ApiConfig,
  log: Logger,
): CellService {
  const { quotes, openQuotesMax: openMax, sandbox, auditKeptDays } = config;
  const { eventsKeptDays, personalData } = config.deployment;
  const { database, books } = deployment;
  const cell = place?.name;
  const rates = chooseRates({ rates: quotes.rates, sandbox }, database, (line) => log.warn(line));
  let work: ReturnType<typeof startBankingWorker> | undefined;
  const isHome = place === undefined || place.number === 0;
  const banking = new LedgerBankingService(
    database,
    books,
    {
      ...{ validS: quotes.validS, openMax, rates, rails, bankAccounts: rails.bankAccounts },
      ...{ verifyPayee: rails.payeeVerifier(database), inTurn, ...handOverTo(() => work) },
    },
    sandbox,
    place && accountCodes(place.home, place.others),
    webhooks,
    isHome ? undefined : place.home,
  );
  return {
    database,
    books,
    banking,
    // Only home can bind a subject; the others have copies. An issuer that may not bind has no e-mail in its subjects.
    directory: new LedgerDirectory(database, { bindsByEmail: isHome, inTurn: (change) => directoryTurns.join(change) }),
    startWork: () =>
      (work ??= startBankingWorker(deployment, {
        orders: banking.orders,
        approvals: banking,
        crossings: place?.others,
        rails: (worker) => rails.open(worker),
        bankAccounts: rails.bankAccounts,
        ...{ eventsKeptDays, personalData, auditKeptDays, cell, chores, webhooks, decisionHook },
        onError: (error, failed) => {
          const { workspaceId, kind, subjectId, tries, chore } = failed ?? {};
          log.warn({ err: error, cell, workspaceId, kind, subjectId, tries, chore }, 'work failed');
        },
        onPayoutStop: ({ stoppedAt, findings, workspaceIds }) =>
          log.error({ stoppedAt, cell, findings, workspaceIds }, 'payouts stopped'),
      })),
    work: () => work,
    stop: async () => work?.stop(),
  };
}

function demoCells(cells: Cells<CellService>, further: readonly CellConfig[]): DemoCells {
  return {
    names: further.map(({ name }) => name),
    async booksOf(workspaceId) {
      const { database, books } = cells.get(await cells.places.cellOf(workspaceId));
      await untilOpen(database, workspaceId);
      return books;
    },
    reserveCode: (workspaceId, code) => reserveKnownCode(cells.home.database, workspaceId, code),
  };
}

/** @throws Refusal `unavailable` if no database answers: while one does, its workspaces are served */
async function anyAnswers(services: readonly CellService[]): Promise<void> {
  try {
    await Promise.any(services.map(async ({ database }) => database.ping()));
  } catch (error) {
    throw error instanceof AggregateError ? (error.errors[0] as Error) : error;
  }
}

async function readWork(services: readonly CellService[]) {
  const workers = services.flatMap((service) => service.work() ?? []);
  return workers.length === 0 ? undefined : sumOfWork(workers.map((worker) => () => worker.readStatus()));
}
