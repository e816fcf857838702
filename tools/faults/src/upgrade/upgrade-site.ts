import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalIssuer } from '@banking/local-issuer';
import type { Endpoint } from '../call.js';
import { DatabaseServer } from '../database-server.js';
import { SwitchProxy } from '../recovery/switch-proxy.js';
import { type App, freePort, ServiceProcess } from '../service-process.js';
import type { ReleaseTree } from './release-tree.js';
import { type CommandResult, runCommand } from './run-command.js';

const CALLER = 'ada@northwind.example';

/** One database and the processes of two releases on it. */
export class UpgradeSite {
  private readonly processes: ServiceProcess[] = [];

  private constructor(
    private readonly folder: string,
    private readonly database: DatabaseServer,
    private readonly proxy: SwitchProxy,
    private readonly token: string,
  ) {}

  /** @param folder empty, and open to the user of the database server */
  static async start(folder: string): Promise<UpgradeSite> {
    const dataDir = join(folder, 'data');
    await mkdir(dataDir, { recursive: true });
    const database = await DatabaseServer.start(dataDir, () => undefined);
    const proxy = await SwitchProxy.start(database.socket);
    const issuer = await LocalIssuer.open(dataDir);
    const token = await issuer.sign({ email: CALLER, audience: 'banking-api', lifetimeSeconds: 24 * 3600 });
    return new UpgradeSite(folder, database, proxy, token);
  }

  get dataDir(): string {
    return join(this.folder, 'data');
  }

  /** Runs a command of operators of a release. */
  banking(tree: ReleaseTree, ...args: readonly string[]): Promise<CommandResult> {
    const main = join(tree.root, 'apps/cli/dist/main.js');
    return runCommand(process.execPath, [main, ...args], { cwd: tree.root, env: this.environment() });
  }

  /** A process of a release, which is not started yet. */
  async processOf(app: App, tree: ReleaseTree, name: string): Promise<ServiceProcess> {
    const logFile = join(this.folder, `${name}.log`);
    const environment = { ...this.environment(), CONNECTIONS_PER_ADDRESS: '1000' };
    const process = new ServiceProcess({ app, name, port: await freePort(), logFile, environment, root: tree.root });
    this.processes.push(process);
    return process;
  }

  /** The caller and these processes. */
  endpointOf(...apis: readonly ServiceProcess[]): Endpoint {
    return { token: this.token, url: (api) => apis[api % apis.length]?.url ?? '' };
  }

  /** The end of the output of a process. */
  lastLogLine(name: string): string {
    return (
      readFileSync(join(this.folder, `${name}.log`), 'utf8')
        .trim()
        .split('\n')
        .at(-1) ?? ''
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.processes.map((process) => process.stop()));
    await this.proxy.close();
    await this.database.stop();
  }

  private environment(): Record<string, string> {
    const { user, database } = this.database.login;
    return {
      DATA_DIR: this.dataDir,
      DATABASE_URL: `postgres://${user}@127.0.0.1:${this.proxy.port}/${database}`,
      SANDBOX: 'on',
      DEMO_DATA: 'off',
    };
  }
}
