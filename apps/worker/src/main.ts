import {
  chooseRates,
  type Deployment,
  DeploymentError,
  openDeployment,
  OrderDesk,
  startWork,
} from '@banking/operations';
import { DatabaseSetupError, EmbeddedServerError, MigrationError } from '@banking/postgres';
import { ConfigError, describeError } from '@banking/process';
import { type Config, readConfig } from './config.js';
import { type HealthServer, type HealthSource, serveHealth } from './health-server.js';
import { log } from './log.js';
import { answerArguments } from './usage.js';

const HARD_EXIT_MS = 15_000;
/** A terminal and npm both pass Ctrl-C on: what comes twice within this time was asked once. */
const SAME_SIGNAL_MS = 1_000;

interface Running {
  readonly deployment: Deployment;
  readonly worker: ReturnType<typeof startWork>;
  readonly health: HealthServer | undefined;
}

/** Whether a signal has asked for the end. */
let isStopping = false;

async function main(): Promise<void> {
  const answer = answerArguments(process.argv.slice(2));
  if (answer !== undefined) {
    (answer.isMistake ? process.stderr : process.stdout).write(answer.text);
    process.exitCode = answer.isMistake ? 2 : 0;
    return;
  }
  const started = start(readConfig());
  stopOnSignal(started);
  await started;
}

/** The schema is the service's and `banking migrate`'s to bring up to date: a worker that finds it older does not start. */
async function start({ deployment: settings, rates, health: address }: Config): Promise<Running> {
  const sandbox = settings.isSandbox;
  const deployment = await openDeployment({
    ...settings,
    ownerUrl: undefined,
    demo: false,
    isService: true,
    prepare: false,
    log: (line) => log('info', line),
    warn: (line) => log('warn', line),
  });
  const warn = (line: string) => log('warn', line);
  let readStatus: HealthSource['readStatus'] = () => Promise.reject(new Error('no work is done yet'));
  const source = { isStopping: () => isStopping, readStatus: () => readStatus() };
  const health = address && (await serveHealth(address, source).catch(unserved));
  const worker = startWork(deployment, {
    orders: new OrderDesk(deployment.books, chooseRates({ rates, sandbox }, deployment.database, warn), {
      isSandbox: sandbox,
    }),
    sandbox,
    onError: (error, failed) => {
      const { workspaceId, kind, subjectId, tries, chore } = failed ?? {};
      log('warn', 'work failed', { workspaceId, kind, subjectId, tries, chore, err: describeError(error) });
    },
  });
  readStatus = () => worker.readStatus();
  log('info', 'working', { sandbox, ...(health && { healthPort: health.port }) });
  return { deployment, worker, health };
}

function unserved(error: NodeJS.ErrnoException): never {
  throw new ConfigError([`HEALTH_HOST and HEALTH_PORT cannot be listened on (${error.code}). Choose others.`]);
}

/** Does first what is being done, then leaves. The first signal asks; a second one, or fifteen seconds, insists. */
function stopOnSignal(started: Promise<Running>): void {
  let askedAtMs: number | undefined;
  const stop = async (signal: NodeJS.Signals) => {
    if (askedAtMs !== undefined) {
      if (performance.now() - askedAtMs > SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    askedAtMs = performance.now();
    isStopping = true;
    log('info', `${signal}: stopping`);
    setTimeout(() => process.exit(1), HARD_EXIT_MS).unref();
    const { worker, deployment, health } = await started;
    await worker.stop();
    await health?.close();
    await deployment.close();
    log('info', 'stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      stop(signal).catch(giveUp);
    });
  }
}

/** What an operator can mend. Its sentence says how; a stack would only hide it. */
const MENDABLE = [ConfigError, DatabaseSetupError, DeploymentError, EmbeddedServerError, MigrationError];

function giveUp(error: unknown): never {
  const isMendable = MENDABLE.some((kind) => error instanceof kind);
  console.error(isMendable ? (error as Error).message : error);
  process.exit(error instanceof ConfigError ? 2 : 1);
}

main().catch(giveUp);
