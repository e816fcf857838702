import { setTimeout as pause } from 'node:timers/promises';
import { type Client, DatabaseError } from 'pg';

const PAUSE_MS = 20;
const ROWS_MIN = 1_000;
const LOCK_NOT_AVAILABLE = '55P03';
const UNDEFINED_TABLE = '42P01';

/** The longest time that a request for one table took. */
export interface Wait {
  readonly table: string;
  readonly ms: number;
  /** Whether the request waited for a lock until the limit and was given up. */
  readonly isGivenUp: boolean;
}

/**
 * Takes the locks of an order on each large table, every 20 ms, and measures how long that takes. It inserts no row: an INSERT that
 * selects nothing takes the lock of an INSERT, and reading one row FOR NO KEY UPDATE waits for a transaction that has changed it.
 */
export class LockProbe {
  private isStopping = false;

  private constructor(private readonly loops: readonly Promise<Wait>[]) {}

  /** @param connect makes a connection as a superuser, so that triggers and policies of the tables do not matter */
  static async start(connect: () => Promise<Client>, limitMs: number): Promise<LockProbe> {
    const client = await connect();
    const { rows } = await client.query<{ name: string }>(
      `select relname as name from pg_class
        where relnamespace = 'banking'::regnamespace and relkind = 'r' and reltuples >= $1 order by relname`,
      [ROWS_MIN],
    );
    await client.end();
    if (rows.length === 0) throw new Error('there is no large table');
    const loops: Promise<Wait>[] = [];
    const probe = new LockProbe(loops);
    for (const { name } of rows) {
      const own = await connect();
      await own.query(
        `set search_path = banking, pg_temp; set session_replication_role = replica; set lock_timeout = ${limitMs}`,
      );
      const loop = probe.run(own, name).finally(() => own.end());
      // Its failure is reported when the probe stops.
      loop.catch(() => undefined);
      loops.push(loop);
    }
    return probe;
  }

  /** @returns the longest wait of all tables */
  async stop(): Promise<Wait> {
    this.isStopping = true;
    const waits = await Promise.all(this.loops);
    return waits.reduce((longest, wait) => (isLonger(wait, longest) ? wait : longest));
  }

  private async run(client: Client, table: string): Promise<Wait> {
    let longest: Wait = { table, ms: 0, isGivenUp: false };
    while (!this.isStopping) {
      const beganAt = performance.now();
      const isGivenUp = await takeLocks(client, table);
      if (isGivenUp === undefined) return longest;
      const wait = { table, ms: performance.now() - beganAt, isGivenUp };
      if (isLonger(wait, longest)) longest = wait;
      await pause(PAUSE_MS);
    }
    return longest;
  }
}

const isLonger = (one: Wait, other: Wait) => (one.isGivenUp === other.isGivenUp ? one.ms > other.ms : one.isGivenUp);

/** @returns whether the server gave up the wait; undefined after a migration has removed the table */
async function takeLocks(client: Client, table: string): Promise<boolean | undefined> {
  try {
    await client.query(
      `insert into ${table} select * from ${table} limit 0; select from ${table} limit 1 for no key update`,
    );
    return false;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    if (error.code === UNDEFINED_TABLE) return undefined;
    if (error.code === LOCK_NOT_AVAILABLE) return true;
    throw error;
  }
}
