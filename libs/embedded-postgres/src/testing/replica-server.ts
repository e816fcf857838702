import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type QueryResultRow } from 'pg';
import type { Binaries } from '../binaries.js';
import type { DataFolder } from '../data-folder.js';
import { isRunning, serverPid, startServer, stopServer } from '../server.js';
import { giveTo } from '../server-user.js';
import { connectionOf, type Connection } from '../session.js';
import { until } from './until.js';

const PID_FILE = 'postmaster.pid';
const REPLICATION = 'local replication all peer map=banking\n';

/** The least that makes a standby of an embedded server. */
const SETTINGS = { hot_standby: 'on', shared_buffers: '64MB', wal_retrieve_retry_interval: '100ms' };

const ignore = () => undefined;

/** Where a primary has its files, and its programs. */
interface PrimaryFiles {
  readonly data: string;
  readonly programs: string;
}

/** A streaming replica of an embedded server, for specs, runs under faults and benches. */
export class ReplicaServer {
  private constructor(
    private readonly folder: DataFolder,
    private readonly binaries: Pick<Binaries, 'pgCtl'>,
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
      const dataDir = realpathSync(mkdtempSync(join(tmpdir(), 'banking-replica-')));
      const { uid, gid } = statSync(data);
      const user = process.geteuid?.() === 0 ? { name: String(uid), uid, gid } : undefined;
      const paths = { database: join(dataDir, 'database'), socket: join(dataDir, 'socket') };
      const folder = { dataDir, user, ...paths, log: join(dataDir, 'server.log') };
      const replica = new ReplicaServer(folder, { pgCtl: join(programs, 'pg_ctl') }, primary, data, settings);
      try {
        chmodSync(dataDir, 0o711);
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
    return { ...this.primary, host: connectionOf(this.folder).host };
  }

  /** Begins with the process of the server. */
  get pidFile(): string {
    return join(this.folder.database, PID_FILE);
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
      ...this.settings,
    };
    await startServer(this.folder, this.binaries, settings, ignore);
    process.off('exit', this.killWithUs).once('exit', this.killWithUs);
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
    process.off('exit', this.killWithUs);
    await stopServer(this.folder, this.binaries, ignore, { isBroken: true });
  }

  /** Stops the server and removes its files. */
  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.folder.dataDir, { recursive: true, force: true });
  }

  private readonly killWithUs = () => {
    if (isRunning(this.folder)) process.kill(serverPid(this.folder)!, 'SIGQUIT');
  };

  private async copy(client: Client, data: string): Promise<void> {
    const { database, socket, user } = this.folder;
    await client.query(`select pg_backup_start('replica', true)`);
    execFileSync('cp', ['-a', data, database], { stdio: 'ignore' });
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
    for (const name of [PID_FILE, 'postmaster.opts']) rmSync(join(database, name), { force: true });
    const files = { backup_label: rows[0]?.labelfile ?? '', 'standby.signal': '' };
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(database, name), text, { mode: 0o600 });
      giveTo(user, join(database, name));
    }
    mkdirSync(socket, { mode: 0o700 });
    giveTo(user, socket);
  }
}

/** The embedded server writes this file at each start, and allows no replication. */
async function allowReplication(client: Client, data: string): Promise<void> {
  const path = join(data, 'pg_hba.conf');
  if (!readFileSync(path, 'utf8').includes(REPLICATION)) appendFileSync(path, REPLICATION);
  await client.query('select pg_reload_conf()');
}
