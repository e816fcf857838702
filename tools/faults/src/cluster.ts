import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalIssuer } from '@banking/local-issuer';
import { type BankingCommand, type BooksProof, startBanking } from './banking-command.js';
import type { Endpoint } from './call.js';
import { CellServers, FURTHER_CELLS } from './cells/cell-servers.js';
import { DatabaseProxy } from './database-proxy.js';
import { DatabaseServer } from './database-server.js';
import { ProcessClock } from './process-clock.js';
import { Replica } from './replica.js';
import { SmallDisk } from './small-disk.js';
import { type App, freePort, ServiceProcess } from './service-process.js';

const APPS: readonly App[] = ['api', 'api', 'worker', 'worker'];
/** A setting of PostgreSQL that holds the name of a process. */
export const PROCESS_SETTING = 'faults.process';
const CALLER = 'ada@northwind.example';

/** A process and the proxy between it and PostgreSQL. */
export interface Member {
  readonly process: ServiceProcess;
  readonly proxy: DatabaseProxy;
  /** Used if `hasClocks`. */
  readonly clock: ProcessClock;
}

/** What differs from other clusters. */
export interface ClusterOptions {
  /** Of every process. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether each process has a wall clock of its own. PostgreSQL has the real time. */
  readonly hasClocks?: boolean;
  /** Whether the data of PostgreSQL is on a disk that can become full. */
  readonly hasDisk?: boolean;
  /** Whether the api processes read lists on a streaming replica. */
  readonly hasReplica?: boolean;
  /** Whether there are three databases: home, b and c. */
  readonly hasCells?: boolean;
}

/** One PostgreSQL server, two api processes without due work, and two workers, each behind a proxy of its own. */
export class Cluster {
  private constructor(
    readonly folder: string,
    readonly database: DatabaseServer,
    readonly apis: readonly Member[],
    readonly workers: readonly Member[],
    /** Without faults, for the command line. */
    private readonly healthy: DatabaseProxy,
    readonly token: string,
    /** Used if `hasDisk`. */
    readonly disk: SmallDisk | undefined,
    /** Used if `hasReplica`. */
    readonly replica: Replica | undefined,
    /** Used if `hasCells`. `database` is home. */
    private readonly cellServers: CellServers | undefined,
    private readonly commandEnvironment: Readonly<Record<string, string>>,
  ) {}

  /** Makes a database with demo data in the folder, and starts all processes on it. */
  static async start(
    folder: string,
    onProgress: (line: string) => void,
    options: ClusterOptions = {},
  ): Promise<Cluster> {
    const dataDir = join(folder, 'data');
    await mkdir(dataDir, { recursive: true });
    const disk = options.hasDisk === true ? SmallDisk.mount(dataDir) : undefined;
    onProgress('starting PostgreSQL, two api processes and two workers');
    const database = await DatabaseServer.start(dataDir, () => undefined, options.hasCells === true);
    const cells = options.hasCells === true ? await CellServers.start(folder, database) : undefined;
    const replica = options.hasReplica === true ? await Replica.start(database) : undefined;
    const members: (Member & { readonly app: App })[] = [];
    const healthy = await DatabaseProxy.start(database.socket);
    const ofCommands = (await cells?.connect('cli', healthy))?.environment ?? {};
    for (const [index, app] of APPS.entries()) {
      const proxy = await DatabaseProxy.start(database.socket);
      const name = `${app}-${index % 2}`;
      const clock = new ProcessClock(join(folder, `${name}.clock`));
      const environment = {
        ...environmentOf(database, proxy, dataDir, name),
        ...(await cells?.connect(name, proxy))?.environment,
        CONNECTIONS_PER_ADDRESS: '1000',
        ...(app === 'api' && replica && { DATABASE_REPLICA_URL: urlOf(database, replica) }),
        ...options.environment,
        ...(options.hasClocks === true && clock.environment),
      };
      const logFile = join(folder, `${name}.log`);
      const process = new ServiceProcess({ app, name, port: await freePort(), logFile, environment });
      members.push({ app, process, proxy, clock });
    }
    const of = (wanted: App) => members.filter(({ app }) => app === wanted);
    const token = await tokenOf(dataDir);
    const cluster = new Cluster(
      folder,
      database,
      of('api'),
      of('worker'),
      healthy,
      token,
      disk,
      replica,
      cells,
      ofCommands,
    );
    try {
      if (cells !== undefined) await cluster.addCells();
      // The first api migrates and makes the demo data.
      const [first, ...others] = members;
      await first?.process.start({ DEMO_DATA: 'on' });
      await Promise.all(others.map(({ process }) => process.start()));
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  /** The caller and the api processes. */
  get endpoint(): Endpoint {
    return { token: this.token, url: (api) => this.url(api) };
  }

  get hasCells(): boolean {
    return this.cellServers !== undefined;
  }

  /** @throws Error for a cluster without `hasCells` */
  get cells(): CellServers {
    if (this.cellServers === undefined) throw new Error('the cluster has one database');
    return this.cellServers;
  }

  /** Those of all cells, or the only one. */
  get databases(): readonly DatabaseServer[] {
    return this.cellServers === undefined ? [this.database] : [...this.cellServers.all.values()];
  }

  get members(): readonly Member[] {
    return [...this.apis, ...this.workers];
  }

  /** The address of an api by number, where any number is good. */
  url(api: number): string {
    return this.apis[api % this.apis.length]?.process.url ?? '';
  }

  /** Ends every fault and starts what does not run, so that the final state can be read. */
  async heal(): Promise<void> {
    for (const { proxy, process, clock } of this.members) {
      proxy.accept();
      proxy.delay(0);
      proxy.endSilence();
      clock.shift(0);
      process.resume();
    }
    this.disk?.free();
    await this.cellServers?.heal();
    await this.database.ready();
    await Promise.all(this.members.map(({ process }) => (process.isRunning ? process.ready() : process.start())));
  }

  /** Runs `banking verify`. */
  verify(): Promise<BooksProof> {
    return this.runCommand(['verify', '--json']);
  }

  /** A new token of the caller. The command `banking token` issues it, with the clock of a process. */
  async tokenBy({ environment }: ProcessClock): Promise<string> {
    const { exitCode, output } = await this.runCommand(['token', CALLER], environment);
    if (exitCode !== 0) throw new Error(`banking token failed: ${output.slice(-300)}`);
    return output.trim();
  }

  /** A new token, with the real time. */
  newToken({ caller = CALLER, lifetimeSeconds = 24 * 3600 } = {}): Promise<string> {
    return tokenOf(join(this.folder, 'data'), caller, lifetimeSeconds);
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map(({ process }) => process.stop()));
    await this.closeProxies();
    await this.replica?.stop();
    await this.cellServers?.stop();
    await this.database.stop();
    this.disk?.unmount();
  }

  /** Kills everything, when the state is of no more use. Nothing is started afterwards. */
  async abandon(): Promise<void> {
    const killed = this.members.map(({ process }) => process.abandon());
    const servers = [this.replica?.stop(), this.cellServers?.abandon(), this.database.abandon()];
    await Promise.all([...killed, this.closeProxies(), ...servers]);
    this.disk?.unmount();
  }

  /** Makes the empty databases cells. */
  private async addCells(): Promise<void> {
    for (const parameters of [['migrate'], ...FURTHER_CELLS.map((name) => ['cell', 'add', name])]) {
      const { exitCode, output } = await this.runCommand(parameters);
      if (exitCode !== 0) throw new Error(`banking ${parameters.join(' ')} failed: ${output.slice(-2_000)}`);
    }
  }

  /** Runs `banking` without faults, and returns what it printed. */
  runCommand(parameters: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<BooksProof> {
    return this.startCommand(parameters, more).done;
  }

  /** Starts `banking` without faults. */
  startCommand(parameters: readonly string[], more: Readonly<Record<string, string>> = {}): BankingCommand {
    const own = environmentOf(this.database, this.healthy, join(this.folder, 'data'));
    return startBanking(parameters, { ...own, ...this.commandEnvironment, ...more });
  }

  private async closeProxies(): Promise<void> {
    await Promise.all([...this.members.map(({ proxy }) => proxy.close()), this.healthy.close()]);
  }

  /** Removes the database; the logs stay. */
  async removeData(): Promise<void> {
    await rm(join(this.folder, 'data'), { recursive: true, force: true });
  }
}

const urlOf = ({ login }: DatabaseServer, { port }: Pick<DatabaseProxy, 'port'>) =>
  `postgres://${login.user}@127.0.0.1:${port}/${login.database}`;

/** @param name in a setting of its connections, which triggers of a run read */
function environmentOf(
  database: DatabaseServer,
  proxy: DatabaseProxy,
  dataDir: string,
  name = 'cli',
): Record<string, string> {
  return {
    DATA_DIR: dataDir,
    DATABASE_URL: `${urlOf(database, proxy)}?options=${encodeURIComponent(`-c ${PROCESS_SETTING}=${name}`)}`,
    SANDBOX: 'on',
    DEMO_DATA: 'off',
  };
}

async function tokenOf(dataDir: string, email = CALLER, lifetimeSeconds = 24 * 3600): Promise<string> {
  const issuer = await LocalIssuer.open(dataDir);
  return issuer.sign({ email, audience: 'banking-api', lifetimeSeconds });
}
