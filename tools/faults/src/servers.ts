import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { appendFile, chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { Client, type QueryResultRow } from 'pg';
import { runEnd } from './run-end.js';

const START_MS = 120_000;
const PID_FILE = 'postmaster.pid';

interface Connection {
  /** The folder of the Unix socket. */
  readonly host: string;
  readonly port: number;
  /** The superuser. */
  readonly user: string;
  readonly database: string;
}

/**
 * A PostgreSQL server of a run. All queries here run as the superuser, beside the proxies, so that a fault of a process does not disturb
 * the judge.
 */
export abstract class Server {
  protected isAbandoned = false;

  abstract get connection(): Connection;
  /** The login of the services. */
  abstract get login(): string;
  abstract stop(): Promise<void>;
  /** Ends the server without a checkpoint, when the state of the run is of no more use. */
  abstract abandon(): Promise<void>;

  get socket(): string {
    return `${this.connection.host}/.s.PGSQL.${this.connection.port}`;
  }

  async query<Row extends QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    database = this.connection.database,
  ): Promise<Row[]> {
    const client = await this.connect(database);
    try {
      return (await client.query<Row>(text, [...values])).rows;
    } finally {
      await client.end();
    }
  }

  /** The number that a query returns as `count`. */
  async count(text: string, values: readonly unknown[] = []): Promise<number> {
    return (await this.query<{ count: number }>(text, values))[0]?.count ?? 0;
  }

  /** Changes rows behind triggers. */
  async changeSilently(text: string, values: readonly unknown[] = []): Promise<void> {
    const client = await this.connect();
    try {
      await client.query('set session_replication_role = replica');
      await client.query(text, [...values]);
    } finally {
      await client.end();
    }
  }

  async connect(database = this.connection.database): Promise<Client> {
    const { host, port, user } = this.connection;
    const limits = { application_name: 'faults', connectionTimeoutMillis: 5_000 };
    const client = new Client({ host, port, user, database, ...limits });
    client.on('error', () => undefined);
    await client.connect();
    await client.query('set search_path = banking, public, pg_temp');
    return client;
  }

  /** Resolves when the server takes queries. @throws Error after two minutes */
  async ready(): Promise<void> {
    const until = Date.now() + START_MS;
    for (;;) {
      this.requireRun();
      try {
        await this.query('select 1');
        return;
      } catch (error) {
        if (Date.now() > until) throw error;
        await sleep(50);
      }
    }
  }

  /** A loop that waits for the server ends with the run. */
  protected requireRun(): void {
    if (this.isAbandoned) throw new Error('the run has ended');
  }
}

/** Without these an acknowledged order may be lost in a crash, and a run would prove nothing. */
const DURABLE = ['fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums'];

/** The connections of the services. */
const BACKENDS = `
  select pid from pg_stat_activity
  where backend_type = 'client backend' and application_name like 'banking%' and pid <> pg_backend_pid()
  order by pid`;

/** The embedded server, so that a postmaster that was killed is started again as for a user. */
export class DatabaseServer extends Server {
  private folder = '';

  private constructor(private readonly embedded: EmbeddedServer) {
    super();
  }

  /**
   * @param isReplicated whether other servers subscribe to it
   * @throws Error if the server could lose a commit
   */
  static async start(dataDir: string, isReplicated = false): Promise<DatabaseServer> {
    runEnd.add({ pidFile: join(dataDir, 'database', PID_FILE) });
    const server = new DatabaseServer(await attachEmbeddedServer({ dataDir, isReplicated }));
    const settings = await server.query<{ name: string; setting: string }>(
      'select name, setting from pg_settings where name = any($1)',
      [[...DURABLE, 'data_directory']],
    );
    const valueOf = (wanted: string) => settings.find(({ name }) => name === wanted)?.setting;
    server.folder = valueOf('data_directory') ?? '';
    const off = DURABLE.filter((name) => valueOf(name) !== 'on');
    if (off.length > 0) throw new Error(`the server could lose a commit: ${off.join(', ')} must be on`);
    return server;
  }

  get connection(): EmbeddedServer['connection'] {
    return this.embedded.connection;
  }

  get login(): string {
    return this.embedded.connection.user;
  }

  /**
   * Ends the postmaster and waits until the next one takes queries. SIGKILL leaves the backends to end by themselves; SIGQUIT is the
   * immediate mode of shutdown. Both leave recovery to the next start.
   */
  async endPostmaster(signal: 'SIGKILL' | 'SIGQUIT'): Promise<void> {
    const pid = this.requirePostmaster();
    process.kill(pid, signal);
    // Until it is gone, it may still take a query.
    while (isAlive(pid)) {
      this.requireRun();
      await sleep(10);
    }
    await this.ready();
  }

  /**
   * Ends one backend of a service: by the server itself, or with SIGKILL, after which the server restarts all of them.
   *
   * @returns whether there was one
   */
  async endBackend(how: 'terminate' | 'kill', target: number): Promise<boolean> {
    try {
      const backends = await this.query<{ pid: number }>(BACKENDS);
      const chosen = backends[target % Math.max(1, backends.length)];
      if (chosen === undefined) return false;
      if (how === 'terminate') await this.query('select pg_terminate_backend($1)', [chosen.pid]);
      else process.kill(chosen.pid, 'SIGKILL');
      return true;
    } catch {
      // The server still recovers from an earlier fault, or the backend has just ended.
      return false;
    }
  }

  /** Stops all processes of the server as they are, so that connections stay open and nothing responds. @returns what lets them go on */
  freeze(): () => void {
    const pid = this.requirePostmaster();
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean);
    const frozen = [pid, ...children.map(Number)];
    for (const one of frozen) process.kill(one, 'SIGSTOP');
    return () => frozen.forEach((one) => isAlive(one) && process.kill(one, 'SIGCONT'));
  }

  async stop(): Promise<void> {
    await this.embedded.detach();
    runEnd.remove({ pidFile: join(this.folder, PID_FILE) });
  }

  async abandon(): Promise<void> {
    this.isAbandoned = true;
    let isDetached = false;
    const detached = this.stop().finally(() => (isDetached = true));
    // A restart may be under way, so that there is another postmaster each time.
    while (!isDetached) {
      const pid = this.postmaster();
      if (pid !== undefined && isAlive(pid)) process.kill(pid, 'SIGQUIT');
      await Promise.race([detached, sleep(100)]);
    }
  }

  private requirePostmaster(): number {
    const pid = this.postmaster();
    if (pid === undefined) throw new Error('there is no postmaster');
    return pid;
  }

  private postmaster(): number | undefined {
    const file = join(this.folder, PID_FILE);
    if (!existsSync(file)) return undefined;
    const pid = Number.parseInt(readFileSync(file, 'latin1'), 10);
    return pid > 0 ? pid : undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Of PostgreSQL. The embedded one has only some of them. */
const PROGRAMS = ['initdb', 'postgres', 'pg_dump', 'pg_dumpall', 'pg_restore', 'pg_basebackup', 'psql'];
const DEBIAN_FOLDER = '/usr/lib/postgresql';

/** The folder of the installed programs: that of `pg_config`, or of the newest version of Debian's packages. */
export function programsFolder(): string | undefined {
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER).filter((name) => /^\d+$/.test(name)) : [];
  versions.sort((a, b) => Number(b) - Number(a));
  const folders = [pgConfigFolder(), ...versions.map((name) => join(DEBIAN_FOLDER, name, 'bin'))];
  return folders.find((folder) => folder && PROGRAMS.every((name) => existsSync(join(folder, name))));
}

function pgConfigFolder(): string | undefined {
  try {
    return execFileSync('pg_config', ['--bindir'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}

const PORT = 5432;

/** A server of the installed programs, in a folder of its own. It listens on a Unix socket in that folder only. */
export class InstalledServer extends Server {
  private child: ChildProcess | undefined;
  private port = PORT;
  readonly login = 'banking';

  private constructor(
    private readonly programs: string,
    /** Owned by the user of the server. */
    readonly folder: string,
    private readonly user: { readonly uid: number; readonly gid: number } | undefined,
  ) {
    super();
  }

  /** A server without data. `initialize` makes an empty cluster; a base backup may be put in `dataDir` instead. */
  static async inFolder(folder: string): Promise<InstalledServer> {
    const user = process.getuid?.() === 0 ? postgresUser() : undefined;
    await mkdir(folder, { recursive: true });
    await chmod(folder, 0o711);
    if (user !== undefined) await chown(folder, user.uid, user.gid);
    return new InstalledServer(programsFolder() ?? '', folder, user);
  }

  get connection(): Connection {
    return { host: this.folder, port: this.port, user: 'postgres', database: 'banking' };
  }

  get dataDir(): string {
    return join(this.folder, 'data');
  }

  /** Makes an empty cluster with these settings, and starts it. */
  async initialize(settings: readonly string[] = []): Promise<void> {
    const { dataDir } = this;
    await this.run('initdb', ['-D', dataDir, '-U', 'postgres', '--auth=trust', '-E', 'UTF8', '--locale=C.UTF-8', '-k']);
    await this.configure([`listen_addresses = ''`, 'wal_level = replica', 'max_connections = 100', ...settings]);
    await this.start();
  }

  /** The login of the service and its database, as docs/run.md describes them for a sandbox. */
  async createDatabase(): Promise<void> {
    await this.query(`create role ${this.login} login createrole`, [], 'postgres');
    await this.query(`create database banking owner ${this.login}`, [], 'postgres');
  }

  /** Adds settings, of which the last one of a name holds. */
  async configure(settings: readonly string[]): Promise<void> {
    await appendFile(join(this.dataDir, 'postgresql.conf'), `${settings.join('\n')}\n`);
  }

  /** Tells the server at its next start to recover from the archive. */
  async signalRecovery(): Promise<void> {
    const path = join(this.dataDir, 'recovery.signal');
    await writeFile(path, '');
    if (this.user !== undefined) await chown(path, this.user.uid, this.user.gid);
  }

  /** Starts the server and waits until it takes queries, as a primary if `isPrimary`. @throws Error if it ends before */
  async start({ isPrimary = true, port = PORT } = {}): Promise<void> {
    this.port = port;
    const log = openSync(join(this.folder, 'server.log'), 'a');
    // The folder of the socket of a base backup is that of another server.
    const args = ['-D', this.dataDir, '-c', `unix_socket_directories=${this.folder}`, '-c', `port=${port}`];
    const child = spawn(join(this.programs, 'postgres'), args, { stdio: ['ignore', log, log], ...this.user });
    closeSync(log);
    this.child = child;
    const killWithUs = () => child.kill('SIGQUIT');
    process.once('exit', killWithUs);
    runEnd.add({ pidFile: join(this.dataDir, PID_FILE) });
    child.once('exit', () => {
      process.off('exit', killWithUs);
      runEnd.remove({ pidFile: join(this.dataDir, PID_FILE) });
    });
    await this.readyAs(isPrimary);
  }

  /** SIGINT stops the server after a checkpoint; SIGQUIT leaves recovery to the next start, as a crash does. */
  async stop(signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT'): Promise<void> {
    const { child } = this;
    if (child === undefined || !this.isRunning) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  async abandon(): Promise<void> {
    this.isAbandoned = true;
    await this.stop('SIGQUIT');
  }

  async promote(): Promise<void> {
    await this.query('select pg_promote(true, 60)', [], 'postgres');
    await this.readyAs(true);
  }

  async runOn(program: string, ...args: readonly string[]): Promise<void> {
    await this.run(program, ['-h', this.folder, '-p', String(this.port), '-U', 'postgres', ...args]);
  }

  private async run(program: string, args: readonly string[]): Promise<void> {
    const options = { cwd: this.folder, maxBuffer: 1 << 28, ...this.user };
    await promisify(execFile)(join(this.programs, program), [...args], options);
  }

  private async readyAs(isPrimary: boolean): Promise<void> {
    const until = Date.now() + START_MS;
    const log = `see ${this.folder}/server.log`;
    for (;;) {
      this.requireRun();
      try {
        const [row] = await this.query<{ standby: boolean }>('select pg_is_in_recovery() as standby', [], 'postgres');
        if (row?.standby !== isPrimary) return;
      } catch (error) {
        if (!this.isRunning) throw new Error(`PostgreSQL ended; ${log}`, { cause: error });
      }
      if (Date.now() > until) throw new Error(`PostgreSQL is not ready; ${log}`);
      await sleep(50);
    }
  }

  private get isRunning(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }
}

/** The user of the packages. @throws Error if root has no such user to run a server as */
function postgresUser(): { readonly uid: number; readonly gid: number } {
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  const [, , uid, gid] = users.find((line) => line.startsWith('postgres:'))?.split(':') ?? [];
  if (uid === undefined) throw new Error('there is no user postgres to run a server as: run as another user than root');
  return { uid: Number(uid), gid: Number(gid) };
}
