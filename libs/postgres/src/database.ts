import { doubtOf, isStalePlan, outcomeOf } from './failures.js';
import type { Landing } from './flight.js';
import { bindScope, type Scope } from './scope.js';
import type { Session } from './session.js';
import { repeat } from './repeat.js';
import { SessionPool, type ConnectionOptions, type PoolStats } from './session-pool.js';
import { bind, statement, type Bound, type RowsOfEach } from './statement.js';
import { SessionTx, type Tx } from './tx.js';

export interface DatabaseOptions {
  readonly connection: ConnectionOptions;
  /** Taken on by every connection with SET ROLE. Without it, the login itself must be no superuser. */
  readonly role?: string;
  /** Where unqualified names are looked up. */
  readonly schema?: string;
  /** Roles with more rights, which the login must not be able to take on. Without it the login may have any rights. */
  readonly forbiddenRoles?: readonly string[];
  /** Connections at most; more than eight to ten make a hot account slower. Default 8. */
  readonly poolSize?: number;
  /** How long a caller waits for a connection. Default 1000. */
  readonly acquireTimeoutMs?: number;
  /** How long one statement may run. A round trip may take a second more, with the time until a connection was had. Default 4000. */
  readonly statementTimeoutMs?: number;
  /** How long one statement may wait for a lock. Default 2000. */
  readonly lockTimeoutMs?: number;
  /** Whether connections remember statements by name. Off behind PgBouncer before 1.21 in transaction mode. Default true. */
  readonly nameStatements?: boolean;
  /** How our connections are called in pg_stat_activity. Default `banking`. */
  readonly applicationName?: string;
  /** Told when a connection breaks that nobody was using; for the log. */
  readonly onError?: (error: Error) => void;
}

const one = bind(statement('ping', 'select 1'));

/**
 * The way to the database: statements in flights, alone or in a database transaction.
 *
 * Whatever cannot be served at the moment is a Refusal `unavailable`; everything else the database objects to comes
 * through as `DatabaseError`, with its SQLSTATE in `code` and the name of our statement in `statement`.
 */
export class Database {
  private constructor(private readonly pool: SessionPool) {}

  /**
   * Opens the pool and proves on a first connection that the server keeps what is committed and row-level security holds.
   *
   * @throws DatabaseSetupError saying what to change.
   * @throws Refusal `unavailable` when the server cannot be reached.
   */
  static async open(options: DatabaseOptions): Promise<Database> {
    const pool = new SessionPool({
      connection: options.connection,
      role: options.role,
      schema: options.schema,
      forbiddenRoles: options.forbiddenRoles,
      poolSize: options.poolSize ?? 8,
      acquireTimeoutMs: options.acquireTimeoutMs ?? 1_000,
      statementTimeoutMs: options.statementTimeoutMs ?? 4_000,
      lockTimeoutMs: options.lockTimeoutMs ?? 2_000,
      nameStatements: options.nameStatements ?? true,
      applicationName: options.applicationName ?? 'banking',
      onError: options.onError ?? (() => undefined),
    });
    const database = new Database(pool);
    try {
      await database.ping();
    } catch (error) {
      await pool.end();
      throw error;
    }
    return database;
  }

  /**
   * Sends statements in one round trip and one implicit database transaction: the rows of each, in order, or an error
   * and nothing has happened.
   *
   * For reads, and for writes that are repeated without harm and without telling a caller: when the connection is lost, the answer is
   * `unavailable` although they may have happened. For what a caller asked for, use `write`.
   *
   * Sent again, at most five times, after a deadlock or a serialization failure.
   *
   * @throws Refusal `unavailable`. @throws DatabaseError for what the database objects to.
   */
  async flight<const T extends readonly Bound<unknown>[]>(scope: Scope, bound: T): Promise<RowsOfEach<T>> {
    const { rows } = await repeat(() => this.alone([bindScope(scope), ...bound]));
    return rows.slice(1) as RowsOfEach<T>;
  }

  /**
   * Sends statements as `flight` does, of which some change what a caller asked to change.
   *
   * @throws CommitInDoubtError when the connection is lost before the server has answered all of it: it may have happened.
   * @throws as `flight` does; nothing has happened.
   */
  async write<const T extends readonly Bound<unknown>[]>(scope: Scope, bound: T): Promise<RowsOfEach<T>> {
    const { rows } = await repeat(() => this.alone([bindScope(scope), ...bound], doubtOf));
    return rows.slice(1) as RowsOfEach<T>;
  }

  /** Sends one statement as `flight` does. The first row of its answer, if there is one. */
  async read<Row>(scope: Scope, bound: Bound<Row>): Promise<Row | undefined> {
    const [rows] = await this.flight(scope, [bound]);
    return rows[0];
  }

  /**
   * Does several flights in one database transaction (READ COMMITTED). What `work` does not commit is rolled back,
   * whether it returns or throws.
   *
   * After a deadlock or a serialization failure, which roll everything back, the whole of `work` is done again, at most
   * five times: it must have no effect outside of the database.
   *
   * @param options.snapshot reads only, all of it as of one instant (REPEATABLE READ), and once. Default false.
   * @throws whatever `work` throws, which includes what `Tx` throws.
   */
  async transaction<T>(
    scope: Scope,
    work: (tx: Tx) => Promise<T>,
    { snapshot = false }: { readonly snapshot?: boolean } = {},
  ): Promise<T> {
    const attempt = () => this.attempt(scope, work, snapshot);
    return snapshot ? attempt() : repeat(attempt);
  }

  /** Proves that a connection can be had and answers. @throws Refusal `unavailable`. */
  async ping(): Promise<void> {
    await this.alone([one]);
  }

  /** Closes the connections as their users finish. May be called again. */
  async end(): Promise<void> {
    await this.pool.end();
  }

  stats(): PoolStats {
    return this.pool.stats();
  }

  private async attempt<T>(scope: Scope, work: (tx: Tx) => Promise<T>, snapshot: boolean): Promise<T> {
    return this.withSession(async (session) => {
      const tx = new SessionTx(session, scope, snapshot);
      try {
        return await work(tx);
      } finally {
        await tx.close();
      }
    });
  }

  private alone(calls: readonly Bound<unknown>[], failureOf = (error: unknown) => error): Promise<Landing> {
    return this.withSession(async (session) => {
      const landing = await session.fly(calls).catch((error: unknown) => Promise.reject(failureOf(error)));
      if (session.transactionStatus !== 'I') throw new Error('a lone flight left a database transaction open');
      return landing;
    });
  }

  private async withSession<T>(use: (session: Session) => Promise<T>): Promise<T> {
    const session = await this.pool.acquire();
    try {
      return await use(session);
    } catch (error) {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      if (isStalePlan(error) || isStalePlan(cause)) this.pool.renew();
      throw outcomeOf(error);
    } finally {
      this.pool.release(session);
    }
  }
}
