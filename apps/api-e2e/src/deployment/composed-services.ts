import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { bareEnvironment } from '../config.js';
import { Child } from './child.js';
import { startPgBouncer } from './composed-pgbouncer.js';
import { ComposedPostgres } from './composed-postgres.js';
import { type Composition, ROOT, type Variables } from './deploy-files.js';

const PROVIDER = join(__dirname, '..', '..', 'realm-provider.mjs');

/** The composition of deploy/compose.yaml as processes of this machine: the same programs, environment and secrets, other addresses. */
export class ComposedServices {
  readonly children = new Map<string, Child>();
  private provider: ChildProcess | undefined;
  private postgres: ComposedPostgres | undefined;

  private constructor(
    private readonly composition: Composition,
    private readonly folder: string,
    private readonly ports: Readonly<Record<'postgres' | 'pgbouncer' | 'proxy', number>>,
  ) {}

  /** @param folder is empty, and may be read by other users of this machine */
  static async start(composition: Composition, folder: string): Promise<ComposedServices> {
    const ports = { postgres: await freePort(), pgbouncer: await freePort(), proxy: await freePort() };
    const composed = new ComposedServices(composition, folder, ports);
    try {
      await composed.startAll();
      return composed;
    } catch (error) {
      await composed.stop();
      throw error;
    }
  }

  get secrets(): string {
    return join(this.folder, 'secrets');
  }

  /** Where callers reach the composition. */
  get url(): string {
    return `https://localhost:${this.ports.proxy}`;
  }

  get database(): ComposedPostgres {
    if (this.postgres === undefined) throw new Error('the database has not started');
    return this.postgres;
  }

  /** Everything that the processes have written. */
  get log(): string {
    const outputs = [...this.children.values()].map(({ output }) => output.text);
    return [...outputs, this.postgres?.log ?? ''].join('\n');
  }

  /** The environment of a service, with the addresses and ports of this machine. */
  environmentOf(name: string, changes: Variables = {}): Variables {
    const { environment = {} } = this.composition.services[name] ?? {};
    const replaced = Object.entries(environment).map(([variable, value]) => [variable, this.onThisMachine(value)]);
    return { ...bareEnvironment(), ...(Object.fromEntries(replaced) as Variables), ...changes };
  }

  /** Starts a service that runs one of our programs, once or again with changes. */
  startProgram(name: string, changes: Variables = {}, key = name): Child {
    const { command = [] } = this.composition.services[name] ?? {};
    const env = this.environmentOf(name, changes);
    const child = new Child(key, { command: process.execPath, args: command, env, cwd: ROOT });
    this.children.set(key, child);
    return child;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.children.values()].map((child) => child.stop('SIGKILL')));
    await this.postgres?.stop();
    if (this.provider !== undefined && this.provider.exitCode === null) {
      const exited = once(this.provider, 'exit');
      this.provider.kill('SIGKILL');
      await exited;
    }
  }

  private async startAll(): Promise<void> {
    execFileSync(join(ROOT, 'deploy/compose/make-secrets.sh'), [this.secrets], { env: bareEnvironment() });
    // Here the server runs as a user of this machine, not in a container.
    chmodSync(this.secrets, 0o755);
    this.postgres = await ComposedPostgres.start({
      folder: join(this.folder, 'postgres'),
      secrets: this.secrets,
      port: this.ports.postgres,
      command: this.composition.services['postgres']?.command ?? [],
    });
    const pooler = { folder: this.folder, secrets: this.secrets, postgresPort: this.ports.postgres };
    const { user } = this.postgres;
    this.children.set('pgbouncer', await startPgBouncer({ ...pooler, port: this.ports.pgbouncer, user }));
    await this.startProgram('migrate').succeeded();
    await this.startProgram('demo').succeeded();
    const metrics = async () => ({ METRICS_HOST: '127.0.0.1', METRICS_PORT: String(await freePort()) });
    const apis = ['api-1', 'api-2'];
    const addresses = await Promise.all(
      apis.map(async (name) => {
        const api = this.startProgram(name, { ...(await metrics()), HOST: '127.0.0.1', PORT: '0' });
        return api.matched(/^Ready on http:\/\/(\S+)/m);
      }),
    );
    const worker = this.startProgram('worker', { ...(await metrics()), HEALTH_PORT: '0' });
    await worker.matched(/"msg":"working"/);
    await this.startProxy(addresses, await this.startProvider());
  }

  private async startProvider(): Promise<number> {
    const issuer = this.environmentOf('api-1')['OIDC_ISSUER'] ?? '';
    const args = [join(this.secrets, 'realm.json'), issuer];
    this.provider = fork(PROVIDER, args, { env: bareEnvironment(), silent: true, execArgv: [] });
    const [{ port }] = (await once(this.provider, 'message')) as [{ port: number }];
    return port;
  }

  private async startProxy(apis: readonly string[], loginPort: number): Promise<void> {
    const env = {
      ...bareEnvironment(),
      XDG_DATA_HOME: this.folder,
      XDG_CONFIG_HOME: this.folder,
      PROXY_NAME: 'localhost',
      PROXY_PORT: String(this.ports.proxy),
      PROXY_BIND: '127.0.0.1',
      PROXY_CERTIFICATE: join(this.secrets, 'proxy-certificate'),
      PROXY_KEY: join(this.secrets, 'proxy-key'),
      LOGIN_ADDRESS: `127.0.0.1:${loginPort}`,
      API_ADDRESSES: apis.join(' '),
    };
    const [command = '', ...args] = (this.composition.services['proxy']?.command ?? []).map((part) =>
      part.replace('/etc/caddy/Caddyfile', join(ROOT, 'deploy/compose/Caddyfile')),
    );
    this.children.set('proxy', new Child('proxy', { command, args, env }));
  }

  private onThisMachine(value: string): string {
    return value
      .replaceAll('/run/secrets', this.secrets)
      .replaceAll('https://banking.test:8443', this.url)
      .replaceAll('@pgbouncer:6432', `@localhost:${this.ports.pgbouncer}`)
      .replaceAll('@postgres:5432', `@localhost:${this.ports.postgres}`);
  }
}

/** A port that was free a moment ago, for a program that cannot choose one itself. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await once(probe.listen(0, '127.0.0.1'), 'listening');
  const { port } = probe.address() as AddressInfo;
  await once(probe.close(), 'close');
  return port;
}
