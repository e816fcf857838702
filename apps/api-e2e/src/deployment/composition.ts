import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { until } from '@banking/postgres/testing';
import { type Ending, Output } from '../running-service.js';
import { bareEnvironment } from '../config.js';
import { pgBouncerPath } from '../pooler/pgbouncer.js';
import { type Composition, read, ROOT, type Variables } from './deploy-files.js';

/** A user of this machine, by number. */
interface OsUser {
  readonly uid: number;
  readonly gid: number;
}

interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The user as which it runs, if it is another one. */
  readonly uid?: number;
  readonly gid?: number;
}

/** A process of the composition. It ends with this process at the latest. */
export class Child {
  readonly output: Output;
  readonly ended: Promise<Ending>;
  private readonly child: ChildProcess;

  constructor(
    readonly name: string,
    { command, args, ...options }: ChildOptions,
  ) {
    this.child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    this.output = new Output(this.child);
    const killWithUs = () => this.child.kill('SIGKILL');
    process.once('exit', killWithUs);
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (code, signal) => {
        process.off('exit', killWithUs);
        resolve({ code, signal });
      });
    });
    // A caller that waits receives the error. Without a listener, it would end this process.
    this.ended.catch(() => undefined);
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Waits until the output matches. @throws Error with the output if the process ends before */
  async matched(pattern: RegExp): Promise<string> {
    const match = await Promise.race([this.output.matched(pattern), this.ended.then(() => undefined)]);
    if (match === undefined) throw new Error(`${this.name} ended:\n${this.output.text.slice(-4_000)}`);
    return match;
  }

  /** Waits until it ends, and returns its standard output. @throws Error unless the exit code is 0 */
  async succeeded(): Promise<string> {
    const { code, signal } = await this.ended;
    if (code !== 0) throw new Error(`${this.name} ended with ${signal ?? code}:\n${this.output.text.slice(-4_000)}`);
    return this.output.stdout;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ending> {
    this.child.kill(signal);
    return this.ended;
  }
}

interface PoolerSettings {
  readonly folder: string;
  readonly secrets: string;
  readonly port: number;
  readonly postgresPort: number;
  readonly user: OsUser | undefined;
}

/** PgBouncer with the settings of the composition, and the addresses of this machine. */
async function startPgBouncer({ folder, secrets, port, postgresPort, user }: PoolerSettings): Promise<Child> {
  const command = pgBouncerPath();
  if (command === undefined) throw new Error('there is no PgBouncer: install the Debian package pgbouncer');
  const config = join(folder, 'pgbouncer.ini');
  const settings = read('deploy/compose/pgbouncer.ini')
    .replaceAll('/run/secrets', secrets)
    .replace('host=postgres port=5432', `host=localhost port=${postgresPort}`)
    .replace('listen_addr = 0.0.0.0', 'listen_addr = 127.0.0.1')
    .replace('listen_port = 6432', `listen_port = ${port}`);
  writeFileSync(config, settings);
  const child = new Child('pgbouncer', { command, args: [config], env: bareEnvironment(), ...user });
  await child.matched(/process up: PgBouncer/);
  return child;
}

const DEBIAN_FOLDER = '/usr/lib/postgresql';

/** The folder of the newest PostgreSQL of Debian's packages, if there is one. */
export function postgresPrograms(): string | undefined {
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER).map(Number).filter(Boolean) : [];
  const folders = versions.sort((a, b) => b - a).map((version) => join(DEBIAN_FOLDER, String(version), 'bin'));
  return folders.find((folder) => ['initdb', 'postgres', 'psql'].every((name) => existsSync(join(folder, name))));
}

interface DatabaseSettings {
  readonly folder: string;
  readonly secrets: string;
  readonly port: number;
  /** The command of the service in deploy/compose.yaml. */
  readonly command: readonly string[];
}

/** The database of the composition: the settings, the access file and the logins of its service, without a container. */
export class ComposedPostgres {
  private constructor(
    private readonly server: Child,
    private readonly admin: readonly string[],
    private readonly programs: string,
    /** The user of the server and its programs, if this is root. */
    readonly user: OsUser | undefined,
  ) {}

  static async start({ folder, secrets, port, command }: DatabaseSettings): Promise<ComposedPostgres> {
    const programs = postgresPrograms();
    if (programs === undefined) throw new Error('there is no PostgreSQL: install the Debian package postgresql');
    const user = process.getuid?.() === 0 ? userNamed('postgres') : undefined;
    mkdirSync(folder);
    const key = join(folder, 'server.key');
    copyFileSync(join(secrets, 'postgres-key'), key);
    chmodSync(key, 0o600);
    if (user !== undefined) for (const path of [folder, key]) chownSync(path, user.uid, user.gid);
    const data = join(folder, 'data');
    const env = bareEnvironment();
    const initdb = ['-D', data, '-U', 'postgres', '--auth=peer', '-E', 'UTF8', '--locale=C.UTF-8', '-k', '-N'];
    execFileSync(join(programs, 'initdb'), initdb, { env, cwd: folder, stdio: 'ignore', ...user });
    const args = command
      .slice(1)
      .map((part) =>
        part
          .replace('/etc/banking/pg_hba.conf', join(ROOT, 'deploy/compose/pg_hba.conf'))
          .replace('/var/run/postgresql/server.key', key)
          .replace('/run/secrets', secrets),
      );
    const here = ['-D', data, '-k', folder, '-p', String(port), '-c', 'listen_addresses=127.0.0.1'];
    const server = new Child('postgres', {
      command: join(programs, 'postgres'),
      args: [...here, ...args],
      env,
      ...user,
    });
    const admin = ['-X', '-q', '-h', folder, '-p', String(port), '-U', 'postgres', '-d', 'postgres'];
    const postgres = new ComposedPostgres(server, admin, programs, user);
    try {
      await server.matched(/database system is ready to accept connections/);
      const files = {
        logins: 'deploy/postgres/logins.sql',
        'login-behind-pooler': 'libs/postgres/login-behind-pooler.sql',
      };
      const script = Object.entries(files).reduce(
        (text, [name, file]) => text.replaceAll(`/etc/banking/${name}.sql`, join(ROOT, file)),
        read('deploy/compose/init.sql'),
      );
      const scriptFile = join(secrets, '..', 'init.sql');
      writeFileSync(scriptFile, script);
      postgres.psql('-v', `secrets=${secrets}`, '-v', 'ON_ERROR_STOP=1', '-f', scriptFile);
      return postgres;
    } catch (error) {
      await postgres.stop();
      throw error;
    }
  }

  /** What the server wrote to its log. */
  get log(): string {
    return this.server.output.text;
  }

  /** Runs psql as the administrator, over the socket. */
  psql(...args: readonly string[]): string {
    const options = { env: bareEnvironment(), encoding: 'utf8', ...this.user } as const;
    return execFileSync(join(this.programs, 'psql'), [...this.admin, ...args], options);
  }

  async stop(): Promise<void> {
    await this.server.stop('SIGINT');
  }
}

function userNamed(name: string): OsUser {
  const idOf = (option: string) => Number(execFileSync('id', [option, name], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

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

interface HttpsResponse {
  readonly status: number;
  readonly body: unknown;
}

/** Not executed, or of unknown outcome: a client repeats such a request with its key, so that a busy machine fails no test. */
const RETRIED: readonly number[] = [502, 503, 504];

interface Call {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Calls a server whose certificate was signed by an authority of its own, which `fetch` cannot be told. */
export class HttpsCalls {
  private readonly ca: string;

  constructor(
    private readonly baseUrl: string,
    caFile: string,
  ) {
    this.ca = readFileSync(caFile, 'utf8');
  }

  /**
   * Repeats a request until the response is as expected, and returns it. A server that does not listen yet, or that is
   * too busy for the connection, gives none.
   */
  async until(isExpected: (response: HttpsResponse) => boolean, path: string, call: Call = {}): Promise<HttpsResponse> {
    const [outcome] = await until(
      () => Promise.allSettled([this.call(path, call)]),
      ([result]) => result.status === 'fulfilled' && isExpected(result.value),
    );
    return (outcome as PromiseFulfilledResult<HttpsResponse>).value;
  }

  /** Repeats a request until it is served. */
  async served(path: string, call: Call = {}): Promise<HttpsResponse> {
    return this.until(({ status }) => !RETRIED.includes(status), path, call);
  }

  /** @throws Error of `node:https` if the server cannot be reached, or did not prove its name */
  async call(path: string, { body, ...options }: Call = {}): Promise<HttpsResponse> {
    const { baseUrl, ca } = this;
    return new Promise((resolve, reject) => {
      const sent = request(`${baseUrl}${path}`, { ...options, ca, agent: false }, (response) => {
        text(response).then(
          (content) => resolve({ status: response.statusCode ?? 0, body: parsed(content) }),
          (error: unknown) => reject(error as Error),
        );
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }
}

function parsed(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return content;
  }
}
