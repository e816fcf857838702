import type { Logger } from 'pino';
import { chooseRates } from '@banking/rates';
import { handOverTo, LedgerBankingService, hasWorkspace, LedgerDirectory, noteRefusals } from '@banking/operations';
import { type DemoCells, makeDemoData } from '@banking/operations/demo';
import {
  callCell,
  accountCodes,
  Cells,
  CellsBankingService,
  CellsDirectory,
  type Deployment,
  ensureEmbeddedCells,
  explainFailure,
  HomeOrCopies,
  type OtherCells,
  type Places,
  reserveKnownCode,
  sumOfWork,
  untilOpen,
  VerificationOverCells,
} from '@banking/deployment';
import { type Database, WORKER_ROLE } from '@banking/postgres';
import type { CellConfig } from '@banking/process';
import { RefusalNotes } from './audit-events/note-refusals.js';
import { started } from './http/text-stream.js';
import type { Implementation } from './banking.module.js';
import type { ApiConfig } from './config.js';
import { openWebhookTerms, rolesOf, startWork } from './open-ledger.js';

/** The implementation of the port on one database of several. */
interface CellService {
  readonly database: Database;
  readonly books: Deployment['books'];
  readonly banking: LedgerBankingService;
  readonly directory: LedgerDirectory;
  startWork(): void;
  /** Undefined before the due work is started. */
  work(): ReturnType<typeof startWork> | undefined;
  stop(): Promise<void>;
}

/** Opens our own books in several PostgreSQL databases. With `WORKER=on`, this process also does the due work of each. */
export async function openCells(
  config: ApiConfig,
  further: readonly CellConfig[],
  log: Logger,
): Promise<Implementation> {
  const warn = (line: string) => log.warn(line);
  const settings = {
    ...config.deployment,
    cells: further,
    isService: true,
    roles: rolesOf(config),
    log: (line: string) => log.info(line),
    warn,
  };
  const leave = await ensureEmbeddedCells(settings);
  let isWorking = false;
  let cells: Cells<CellService>;
  const verification = new VerificationOverCells(() =>
    cells.all().map(({ number, name, use }) => ({ number, name, database: use?.database })),
  );
  try {
    const webhookTerms = await openWebhookTerms(config);
    cells = await Cells.open<CellService>(settings, (deployment, { number, name }, home, others) => {
      const chores = number === 0 ? [verification] : [];
      const service = cellService(deployment, name, { home, others, chores, webhookTerms }, config, log);
      if (isWorking) service.startWork();
      return service;
    });
  } finally {
    await leave();
  }
  const { home } = cells;
  const open = () => cells.all().flatMap(({ use }) => use ?? []);
  const copies = () => open().filter(({ database }) => database !== home.database);
  const { places } = cells;
  try {
    const { demo } = config.deployment;
    const isMade =
      demo && (await makeDemoData({ ...home, role: WORKER_ROLE, cells: demoCells(cells, places, further) }));
    if (isMade) log.info('created the demo data');
  } catch (error) {
    await cells.close();
    throw explainFailure(error, { url: config.deployment.databaseUrl });
  }
  const notes = new RefusalNotes(
    {
      exists: (id) => callCell(places, id, (number) => hasWorkspace(cells.get(number).database, id)),
      write: (id, refused) => callCell(places, id, (number) => noteRefusals(cells.get(number).database, id, refused)),
    },
    (context, message) => log.warn(context, message),
  );
  const atHome = cells.get(0);
  const atHomeOrCopies = new HomeOrCopies(atHome.banking, () => copies().map(({ banking }) => banking));
  return {
    banking: new CellsBankingService(atHomeOrCopies, (number) => cells.get(number).banking, places),
    appUsers: {
      async *appUserTexts(scope, query) {
        yield* await atHomeOrCopies.read((banking) => started(banking.appUserTexts(scope, query)));
      },
    },
    database: home.database,
    cells: () => cells.all().map(({ name, use }) => ({ cell: name, database: use?.database })),
    directory: new CellsDirectory(new HomeOrCopies(atHome.directory, () => copies().map(({ directory }) => directory))),
    readiness: { check: () => anyAnswers(open()), work: async () => readWork(open()) },
    refusals: [],
    watch: notes.watch,
    async onListening() {
      notes.start();
      isWorking = config.worker;
      if (isWorking) for (const service of open()) service.startWork();
    },
    close: () => notes.stop().finally(() => cells.close()),
  };
}

interface CellContext {
  readonly home: Database;
  readonly others: OtherCells;
  /** Of the due work of home. */
  readonly chores: readonly VerificationOverCells[];
  readonly webhookTerms: Awaited<ReturnType<typeof openWebhookTerms>>;
}

function cellService(
  deployment: Deployment,
  cell: string,
  { home, others, chores, webhookTerms }: CellContext,
  config: ApiConfig,
  log: Logger,
): CellService {
  const { quotes, openQuotesMax: openMax, sandbox, auditKeptDays } = config;
  const { eventsKeptDays } = config.deployment;
  const { database, books } = deployment;
  const rates = chooseRates({ rates: quotes.rates, sandbox }, database, (line) => log.warn(line));
  let work: ReturnType<typeof startWork> | undefined;
  const banking = new LedgerBankingService(
    database,
    books,
    { validS: quotes.validS, openMax, rates, hasPayoutNetwork: sandbox, ...handOverTo(() => work) },
    sandbox,
    accountCodes(home, others),
    webhookTerms,
  );
  return {
    database,
    books,
    banking,
    // Only home can bind a subject; the others have copies.
    directory: new LedgerDirectory(database, { bindsByEmail: database === home && config.bindsByEmail }),
    startWork: () =>
      (work ??= startWork(deployment, banking, {
        ...{ sandbox, eventsKeptDays, auditKeptDays, log, cell, crossings: others, chores, webhooks: webhookTerms },
      })),
    work: () => work,
    stop: async () => work?.stop(),
  };
}

function demoCells(cells: Cells<CellService>, places: Places, further: readonly CellConfig[]): DemoCells {
  return {
    names: further.map(({ name }) => name),
    async booksOf(workspaceId) {
      const { database, books } = cells.get(await places.cellOf(workspaceId));
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
