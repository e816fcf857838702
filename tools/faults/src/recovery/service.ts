import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalIssuer } from '@banking/local-issuer';
import type { Endpoint } from '../call.js';
import { freePort, ServiceProcess } from '../service-process.js';
import { DATABASE, LOGIN } from './postgres-server.js';
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

/** Two api processes and a worker on one PostgreSQL of their own, which may be replaced. */
export class Service {
  private constructor(
    private readonly folder: string,
    readonly database: SwitchProxy,
    private readonly members: readonly ServiceProcess[],
    private readonly token: string,
  ) {}

  /** @param socket of PostgreSQL, whose database is empty */
  static async start(folder: string, socket: string): Promise<Service> {
    await mkdir(join(folder, 'data-dir'), { recursive: true });
    const database = await SwitchProxy.start(socket);
    const environment = { ...environmentOf(folder, database), CONNECTIONS_PER_ADDRESS: '1000' };
    const members: ServiceProcess[] = [];
    for (const [index, app] of (['api', 'api', 'worker'] as const).entries()) {
      const name = `${app}-${index}`;
      const logFile = join(folder, `${name}.log`);
      members.push(new ServiceProcess({ app, name, port: await freePort(), logFile, environment }));
    }
    const issuer = await LocalIssuer.open(join(folder, 'data-dir'));
    const token = issuer.sign({ email: CALLER, audience: 'banking-api', lifetimeSeconds: 24 * 3600 });
    const service = new Service(folder, database, members, await token);
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

  /** Kills the worker, so that nothing is submitted until `resume`. */
  async killWorker(): Promise<void> {
    await this.members[2]?.kill();
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.stop()));
  }

  async close(): Promise<void> {
    await this.stop();
    await this.database.close();
  }

  /** Runs a command of operators. */
  banking(...args: readonly string[]): Promise<CommandResult> {
    return this.run([CLI, ...args]);
  }

  /** Posts so many transfers at once, which takes a second for about a thousand. @throws Error if it fails */
  async fund(transfers: number): Promise<void> {
    const { exitCode, stderr } = await this.run([FUNDING, urlOf(this.database), String(transfers)]);
    if (exitCode !== 0) throw new Error(`the funding ended with ${exitCode}: ${stderr}`);
  }

  private async run(args: readonly string[]): Promise<CommandResult> {
    const env = { PATH: process.env['PATH'], ...environmentOf(this.folder, this.database) };
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text));
    }
    const exitCode = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { exitCode, ...output };
  }
}

const urlOf = ({ port }: SwitchProxy) => `postgres://${LOGIN}@127.0.0.1:${port}/${DATABASE}`;

function environmentOf(folder: string, database: SwitchProxy): Record<string, string> {
  return {
    DATA_DIR: join(folder, 'data-dir'),
    DATABASE_URL: urlOf(database),
    SANDBOX: 'on',
    DEMO_DATA: 'off',
  };
}
