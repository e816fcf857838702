import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { appendFile, chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client, type QueryResultRow } from 'pg';
import type { PostgresPrograms } from './postgres-programs.js';

const START_MS = 120_000;
/** Only names the socket. */
const PORT = 5432;
export const DATABASE = 'banking';
export const LOGIN = 'banking';

/** The owner of a server, as which its programs run: PostgreSQL refuses to run as root. */
export interface OsUser {
  readonly uid: number;
  readonly gid: number;
}

/** A PostgreSQL server in a folder of its own. It listens on a Unix socket in that folder only. */
export class PostgresServer {
  private child: ChildProcess | undefined;
  private port = PORT;

  constructor(
    private readonly programs: PostgresPrograms,
    /** Owned by the user of the server. */
    readonly folder: string,
    private readonly user: OsUser | undefined,
  ) {}

  /** A server without data. `initialize` makes an empty cluster; a base backup may be put in `dataDir` instead. */
  static async inFolder(programs: PostgresPrograms, folder: string): Promise<PostgresServer> {
    const user = process.getuid?.() === 0 ? postgresUser() : undefined;
    await mkdir(folder, { recursive: true });
    await chmod(folder, 0o711);
    if (user !== undefined) await chown(folder, user.uid, user.gid);
    return new PostgresServer(programs, folder, user);
  }

  get dataDir(): string {
    return join(this.folder, 'data');
  }

  /** The path of the socket. */
  get socket(): string {
    return join(this.folder, `.s.PGSQL.${this.port}`);
  }

  /** Makes an empty cluster with these settings. */
  async initialize(settings: readonly string[] = []): Promise<void> {
    const { dataDir } = this;
    await this.run('initdb', ['-D', dataDir, '-U', 'postgres', '--auth=trust', '-E', 'UTF8', '--locale=C.UTF-8', '-k']);
    await this.configure([`listen_addresses = ''`, 'wal_level = replica', 'max_connections = 100', ...settings]);
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
    const child = spawn(join(this.programs.folder, 'postgres'), args, { stdio: ['ignore', log, log], ...this.user });
    closeSync(log);
    this.child = child;
    const killWithUs = () => child.kill('SIGQUIT');
    process.once('exit', killWithUs);
    child.once('exit', () => process.off('exit', killWithUs));
    await this.ready(isPrimary);
  }

  async ready(isPrimary = true): Promise<void> {
    const until = Date.now() + START_MS;
    for (;;) {
      try {
        const [row] = await this.query<{ standby: boolean }>('select pg_is_in_recovery() as standby', [], 'postgres');
        if (row?.standby !== isPrimary) return;
      } catch (error) {
        if (!this.isRunning) throw new Error(`PostgreSQL ended; see ${this.folder}/server.log`, { cause: error });
      }
      if (Date.now() > until) throw new Error(`PostgreSQL is not ready; see ${this.folder}/server.log`);
      await sleep(50);
    }
  }

  /** SIGINT stops the server after a checkpoint; SIGQUIT leaves recovery to the next start, as a crash does. */
  async stop(signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT'): Promise<void> {
    const { child } = this;
    if (child === undefined || !this.isRunning) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  }

  /** Makes the standby a primary. */
  async promote(): Promise<void> {
    await this.query('select pg_promote(true, 60)', [], 'postgres');
    await this.ready();
  }

  /** Runs a client program on this server, and returns its output. */
  async run(program: string, args: readonly string[], options: { readonly onServer?: boolean } = {}): Promise<string> {
    const on = options.onServer ? ['-h', this.folder, '-p', String(this.port), '-U', 'postgres'] : [];
    const { stdout } = await promisify(execFile)(join(this.programs.folder, program), [...on, ...args], {
      cwd: this.folder,
      maxBuffer: 1 << 28,
      ...this.user,
    });
    return stdout;
  }

  /** Runs a query as the superuser, without row-level security. */
  async query<Row extends QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    database = DATABASE,
  ): Promise<Row[]> {
    const client = new Client({
      host: this.folder,
      port: this.port,
      user: 'postgres',
      database,
      application_name: 'recovery',
    });
    client.on('error', () => undefined);
    await client.connect();
    try {
      await client.query('set search_path = banking, public, pg_temp');
      return (await client.query<Row>(text, [...values])).rows;
    } finally {
      await client.end();
    }
  }

  private get isRunning(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }
}

/** The login of the service and its database, as docs/run.md describes them for a sandbox. */
export async function createDatabase(server: PostgresServer): Promise<void> {
  await server.query(`create role ${LOGIN} login createrole`, [], 'postgres');
  await server.query(`create database ${DATABASE} owner ${LOGIN}`, [], 'postgres');
}

/** The user of the packages. @throws Error if root has no such user to run a server as */
function postgresUser(): OsUser {
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  const [, , uid, gid] = users.find((line) => line.startsWith('postgres:'))?.split(':') ?? [];
  if (uid === undefined) throw new Error('there is no user postgres to run a server as: run as another user than root');
  return { uid: Number(uid), gid: Number(gid) };
}
