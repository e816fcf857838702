import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { OPERATOR_ROLE, SERVICE_ROLES } from '@banking/postgres';
import { administer } from '@banking/postgres/testing';
import { bareEnvironment } from '../config.js';
import { demoDataDir, RunningService, type TestDataDir, demoIds } from '../running-service.js';
import { type DemoIds, localToken, type Service } from '../service.js';

const START_MS = 30_000;

/** The program, or undefined if it is not installed. Debian puts it where only root searches. */
export function pgBouncerPath(): string | undefined {
  const folders = [...(bareEnvironment()['PATH'] ?? '').split(delimiter), '/usr/sbin'];
  return folders.map((folder) => join(folder, 'pgbouncer')).find((path) => existsSync(path));
}

interface PgBouncerOptions {
  readonly mode: 'session' | 'transaction';
  /** The folder of the Unix socket of the server. PgBouncer runs as its owner. */
  readonly serverSocket: string;
  readonly logins: readonly string[];
  /** Connections to the server at most. */
  readonly poolSize: number;
}

/** PgBouncer in front of a server. It listens on a Unix socket in a folder of its own. */
class PgBouncer {
  private constructor(
    private readonly folder: string,
    private readonly child: ChildProcess,
  ) {}

  static async start({ mode, serverSocket, logins, poolSize }: PgBouncerOptions): Promise<PgBouncer> {
    const folder = mkdtempSync(join(tmpdir(), 'banking-pooler-'));
    const { uid, gid } = statSync(serverSocket);
    const config = join(folder, 'pgbouncer.ini');
    writeFileSync(join(folder, 'users.txt'), logins.map((login) => `"${login}" ""\n`).join(''));
    writeFileSync(
      config,
      `[databases]
* = host=${serverSocket} port=5432
[pgbouncer]
listen_port = 6432
unix_socket_dir = ${folder}
auth_type = trust
auth_file = ${folder}/users.txt
admin_users = ${logins[0]}
pool_mode = ${mode}
default_pool_size = ${poolSize}
server_login_retry = 1
logfile = ${folder}/pgbouncer.log
`,
    );
    chmodSync(folder, 0o755);
    if (process.geteuid?.() === 0) for (const path of [folder, config]) chownSync(path, uid, gid);
    // PgBouncer refuses to run as root, and the server lets its owner in without a password.
    const user = process.geteuid?.() === 0 ? { uid, gid } : {};
    const child = spawn(pgBouncerPath() ?? 'pgbouncer', [config], { ...user, stdio: 'ignore' });
    const killWithUs = () => child.kill('SIGKILL');
    process.once('exit', killWithUs);
    child.once('exit', () => process.off('exit', killWithUs));
    const pooler = new PgBouncer(folder, child);
    await pooler.ready();
    return pooler;
  }

  url(login: string, database: string): string {
    return `postgres://${login}@${encodeURIComponent(this.folder)}:6432/${database}`;
  }

  get log(): string {
    return readFileSync(join(this.folder, 'pgbouncer.log'), 'utf8');
  }

  async stop(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const ended = once(this.child, 'exit');
      this.child.kill('SIGKILL');
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async ready(): Promise<void> {
    const until = Date.now() + START_MS;
    while (!(await this.accepts())) {
      if (this.child.exitCode === null && Date.now() < until) await sleep(20);
      else {
        const log = existsSync(join(this.folder, 'pgbouncer.log')) ? this.log : '';
        await this.stop();
        throw new Error(`PgBouncer does not start: ${log}`);
      }
    }
  }

  private accepts(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = createConnection(join(this.folder, '.s.PGSQL.6432'));
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.end());
    });
  }
}

const SERVICE_LOGIN = 'service_behind_pooler';
const OPERATOR_LOGIN = 'operator_behind_pooler';
/** The roles of each login, first that of its sessions. In a sandbox, the service has those of the worker too. */
const LOGINS = { [SERVICE_LOGIN]: SERVICE_ROLES, [OPERATOR_LOGIN]: [OPERATOR_ROLE] };
/** The file that docs/postgresql.md tells an administrator to run. */
const LOGIN_FILE = join(dirname(require.resolve('@banking/postgres/package.json')), 'login-behind-pooler.sql');

/** The SQL of the file, as psql sends it with its two variables. */
const loginFileFor = (login: string, role: string | undefined) =>
  readFileSync(LOGIN_FILE, 'utf8')
    .replaceAll(/^ *\\.*\n/gm, '')
    .replaceAll(':"login"', login)
    .replaceAll(":'role'", `'${role}'`);

/** A service that reaches its database through PgBouncer only. */
export class PooledService implements Service {
  private constructor(
    private readonly folder: TestDataDir,
    private readonly server: EmbeddedServer,
    readonly pooler: PgBouncer,
    readonly running: RunningService,
    readonly world: DemoIds,
    /** The variables of an operator, for the command line. */
    readonly environment: Readonly<Record<string, string>>,
  ) {}

  static async start(options: Pick<PgBouncerOptions, 'mode' | 'poolSize'>): Promise<PooledService> {
    const folder = await demoDataDir();
    const world = demoIds();
    const server = await attachEmbeddedServer({ dataDir: folder.path });
    let pooler: PgBouncer | undefined;
    try {
      await administer(server.connection, async (client) => {
        for (const [login, roles] of Object.entries(LOGINS)) {
          await client.query(`create role ${login} login noinherit; grant ${roles.join(', ')} to ${login}`);
          if (options.mode === 'transaction') await client.query(loginFileFor(login, roles[0]));
        }
      });
      pooler = await PgBouncer.start({ ...options, logins: Object.keys(LOGINS), serverSocket: server.connection.host });
      const { database } = server.connection;
      const environment = {
        DATABASE_URL: pooler.url(SERVICE_LOGIN, database),
        DATABASE_POOLER: options.mode === 'transaction' ? 'transaction' : 'none',
        SANDBOX: 'on',
      };
      const running = await RunningService.start({
        dataDir: folder.path,
        environment: { ...environment, WORKER: 'on' },
      });
      const ofOperator = { DATABASE_URL: pooler.url(OPERATOR_LOGIN, database), DATA_DIR: folder.path };
      return new PooledService(folder, server, pooler, running, world, { ...environment, ...ofOperator });
    } catch (error) {
      await pooler?.stop();
      await server.detach();
      await folder.remove();
      throw error;
    }
  }

  get url(): string {
    return this.running.url;
  }

  tokenOf(email: string): Promise<string> {
    return localToken(this.folder.path, email);
  }

  /** The connections of the service at the server. */
  async serverConnections(): Promise<number> {
    return administer(this.server.connection, async (client) => {
      const { rows } = await client.query<{ count: number }>(
        `select count(*)::int as count from pg_stat_activity where usename = '${SERVICE_LOGIN}'`,
      );
      return rows[0]?.count ?? 0;
    });
  }

  async stop(): Promise<void> {
    try {
      await this.running.stop();
    } finally {
      await this.pooler.stop();
      await this.server.detach();
      await this.folder.remove();
    }
  }
}
