import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalIssuer } from '@banking/local-issuer';
import type { Endpoint } from '../call.js';
import { freePort, ServiceProcess } from '../service-process.js';
import { DATABASE, LOGIN, type PostgresServer } from './postgres-server.js';
import { SwitchProxy } from './switch-proxy.js';

const ROOT = join(__dirname, '../../../..');
const CLI = join(ROOT, 'apps/cli/dist/main.js');
const FUNDING = join(ROOT, 'tools/bench/dist/fund-process.js');
const CALLER = 'ada@northwind.example';

/** The output of a command. */
export interface CommandResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface DatabaseAddress {
  readonly url: string;
  /** An address that may lead to another server, as a virtual address does. */
  readonly proxy?: SwitchProxy;
}

/** Two api processes and a worker on one PostgreSQL of their own, which may be replaced. */
export class Service {
  private constructor(
    private readonly folder: string,
    private readonly address: DatabaseAddress,
    private readonly members: readonly ServiceProcess[],
    private readonly token: string,
  ) {}

  /** @param servers the first has the empty database. More than one: DATABASE_URL names all of them, and nothing is switched. */
  static async start(folder: string, servers: readonly [PostgresServer, ...PostgresServer[]]): Promise<Service> {
    await mkdir(join(folder, 'data-dir'), { recursive: true });
    const address = servers.length > 1 ? hostsOf(servers) : await proxyTo(servers[0]);
    const environment = { ...environmentOf(folder, address), CONNECTIONS_PER_ADDRESS: '1000' };
    const members: ServiceProcess[] = [];
    for (const [index, app] of (['api', 'api', 'worker'] as const).entries()) {
      const name = `${app}-${index}`;
      const logFile = join(folder, `${name}.log`);
      members.push(new ServiceProcess({ app, name, port: await freePort(), logFile, environment }));
    }
    const issuer = await LocalIssuer.open(join(folder, 'data-dir'));
    const token = issuer.sign({ email: CALLER, audience: 'banking-api', lifetimeSeconds: 24 * 3600 });
    const service = new Service(folder, address, members, await token);
    try {
      // The first api migrates and makes the demo data.
      await members[0]?.start({ DEMO_DATA: 'on' });
      await service.resume();
    } catch (error) {
      await service.close();
      throw error;
    }
    return service;
  }

  get endpoint(): Endpoint {
    return { token: this.token, url: (api) => this.members[api % 2]?.url ?? '' };
  }

  /** Starts what does not run, and waits until all processes are ready. */
  async resume(): Promise<void> {
    await Promise.all(this.members.map((member) => (member.isRunning ? member.ready() : member.start())));
  }

  /** The processes that ended without a signal of ours. */
  get ownEnds(): readonly string[] {
    return this.members.flatMap((member) => member.ownEnds);
  }

  /** Lets the address of the database lead to another server. @param socket its path */
  switchTo(socket: string): void {
    if (this.address.proxy === undefined) throw new Error('DATABASE_URL names the servers themselves');
    this.address.proxy.switchTo(socket);
  }

  /** Kills the worker, so that nothing is submitted until `resume`. */
  async killWorker(): Promise<void> {
    await this.members[2]?.kill();
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.stop()));
  }

  async close(): Promise<void> {
    await this.stop();
    await this.address.proxy?.close();
  }

  /** Runs a command of operators. */
  banking(...args: readonly string[]): Promise<CommandResult> {
    return this.run([CLI, ...args]);
  }

  /** Posts so many transfers at once, which takes a second for about a thousand. @throws Error if it fails */
  async fund(transfers: number): Promise<void> {
    const { exitCode, stderr } = await this.run([FUNDING, String(transfers)]);
    if (exitCode !== 0) throw new Error(`the funding ended with ${exitCode}: ${stderr}`);
  }

  private async run(args: readonly string[]): Promise<CommandResult> {
    const env = { PATH: process.env['PATH'], ...environmentOf(this.folder, this.address) };
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text));
    }
    const exitCode = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { exitCode, ...output };
  }
}

async function proxyTo({ socket }: PostgresServer): Promise<DatabaseAddress> {
  const proxy = await SwitchProxy.start(socket);
  return { url: `postgres://${LOGIN}@127.0.0.1:${proxy.port}/${DATABASE}`, proxy };
}

function hostsOf(servers: readonly PostgresServer[]): DatabaseAddress {
  const hosts = servers.map(({ folder }) => `${encodeURIComponent(folder)}:5432`).join(',');
  return { url: `postgres://${LOGIN}@${hosts}/${DATABASE}?target_session_attrs=read-write` };
}

function environmentOf(folder: string, { url }: DatabaseAddress): Record<string, string> {
  return {
    DATA_DIR: join(folder, 'data-dir'),
    DATABASE_URL: url,
    SANDBOX: 'on',
    DEMO_DATA: 'off',
  };
}
