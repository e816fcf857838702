import {
  accountCodes,
  type CellPlace,
  Cells,
  type Deployment,
  type DeploymentSettings,
  sumOfWork,
  CopiesComparison,
  VerificationOverCells,
} from '@banking/deployment';
import {
  demandDecisions,
  handOverTo,
  LedgerBankingService,
  type PayoutStop,
  readPayoutStop,
  startBankingWorker,
} from '@banking/operations';
import { type Database, VERIFIER_ROLE, WORKER_ROLE } from '@banking/postgres';
import {
  type CellConfig,
  ConfigError,
  type createLogger,
  type DecisionsConfig,
  type DeploymentConfig,
  type RatesConfig,
  type WebhooksConfig,
} from '@banking/process';
import { type Rails, readRails } from '@banking/rails';
import { chooseRates } from '@banking/reference';
import type { MeasuredProcess } from '@banking/telemetry/metrics';
import { HttpDecisionHook, type OpenWebhooks, openWebhooks, refusedUrl, SealError } from '@banking/webhooks';

type Logger = ReturnType<typeof createLogger>;
type Worker = ReturnType<typeof startBankingWorker>;
type WorkStatus = Awaited<ReturnType<Worker['readStatus']>>;

/** The worker of a deployment: a loop for each of its databases. */
export interface Workers {
  /** The only database, or home. */
  readonly database: Database;
  /** The databases of all cells, home first, for metrics. Undefined without cells. */
  readonly cells?: MeasuredProcess['cells'];
  start(): void;
  /** Rejects before the start, and if no database answers. Of several databases it has the sum, and the status of each. */
  readStatus(): Promise<WorkStatus>;
  /** The first open stop of payouts of any database. */
  readPayoutStop(): Promise<CellStop | undefined>;
  stop(): Promise<void>;
}

/** A stop of payouts, with the name of its database where there are several. */
export interface CellStop extends PayoutStop {
  readonly cell?: string;
}

export interface WorkersSettings {
  readonly deployment: DeploymentConfig;
  readonly rates: RatesConfig | undefined;
  readonly auditKeptDays: number;
  readonly webhooks: WebhooksConfig;
  readonly decisions?: DecisionsConfig | undefined;
  readonly log: Logger;
  /** Ends the start. */
  readonly signal?: AbortSignal;
}

/** Opens the databases. One that is away, where there are several, stops its own loop only. */
export async function openWorkers({
  deployment: config,
  rates,
  auditKeptDays,
  webhooks: webhooksConfig,
  decisions,
  log,
  signal,
}: WorkersSettings): Promise<Workers> {
  const webhooks = await openWebhooks({ ...webhooksConfig, ...config }).catch(explainKey);
  const warn = (line: string) => log.warn(line);
  const settings = {
    ...config,
    ownerUrl: undefined,
    // A worker reads no lists.
    replicaUrl: undefined,
    isService: true,
    roles: [WORKER_ROLE, VERIFIER_ROLE],
    prepare: false,
    signal,
    log: (line: string) => log.info(line),
    warn,
  };
  const { cells: named, rereadCells } = config;
  const rails = readRails(config, 'payouts');
  if (named) rails.refuseSeveralDatabases();
  const decisionHook = decisions && new HttpDecisionHook(decisions);
  const work = { rates, rails, config, auditKeptDays, webhooks, decisionHook, log };
  return openLoops(
    {
      ...settings,
      cells: named && withoutOwners(named),
      rereadCells: rereadCells && (() => withoutOwners(rereadCells())),
    },
    (deployment, place, chores) => startOne(deployment, place, chores, work),
    decisionHook && (({ database }) => demandDecisions(database)),
  );
}

const withoutOwners = (cells: readonly CellConfig[]) => cells.map((cell) => ({ ...cell, ownerUrl: undefined }));

function explainKey(error: unknown): never {
  throw error instanceof SealError ? new ConfigError([error.message]) : error;
}

/** The status of a database that is away. */
const UNAVAILABLE = { status: 'unavailable' };

interface WorkOfDatabase {
  readonly rates: RatesConfig | undefined;
  readonly rails: Rails;
  readonly config: DeploymentConfig;
  readonly auditKeptDays: number;
  readonly webhooks: OpenWebhooks | undefined;
  readonly decisionHook: HttpDecisionHook | undefined;
  readonly log: Logger;
}

/** Of home, over all databases. */
type CellsChore = VerificationOverCells | CopiesComparison;

/** @param chores of the loop of home, where there are several databases */
type Start = (deployment: Deployment, place: CellPlace | undefined, chores: readonly CellsChore[]) => Worker;

async function openLoops(
  settings: DeploymentSettings,
  start: Start,
  prepare: (deployment: Deployment) => Promise<void> = async () => undefined,
): Promise<Workers> {
  let isStarted = false;
  const databases = () => cells.all().map(({ number, name, use }) => ({ number, name, database: use?.database }));
  const copies = new CopiesComparison(databases, settings.warn);
  const ofHome = [new VerificationOverCells(databases), copies];
  const cells = await Cells.open(settings, async (deployment, place) => {
    await prepare(deployment);
    const chores = place?.number === 0 ? ofHome : [];
    let worker: Worker | undefined;
    const use = {
      database: deployment.database,
      start: () => void (worker ??= start(deployment, place, chores)),
      readStatus: () => statusOf(worker),
      stop: async () => worker?.stop(),
    };
    if (isStarted) use.start();
    return use;
  });
  const open = () => cells.all().flatMap(({ use }) => use ?? []);
  return {
    database: cells.home.database,
    cells: cells.isAlone
      ? undefined
      : () =>
          cells.all().map(({ name, use }) => ({
            cell: name,
            database: use?.database,
            isCopyLost: copies.isLost(name),
            unserved: copies.unservedIn(name),
          })),
    start() {
      isStarted = true;
      for (const use of open()) use.start();
    },
    async readStatus() {
      const sum = await sumOfWork(open().map((use) => () => use.readStatus()));
      if (cells.isAlone) return sum;
      const all = cells.all();
      const results = await Promise.allSettled(all.map(async ({ use }) => use?.readStatus()));
      const statuses = results.map((result) => (result.status === 'fulfilled' && result.value) || UNAVAILABLE);
      return { ...sum, cells: Object.fromEntries(all.map(({ name }, index) => [name, statuses[index]])) };
    },
    async readPayoutStop() {
      if (cells.isAlone) return readPayoutStop(cells.home.database);
      const stops = await Promise.allSettled(
        cells.all().map(async ({ name: cell, use }): Promise<CellStop | undefined> => {
          const stop = use && (await readPayoutStop(use.database));
          return stop && { ...stop, cell };
        }),
      );
      return stops.flatMap((result) => (result.status === 'fulfilled' && result.value ? [result.value] : []))[0];
    },
    stop: () => cells.close(),
  };
}

function statusOf(worker: Worker | undefined): ReturnType<Worker['readStatus']> {
  return worker?.readStatus() ?? Promise.reject(new Error('the worker has not started'));
}

function startOne(
  deployment: Deployment,
  place: CellPlace | undefined,
  chores: readonly CellsChore[],
  {
    rates,
    rails,
    config: { isSandbox, eventsKeptDays, personalData },
    auditKeptDays,
    webhooks,
    decisionHook,
    log,
  }: WorkOfDatabase,
): Worker {
  const cell = place?.name;
  const source = chooseRates({ rates, sandbox: isSandbox }, deployment.database, (line) => log.warn(line));
  const { database, books } = deployment;
  const terms = { rates: source, rails, bankAccounts: rails.bankAccounts, ...handOverTo(() => worker) };
  const codes = place && accountCodes(place.home, place.others);
  const secrets = webhooks && { ...webhooks, refusedUrl: (url: string) => refusedUrl(url, webhooks.policy) };
  const home = place !== undefined && place.number !== 0 ? place.home : undefined;
  const banking = new LedgerBankingService(database, books, terms, isSandbox, codes, secrets, home);
  const worker: Worker = startBankingWorker(deployment, {
    orders: banking.orders,
    approvals: banking,
    rails: (database) => rails.open(database),
    bankAccounts: rails.bankAccounts,
    eventsKeptDays,
    personalData,
    crossings: place?.others,
    chores,
    auditKeptDays,
    webhooks,
    decisionHook,
    cell,
    onError: (error, failed) => {
      const { workspaceId, kind, subjectId, tries, chore } = failed ?? {};
      log.warn({ cell, workspaceId, kind, subjectId, tries, chore, err: error }, 'work failed');
    },
    onPayoutStop: ({ stoppedAt, findings, workspaceIds }) =>
      log.error({ cell, stoppedAt, findings, workspaceIds }, 'payouts stopped'),
  });
  return worker;
}
