import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalIssuer } from '@banking/process/local-issuer';
import { DatabaseProxy } from './database-proxy.js';
import { ProcessClock, Replica, SmallDisk } from './devices.js';
import type { Endpoint } from './orders.js';
import { type CommandResult, freePort, type RunningCommand, ServiceProcess, startCommand } from './processes.js';
import { DatabaseServer, InstalledServer, type Server } from './servers.js';

const APPS = ['api', 'api', 'worker', 'worker'] as const;
/** A setting of PostgreSQL that holds the name of a process. */
export const PROCESS_SETTING = 'faults.process';
const CALLER = 'ada@northwind.example';

export const FURTHER_CELLS = ['b', 'c'] as const;
export type CellName = 'home' | (typeof FURTHER_CELLS)[number];

type Environment = Readonly<Record<string, string>>;

/** A process and the proxies between it and the database of each cell. */
export interface Member {
  readonly process: ServiceProcess;
  /** That to home. */
  readonly proxy: DatabaseProxy;
  readonly links: ReadonlyMap<CellName, DatabaseProxy>;
  readonly clock: ProcessClock;
}

export interface ClusterOptions {
  /** Whether each process has a wall clock of its own. PostgreSQL has the real time. */
  readonly hasClocks?: boolean;
  readonly hasDisk?: boolean;
  readonly hasReplica?: boolean;
  /** Whether there are three databases: home, b and c. */
  readonly hasCells?: boolean;
  /** A server of the installed programs that will be lost, and another one without data. */
  readonly installed?: {
    readonly settings?: (folder: string) => readonly string[];
    /** Whether DATABASE_URL names both servers, instead of an address that is switched. */
    readonly hasTwoHosts?: boolean;
  };
}

/** One PostgreSQL server, two api processes without due work, and two workers, each behind a proxy of its own. */
export class Cluster {
  readonly apis: Member[] = [];
  readonly workers: Member[] = [];
  readonly cells = new Map<CellName, Server>();
  disk: SmallDisk | undefined;
  replica: Replica | undefined;
  /** Without data at first. Used if `installed`. */
  private replacement: InstalledServer | undefined;
  private lost: Server | undefined;
  /** Of the command line, without faults. */
  private commandLinks: ReadonlyMap<CellName, DatabaseProxy> = new Map();
  private isAbandoned = false;
  token = '';

  private constructor(
    readonly folder: string,
    private readonly options: ClusterOptions,
  ) {}

  static async start(folder: string, options: ClusterOptions = {}): Promise<Cluster> {
    const cluster = new Cluster(folder, options);
    try {
      await cluster.startServers();
      await cluster.startProcesses();
    } catch (error) {
      if (!cluster.isAbandoned) await cluster.stop();
      throw error;
    }
    return cluster;
  }

  get endpoint(): Endpoint {
    return { token: this.token, url: (api) => this.url(api) };
  }

  /** The embedded server, that of home. */
  get database(): DatabaseServer {
    return this.cells.get('home') as DatabaseServer;
  }

  of(cell: CellName): DatabaseServer {
    return this.cells.get(cell) as DatabaseServer;
  }

  get installed(): { readonly primary: InstalledServer; readonly replacement: InstalledServer } {
    return { primary: this.cells.get('home') as InstalledServer, replacement: this.replacement! };
  }

  get databases(): readonly Server[] {
    return [...this.cells.values()];
  }

  get members(): readonly Member[] {
    return [...this.apis, ...this.workers];
  }

  get ownEnds(): readonly string[] {
    return this.members.flatMap(({ process }) => process.ownEnds);
  }

  /** The address of an api by number, where any number is good. */
  url(api: number): string {
    return this.apis[api % this.apis.length]?.process.url ?? '';
  }

  /** Lets the books be those of the replacement from now on, and all addresses lead to it. */
  replaceServer(): void {
    this.lost = this.cells.get('home');
    this.cells.set('home', this.replacement!);
    for (const { proxy } of this.members) proxy.switchTo(this.replacement!.socket);
    this.commandLinks.get('home')?.switchTo(this.replacement!.socket);
  }

  /** Ends every fault and starts what does not run, so that the final state can be read. */
  async heal(): Promise<void> {
    for (const { links, process, clock } of this.members) {
      for (const proxy of links.values()) proxy.heal();
      clock.shift(0);
      process.resume();
    }
    this.disk?.free();
    for (const server of this.databases) await server.ready();
    await Promise.all(this.members.map(({ process }) => (process.isRunning ? process.ready() : process.start())));
  }

  /** A new token of the caller. The command `banking token` issues it, with the clock of a process. */
  async tokenBy({ environment }: ProcessClock): Promise<string> {
    return (await this.require(['token', CALLER], environment)).trim();
  }

  async newToken({ caller = CALLER, lifetimeSeconds = 24 * 3600 } = {}): Promise<string> {
    const issuer = await LocalIssuer.open(this.dataDir);
    return issuer.sign({ email: caller, audience: 'banking-api', lifetimeSeconds });
  }

  command(parameters: readonly string[], more: Environment = {}): RunningCommand {
    const environment = { ...this.environmentOf('cli', this.commandLinks), ...more };
    return startCommand('apps/cli/dist/main.js', parameters, environment);
  }

  runCommand(...parameters: readonly string[]): Promise<CommandResult> {
    return this.command(parameters).done;
  }

  /** @returns what the command printed. @throws Error if it fails */
  async require(parameters: readonly string[], more: Environment = {}): Promise<string> {
    const { exitCode, output, stdout } = await this.command(parameters, more).done;
    if (exitCode !== 0) throw new Error(`banking ${parameters.join(' ')} failed: ${output.slice(-2_000)}`);
    return stdout;
  }

  /** Posts so many transfers at once, which takes a second for about a thousand. @throws Error if it fails */
  async postTransfers(transfers: number): Promise<void> {
    const environment = this.environmentOf('fund', this.commandLinks);
    const { done } = startCommand('tools/bench/dist/fund-process.js', [String(transfers)], environment);
    const { exitCode, output } = await done;
    if (exitCode !== 0) throw new Error(`the funding ended with ${exitCode}: ${output.slice(-2_000)}`);
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map(({ process }) => process.stop()));
    await this.closeProxies();
    await this.replica?.stop();
    await this.replacement?.stop();
    await this.lost?.stop();
    // Home last, after the servers that replicate from it.
    for (const server of this.databases.toReversed()) await server.stop();
    this.disk?.unmount();
  }

  /** Kills everything, when the state is of no more use. Nothing is started afterwards. */
  async abandon(): Promise<void> {
    this.isAbandoned = true;
    const killed = this.members.map(({ process }) => process.abandon());
    const servers = [...this.databases, this.replacement, this.lost].map((server) => server?.abandon());
    await Promise.all([...killed, this.closeProxies(), this.replica?.stop(), ...servers]);
    this.disk?.unmount();
  }

  async removeData(): Promise<void> {
    for (const name of ['data', 'primary', 'replacement']) {
      await rm(join(this.folder, name), { recursive: true, force: true });
    }
  }

  private get dataDir(): string {
    return join(this.folder, 'data');
  }

  private async startServers(): Promise<void> {
    const { hasCells = false, hasDisk, hasReplica, installed } = this.options;
    await mkdir(this.dataDir, { recursive: true });
    if (installed !== undefined) {
      const primary = await InstalledServer.inFolder(join(this.folder, 'primary'));
      this.cells.set('home', primary);
      await primary.initialize(installed.settings?.(primary.folder));
      await primary.createDatabase();
      this.replacement = await InstalledServer.inFolder(join(this.folder, 'replacement'));
      return;
    }
    if (hasDisk) this.disk = SmallDisk.mount(this.dataDir);
    this.cells.set('home', await DatabaseServer.start(this.dataDir, hasCells));
    for (const name of hasCells ? FURTHER_CELLS : []) {
      const dataDir = join(this.dataDir, 'cells', name);
      await mkdir(dataDir, { recursive: true });
      this.cells.set(name, await DatabaseServer.start(dataDir, true));
    }
    if (hasReplica) this.replica = await Replica.start(this.database);
  }

  private async startProcesses(): Promise<void> {
    const { hasCells, hasClocks } = this.options;
    this.commandLinks = await this.link('cli');
    for (const [index, app] of APPS.entries()) {
      const name = `${app}-${index % 2}`;
      const links = await this.link(name);
      const clock = new ProcessClock(join(this.folder, `${name}.clock`));
      const environment = {
        ...this.environmentOf(name, links),
        CONNECTIONS_PER_ADDRESS: '1000',
        ...(app === 'api' && this.replica && { DATABASE_REPLICA_URL: this.urlOf('home', this.replica.port) }),
        ...(hasClocks && clock.environment),
      };
      const logFile = join(this.folder, `${name}.log`);
      const process = new ServiceProcess({ app, name, port: await freePort(), logFile, environment });
      (app === 'api' ? this.apis : this.workers).push({ process, links, proxy: links.get('home')!, clock });
    }
    this.token = await this.newToken();
    if (hasCells) {
      await this.require(['migrate']);
      for (const name of FURTHER_CELLS) await this.require(['cell', 'add', name]);
    }
    // The first api migrates and makes the demo data.
    const [first, ...others] = this.members;
    await first?.process.start({ DEMO_DATA: 'on' });
    await Promise.all(others.map(({ process }) => process.start()));
  }

  /** The proxies of a process, and the file with its cells. */
  private async link(name: string): Promise<ReadonlyMap<CellName, DatabaseProxy>> {
    const links = new Map<CellName, DatabaseProxy>();
    const cells: Record<string, object> = {};
    for (const [cell, server] of this.cells) {
      const proxy = await DatabaseProxy.start(server.socket);
      links.set(cell, proxy);
      const url = this.urlOf(cell, proxy.port);
      // Replication reaches a server without a proxy: a fault of a process does not disturb it.
      if (cell !== 'home') cells[cell] = { url, homeUrl: socketUrlOf(this.database), sourceUrl: socketUrlOf(server) };
    }
    await writeFile(join(this.folder, `${name}.cells.json`), JSON.stringify(cells));
    return links;
  }

  private urlOf(cell: CellName, port: number): string {
    const { login, connection } = this.cells.get(cell)!;
    return `postgres://${login}@127.0.0.1:${port}/${connection.database}`;
  }

  private environmentOf(name: string, links: ReadonlyMap<CellName, DatabaseProxy>): Record<string, string> {
    const { hasCells, installed } = this.options;
    // Triggers of a run read the name of the process in a setting of its connections.
    const setting = `options=${encodeURIComponent(`-c ${PROCESS_SETTING}=${name}`)}`;
    return {
      DATA_DIR: this.dataDir,
      DATABASE_URL: installed?.hasTwoHosts
        ? this.hostsUrl
        : `${this.urlOf('home', links.get('home')!.port)}?${setting}`,
      SANDBOX: 'on',
      DEMO_DATA: 'off',
      ...(hasCells && { CELLS_FILE: join(this.folder, `${name}.cells.json`) }),
    };
  }

  private get hostsUrl(): string {
    const hosts = ['primary', 'replacement'].map((name) => `${encodeURIComponent(join(this.folder, name))}:5432`);
    return `postgres://${this.replacement!.login}@${hosts.join(',')}/banking?target_session_attrs=read-write`;
  }

  private async closeProxies(): Promise<void> {
    const links = [this.commandLinks, ...this.members.map((member) => member.links)];
    await Promise.all(links.flatMap((one) => [...one.values()].map((proxy) => proxy.close())));
  }
}

function socketUrlOf({ connection, login }: Server): string {
  const { host, port, database } = connection;
  return `postgres://${login}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
}
