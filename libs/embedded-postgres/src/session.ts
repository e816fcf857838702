import { Client } from 'pg';
import { PORT, type DataFolder } from './data-folder.js';

/** A connection as the superuser, over the Unix socket. */
export interface Connection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Explicit, because the environment (PGSSLMODE) may set another value. */
  readonly ssl: false;
}

export function connectionOf({ socket }: Pick<DataFolder, 'socket'>): Connection {
  return { host: socket, port: PORT, user: 'postgres', database: 'postgres', ssl: false };
}

/**
 * `busy`: it is starting, recovering or stopping, or has no connection left.
 * `broken`: files of the database are damaged or missing; waiting does not fix that.
 * `refused`: it does not accept our operating system user.
 * `silent`: no server answers.
 */
export type Unattached = 'busy' | 'broken' | 'refused' | 'silent';

/** SQLSTATEs of PostgreSQL (appendix A of its manual). `@banking/postgres` tests with this package, so its table is not used here. */
const STATUS_OF: Readonly<Record<string, Unattached>> = {
  '57P03': 'busy', // cannot connect now
  '57P01': 'busy', // a fast shutdown
  '53300': 'busy', // too many connections
  '28000': 'refused',
};

/** Classes of SQLSTATE: internal error and corrupted data, error of the file system, missing database. */
const BROKEN = /^(?:XX|58|3D)/;

/** The server ends the connection: a stop by another process, a crash, or a start. The answer precedes the end of the connection. */
const SERVER_ENDS = /^57P0[123]$/;

/** A key of two numbers. The keys of the service are one number, which never equals two. */
const LOCK = `1112425029, 1`;

/**
 * A session by which the server knows that a process uses it: it shares an advisory lock, which PostgreSQL releases when the process
 * ends, however it ends.
 */
export class AttachedSession {
  private isOpen = true;

  private constructor(private readonly client: Client) {}

  /** Attaches to a running server. A connection is the proof: a process, a socket file or a line in a log are none. */
  static async open(connection: Connection): Promise<AttachedSession | Unattached> {
    const options = { application_name: 'embedded server', connectionTimeoutMillis: 2_000, query_timeout: 20_000 };
    const client = new Client({ ...connection, ...options });
    const session = new AttachedSession(client);
    client.on('error', () => (session.isOpen = false));
    client.once('end', () => (session.isOpen = false));
    try {
      await client.connect();
      // Not granted: the last process that used the server is stopping it.
      if (await session.ask(`pg_try_advisory_lock_shared(${LOCK})`)) return session;
      await client.end();
      return 'busy';
    } catch (error) {
      await client.end().catch(() => undefined);
      const { code = '' } = error as { code?: string };
      return STATUS_OF[code] ?? (BROKEN.test(code) ? 'broken' : 'silent');
    }
  }

  /** Calls back when the connection ends, as it does with the server. Does not keep the process alive. */
  watch(onEnd: () => void): void {
    if (!this.isOpen) return onEnd();
    this.client.once('end', onEnd);
    (this.client as Client & { unref(): void }).unref();
  }

  /**
   * Stops using the server.
   *
   * @returns whether no other process uses it. None can attach from then on until `close`.
   */
  async leave(): Promise<boolean> {
    if (!this.isOpen) return false;
    (this.client as Client & { ref(): void }).ref();
    try {
      await this.ask(`pg_advisory_unlock_shared(${LOCK})`);
      return await this.ask(`pg_try_advisory_lock(${LOCK})`);
    } catch (error) {
      // Another process may stop the server as soon as the shared lock is free.
      if (!this.isOpen || SERVER_ENDS.test((error as { code?: string }).code ?? '')) return false;
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.client.end();
  }

  private async ask(expression: string): Promise<boolean> {
    const { rows } = await this.client.query<{ answer: boolean }>(`select ${expression} as answer`);
    return rows[0]?.answer === true;
  }
}
