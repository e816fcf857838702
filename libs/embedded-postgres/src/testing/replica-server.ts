import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type QueryResultRow } from 'pg';
import { SERVER_ENV } from '../binaries.js';
import { PORT } from '../data-folder.js';
import type { Connection } from '../session.js';
import { until } from './until.js';

const PID_FILE = 'postmaster.pid';
const REPLICATION = 'local replication all peer map=banking\n';

/** The least that makes a standby of an embedded server. */
const SETTINGS = {
  listen_addresses: '',
  hot_standby: 'on',
  // At least that of the primary, and little memory beside it.
  max_connections: '50',
  shared_buffers: '64MB',
  wal_retrieve_retry_interval: '100ms',
};

/** Where a primary has its files, and its programs. */
interface PrimaryFiles {
  readonly data: string;
  readonly programs: string;
}

/** A streaming replica of an embedded server, for specs, runs under faults and benches. */
export class ReplicaServer {
  private child: ChildProcess | undefined;

  private constructor(
    private readonly root: string,
    private readonly programs: string,
    private readonly owner: { readonly uid: number; readonly gid: number },
    private readonly primary: Connection,
    private readonly primaryData: string,
    private readonly settings: Readonly<Record<string, string>>,
  ) {}

  /** Copies the primary while it runs, and starts the copy as its replica. */
  static async of(primary: Connection, settings: Readonly<Record<string, string>> = {}): Promise<ReplicaServer> {
    const client = new Client(primary);
    await client.connect();
    try {
      const { rows } = await client.query<PrimaryFiles>(
        `select current_setting('data_directory') as data, (select setting from pg_config where name = 'BINDIR') as programs`,
      );
      const { data, programs } = rows[0] as PrimaryFiles;
      await allowReplication(client, data);
      const root = mkdtempSync(join(tmpdir(), 'banking-replica-'));
      const replica = new ReplicaServer(root, programs, statSync(data), primary, data, settings);
      try {
        chmodSync(root, 0o711);
        await replica.copy(client, data);
        await replica.start();
        return replica;
      } catch (error) {
        await replica.remove();
        throw error;
      }
    } finally {
      await client.end();
    }
  }

  /** The login of the primary, over the socket of the replica. */
  get connection(): Connection {
    return { ...this.primary, host: join(this.root, 'socket') };
  }

  /** Begins with the process of the server. */
  get pidFile(): string {
    return join(this.data, PID_FILE);
  }

  /** The same of the primary. */
  get primaryPidFile(): string {
    return join(this.primaryData, PID_FILE);
  }

  /** Starts the server, and waits until it takes queries. */
  async start(): Promise<void> {
    const { host, port, user } = this.primary;
    const settings = {
      ...SETTINGS,
      primary_conninfo: `host='${host}' port=${port} user=${user} application_name=replica`,
      unix_socket_directories: join(this.root, 'socket'),
      ...this.settings,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const { uid, gid } = this.owner;
    const asOwner = process.geteuid?.() === 0 ? { uid, gid } : {};
    const options = { ...asOwner, cwd: this.data, env: SERVER_ENV, stdio: 'ignore' } as const;
    const child = spawn(join(this.programs, 'postgres'), ['-D', this.data, '-p', String(PORT), ...args], options);
    const killWithUs = () => child.kill('SIGQUIT');
    process.once('exit', killWithUs);
    child.once('exit', () => process.off('exit', killWithUs));
    this.child = child;
    await this.ready();
  }

  /** Runs a query as the superuser. */
  async query<Row extends QueryResultRow>(text: string): Promise<Row[]> {
    const client = new Client({ ...this.connection, connectionTimeoutMillis: 5_000 });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  }

  /** Stops the replay until `resume`. The log still arrives. */
  async pause(): Promise<void> {
    await this.query('select pg_wal_replay_pause()');
    await until(
      () => this.query<{ state: string }>('select pg_get_wal_replay_pause_state() as state'),
      ([row]) => row?.state === 'paused',
    );
  }

  async resume(): Promise<void> {
    await this.query('select pg_wal_replay_resume()');
  }

  /** Makes the replica a primary of its own. */
  async promote(): Promise<void> {
    await this.query('select pg_promote(true, 60)');
  }

  /** Ends the server as a crash does. */
  async stop(): Promise<void> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGQUIT');
    await ended;
  }

  /** Stops the server and removes its files. */
  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.root, { recursive: true, force: true });
  }

  private get data(): string {
    return join(this.root, 'data');
  }

  private async copy(client: Client, data: string): Promise<void> {
    await client.query(`select pg_backup_start('replica', true)`);
    execFileSync('cp', ['-a', data, this.data], { stdio: 'ignore' });
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
    for (const name of [PID_FILE, 'postmaster.opts']) rmSync(join(this.data, name), { force: true });
    this.write(join(this.data, 'backup_label'), rows[0]?.labelfile ?? '');
    this.write(join(this.data, 'standby.signal'), '');
    mkdirSync(join(this.root, 'socket'), { mode: 0o700 });
    this.giveAway(join(this.root, 'socket'));
  }

  private write(path: string, text: string): void {
    writeFileSync(path, text, { mode: 0o600 });
    this.giveAway(path);
  }

  private giveAway(path: string): void {
    if (process.geteuid?.() === 0) chownSync(path, this.owner.uid, this.owner.gid);
  }

  private async ready(): Promise<void> {
    const child = this.child as ChildProcess;
    const isOver = () => child.exitCode !== null || child.signalCode !== null;
    const failure = await until(
      () =>
        this.query('select 1').then(
          () => undefined,
          (error: unknown) => error,
        ),
      (error) => error === undefined || isOver(),
    );
    if (failure !== undefined) {
      const ending = child.exitCode ?? child.signalCode;
      throw new Error(`the replica did not start: postgres ended with ${ending}`, { cause: failure });
    }
  }
}

/** The embedded server writes this file at each start, and allows no replication. */
async function allowReplication(client: Client, data: string): Promise<void> {
  const path = join(data, 'pg_hba.conf');
  if (!readFileSync(path, 'utf8').includes(REPLICATION)) appendFileSync(path, REPLICATION);
  await client.query('select pg_reload_conf()');
}
