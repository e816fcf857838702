import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { Client, type QueryResultRow } from 'pg';
import { runEnd } from './end-with-run.js';

/** Without these an acknowledged order may be lost in a crash, and a run would prove nothing. */
const DURABLE = ['fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums'] as const;

const RESTART_MS = 60_000;
const PID_FILE = 'postmaster.pid';

/** The connections of the services. */
const BACKENDS = `
  select pid from pg_stat_activity
  where backend_type = 'client backend' and application_name like 'banking%' and pid <> pg_backend_pid()
  order by pid`;

/**
 * The PostgreSQL server of a run. It is the embedded one, so that a postmaster that was killed is started again as for a user. All
 * queries here run as the superuser, beside the proxies, so that a fault of a process does not disturb the judge.
 */
export class DatabaseServer {
  private isAbandoned = false;

  private constructor(
    private readonly embedded: EmbeddedServer,
    private readonly folder: string,
  ) {}

  /**
   * @param isReplicated whether other servers subscribe to it
   * @throws Error if the server could lose a commit
   */
  static async start(dataDir: string, log: (line: string) => void, isReplicated = false): Promise<DatabaseServer> {
    runEnd.add({ pidFile: join(dataDir, 'database', PID_FILE) });
    const embedded = await attachEmbeddedServer({ dataDir, log, isReplicated });
    const [row] = await queryOnce<{ folder: string }>(embedded, `select current_setting('data_directory') as folder`);
    const server = new DatabaseServer(embedded, row?.folder ?? '');
    await server.requireDurability();
    return server;
  }

  /** The path of the socket, for a proxy. */
  get socket(): string {
    const { host, port } = this.embedded.connection;
    return `${host}/.s.PGSQL.${port}`;
  }

  /** Of the superuser. */
  get connection(): EmbeddedServer['connection'] {
    return this.embedded.connection;
  }

  get login(): { readonly user: string; readonly database: string } {
    const { user, database } = this.embedded.connection;
    return { user, database };
  }

  async query<Row extends QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return queryOnce(this.embedded, text, values);
  }

  /** A connection of its own, for many queries. */
  async connect(): Promise<Client> {
    return connectTo(this.embedded);
  }

  /**
   * Ends the postmaster and waits until the next one takes queries. SIGKILL leaves the backends to end by themselves; SIGQUIT is the
   * immediate mode of shutdown. Both leave recovery to the next start.
   */
  async endPostmaster(signal: 'SIGKILL' | 'SIGQUIT'): Promise<void> {
    const pid = this.postmaster();
    if (pid === undefined) throw new Error('there is no postmaster to end');
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
    const pid = this.postmaster();
    if (pid === undefined) throw new Error('there is no postmaster to stop');
    const frozen = withChildren(pid);
    for (const one of frozen) process.kill(one, 'SIGSTOP');
    return () => frozen.forEach((one) => isAlive(one) && process.kill(one, 'SIGCONT'));
  }

  /** Resolves when the server takes queries. @throws Error after a minute */
  async ready(): Promise<void> {
    const until = Date.now() + RESTART_MS;
    for (;;) {
      this.requireRun();
      try {
        await this.query('select 1');
        return;
      } catch (error) {
        if (Date.now() > until) throw error;
        await sleep(100);
      }
    }
  }

  async stop(): Promise<void> {
    await this.embedded.detach();
    runEnd.remove({ pidFile: join(this.folder, PID_FILE) });
  }

  /** Ends the server without a checkpoint, when the state of the run is of no more use. */
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

  /** A loop that waits for the server ends with the run. */
  private requireRun(): void {
    if (this.isAbandoned) throw new Error('the run has ended');
  }

  private async requireDurability(): Promise<void> {
    const settings = await this.query<{ name: string; setting: string }>(
      'select name, setting from pg_settings where name = any($1)',
      [DURABLE],
    );
    const off = settings.filter(({ setting }) => setting !== 'on').map(({ name }) => name);
    if (settings.length !== DURABLE.length || off.length > 0) {
      throw new Error(`the server could lose a commit: ${off.join(', ') || 'a setting is missing'} must be on`);
    }
  }

  /** Undefined while no server runs. */
  private postmaster(): number | undefined {
    try {
      const pid = Number.parseInt(readFileSync(join(this.folder, PID_FILE), 'latin1'), 10);
      return pid > 0 ? pid : undefined;
    } catch {
      return undefined;
    }
  }
}

/** The process and those that it has started. */
function withChildren(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1');
  return [pid, ...children.split(' ').filter(Boolean).map(Number)];
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function connectTo({ connection }: EmbeddedServer): Promise<Client> {
  const client = new Client({ ...connection, application_name: 'faults', connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function queryOnce<Row extends QueryResultRow>(
  embedded: EmbeddedServer,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const client = await connectTo(embedded);
  try {
    await client.query('set search_path = banking, pg_temp');
    return (await client.query<Row>(text, [...values])).rows;
  } finally {
    await client.end();
  }
}
