import { asCommitInDoubt, asUnavailable, ConnectionLost, type PipelineResults, sqlstateOf } from './failures.js';
import type { Session } from './session.js';
import { bind, sqlStatement, type BoundStatement, type RowsOfEach } from './sql-statement.js';
import {
  type ConnectionOptions,
  retryConflicts,
  SessionPool,
  type PoolOptions,
  type PoolStats,
  sendPipeline,
  useSession,
} from './session-pool.js';
import { type BindScope, type RlsScope, type ScopeCheck, type ScopeSettings, scopeBinder } from './rls-scope.js';
import { ReplicaReads, type ReplicaOptions } from './replica-reads.js';
import { CoalescedReads } from './coalesced-reads.js';
import { LOCK_TIMEOUT_MS, mayNotActAs, STATEMENT_TIMEOUT_MS } from './session-setup.js';
import { SQLSTATE } from './sqlstate.js';

/**
 * A database transaction: several pipelines that happen together or not at all.
 *
 * One pipeline at a time; await each before the next.
 */
export interface DbTransaction {
  /**
   * Sends statements in one round trip. BEGIN and the scope travel with the first pipeline.
   *
   * @throws Refusal `unavailable` when the database cannot serve; nothing has happened.
   * @throws DatabaseError for every other error of the server. Only a rollback is possible afterwards.
   */
  pipeline<const T extends readonly BoundStatement<unknown>[]>(bound: T): Promise<RowsOfEach<T>>;

  /**
   * Sends the last statements, if any, with COMMIT behind them, in one round trip. Once it resolves, they have happened.
   *
   * @throws CommitInDoubtError when the connection was lost before the response: it may have happened.
   * @throws Error when COMMIT answered ROLLBACK, because an earlier pipeline had failed; nothing has happened.
   * @throws as `pipeline` does; nothing has happened.
   */
  commit<const T extends readonly BoundStatement<unknown>[] = []>(bound?: T): Promise<RowsOfEach<T>>;
}

const begin = bind(sqlStatement('begin', 'begin'));
const beginSnapshot = bind(sqlStatement('begin_snapshot', 'begin isolation level repeatable read read only'));
const commit = bind(sqlStatement('commit', 'commit'));
const rollback = bind(sqlStatement('rollback', 'rollback'));

/** A database transaction that has a connection for itself. */
class SessionTx implements DbTransaction {
  private isBegun = false;
  private isOver = false;

  constructor(
    private readonly session: Session,
    private readonly boundScope: BoundStatement<unknown>,
    private readonly snapshot = false,
  ) {}

  async pipeline<const T extends readonly BoundStatement<unknown>[]>(bound: T): Promise<RowsOfEach<T>> {
    const opening = this.opening();
    const { rows } = await this.session
      .send([...opening, ...bound])
      .catch((error: unknown) => Promise.reject(asUnavailable(error)));
    if (this.session.transactionStatus !== 'T') {
      this.isOver = true;
      throw new Error('a statement ended the database transaction it was part of');
    }
    return rows.slice(opening.length) as RowsOfEach<T>;
  }

  async commit<const T extends readonly BoundStatement<unknown>[] = []>(bound?: T): Promise<RowsOfEach<T>> {
    const opening = this.opening();
    const calls: BoundStatement<unknown>[] = [...opening, ...(bound ?? []), commit];
    this.isOver = true;
    const { rows, tags } = await this.sendCommit(calls);
    const tag = tags.at(-1);
    if (tag !== 'COMMIT') throw new Error(`COMMIT answered ${tag}: an earlier statement had failed`);
    return rows.slice(opening.length, -1) as RowsOfEach<T>;
  }

  /** Rolls back what was not committed. Never throws: where ROLLBACK fails, the end of the connection rolls back. */
  async close(): Promise<void> {
    this.isOver = true;
    const { transactionStatus, isBusy } = this.session;
    if (isBusy || transactionStatus === undefined || transactionStatus === 'I') return;
    await this.session.send([rollback]).catch(() => undefined);
  }

  private opening(): BoundStatement<unknown>[] {
    if (this.isOver) throw new Error('the database transaction is over');
    if (this.isBegun) return [];
    const opening = [this.snapshot ? beginSnapshot : begin, this.boundScope];
    this.isBegun = true;
    return opening;
  }

  /** COMMIT is durable once its tag is received, even if the connection is lost afterwards. */
  private async sendCommit(calls: readonly BoundStatement<unknown>[]): Promise<PipelineResults> {
    try {
      return await this.session.send(calls);
    } catch (error) {
      if (error instanceof ConnectionLost && error.received.tags.length === calls.length) return error.received;
      throw asUnavailable(asCommitInDoubt(error));
    }
  }
}

export interface DatabaseOptions {
  readonly connection: ConnectionOptions;
  /**
   * Whether a pooler in transaction mode is in between, such as PgBouncer. It keeps no settings of a session, so
   * the login must have them. Default false.
   */
  readonly isPooled?: boolean;
  /** Taken on by every connection with SET ROLE. Without it, the login itself must be no superuser. */
  readonly role?: string;
  /** Where unqualified names are looked up. */
  readonly schema?: string;
  /** Lets the database refuse workspaces of a scope. Default: row-level security alone. */
  readonly scopeCheck?: ScopeCheck;
  /** Roles with more rights, which the login must not be able to take on. Without it the login may have any rights. */
  readonly forbiddenRoles?: readonly string[];
  /** Connections at most; more than eight to ten make a hot account slower. Default 8. */
  readonly poolSize?: number;
  /** How long a caller waits for a connection. Default 1000. */
  readonly acquireTimeoutMs?: number;
  /** How long one statement may run. A round trip, with the wait for a connection, may take a second more. Default 4000. */
  readonly statementTimeoutMs?: number;
  /** How long one statement may wait for a lock. Default 2000. */
  readonly lockTimeoutMs?: number;
  /** Whether connections remember statements by name. Default: unless `isPooled`; PgBouncer keeps names since 1.21. */
  readonly nameStatements?: boolean;
  /** The name of our connections in pg_stat_activity. Default `banking`. */
  readonly applicationName?: string;
  /** What every scope sets besides. */
  readonly settings?: ScopeSettings | undefined;
  /** Receives the error of a connection that breaks while it is idle; for the log. */
  readonly onError?: (error: Error) => void;
  /** Where `readPipeline` may read. Default: nowhere else. */
  readonly replica?: ReplicaOptions | undefined;
}

/** What the scope of each pipeline is made of. */
interface ScopeParts {
  readonly check: ScopeCheck | undefined;
  readonly role?: string;
  readonly settings: ScopeSettings | undefined;
  readonly approval?: number;
}

const ping = bind(sqlStatement('ping', 'select 1'));
const sessionLogin = sqlStatement<{ login: string }>('session_login', 'select session_user as login');

/**
 * The database: pipelines of statements, alone or in a database transaction.
 *
 * A database that cannot serve at the moment is a Refusal `unavailable`. Every other error of the server is a `DatabaseError`, with its
 * SQLSTATE in `code` and the name of our statement in `statement`.
 */
export class Database {
  private readonly coalescedReads: CoalescedReads;

  private readonly bindScope: BindScope;

  private constructor(
    private readonly pool: SessionPool,
    private readonly scope: ScopeParts,
    private readonly replicaReads: ReplicaReads | undefined,
  ) {
    const { check, role, settings, approval } = scope;
    const bindAny = scopeBinder(check, role, settings);
    const bindScope: BindScope = approval === undefined ? bindAny : (of) => bindAny({ ...of, approval });
    this.bindScope = bindScope;
    this.coalescedReads = new CoalescedReads({
      bindScope,
      isBusy: () => pool.isBusy,
      sendWhenFree: (calls) => sendPipeline(pool, calls),
      sendAlone: async (scope, bound) => (await this.pipeline(scope, [bound]))[0] as Record<string, unknown>[],
    });
  }

  /**
   * Opens the pool and proves on a first connection that the server keeps what is committed and row-level security holds.
   *
   * @throws DatabaseSetupError saying what to change.
   * @throws Refusal `unavailable` when the server cannot be reached.
   */
  static async open(options: DatabaseOptions): Promise<Database> {
    const isPooled = options.isPooled ?? false;
    const settings = {
      isPooled,
      role: options.role,
      schema: options.schema,
      forbiddenRoles: options.forbiddenRoles,
      poolSize: options.poolSize ?? 8,
      acquireTimeoutMs: options.acquireTimeoutMs ?? 1_000,
      statementTimeoutMs: options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS,
      lockTimeoutMs: options.lockTimeoutMs ?? LOCK_TIMEOUT_MS,
      nameStatements: options.nameStatements ?? !isPooled,
      applicationName: options.applicationName ?? 'banking',
      onError: options.onError ?? (() => undefined),
    };
    const pool = new SessionPool({ ...settings, connection: options.connection });
    const scope = { check: options.scopeCheck, settings: options.settings };
    const bindScope = scopeBinder(scope.check, undefined, scope.settings);
    const replicaReads = options.replica && openReplicaReads(pool, settings, bindScope, options.replica);
    const database = new Database(pool, scope, replicaReads);
    try {
      await database.ping();
      await database.replicaReads?.connect();
    } catch (error) {
      await database.end();
      throw error;
    }
    return database;
  }

  /**
   * The same connections, of which each pipeline and each database transaction takes on another role. The login must be a member of it.
   * It reads on the primary, and need not be ended.
   */
  as(role: string): Database {
    return new Database(this.pool, { ...this.scope, role }, undefined);
  }

  /** The same connections, of which each pipeline and each database transaction has these settings of the schema besides. */
  with(settings: ScopeSettings): Database {
    return new Database(
      this.pool,
      { ...this.scope, settings: { ...this.scope.settings, ...settings } },
      this.replicaReads,
    );
  }

  /** The same connections for the changes of an approved request: each scope names it, and the database allows what it approves. */
  carryingOut(approval: number): Database {
    return new Database(this.pool, { ...this.scope, approval }, undefined);
  }

  /**
   * Sends statements in one round trip and one implicit database transaction. Returns the rows of each, in order; after an error
   * nothing has happened.
   *
   * For reads, and for idempotent writes that no caller waits for: when the connection is lost, it throws `unavailable` although the
   * writes may have happened. For changes that a caller requested, use `write`.
   *
   * Tried at most five times after a deadlock or a serialization failure.
   *
   * @throws Refusal `unavailable`. @throws DatabaseError for every other error of the server.
   */
  async pipeline<const T extends readonly BoundStatement<unknown>[]>(
    scope: RlsScope,
    bound: T,
  ): Promise<RowsOfEach<T>> {
    const { rows } = await retryConflicts(() => sendPipeline(this.pool, [this.bindScope(scope), ...bound]));
    return rows.slice(1) as RowsOfEach<T>;
  }

  /**
   * Sends statements as `pipeline` does, with changes that a caller requested.
   *
   * @throws CommitInDoubtError when the connection is lost before the response is complete: it may have happened.
   * @throws as `pipeline` does; nothing has happened.
   */
  async write<const T extends readonly BoundStatement<unknown>[]>(scope: RlsScope, bound: T): Promise<RowsOfEach<T>> {
    const calls = [this.bindScope(scope), ...bound];
    const { rows } = await retryConflicts(() => sendPipeline(this.pool, calls, asCommitInDoubt));
    return rows.slice(1) as RowsOfEach<T>;
  }

  /**
   * Sends reads as `pipeline` does, for lists that need not be read on the primary. A replica may answer, with nothing less than what was
   * committed when the read began. Each statement has a snapshot of its own.
   */
  async readPipeline<const T extends readonly BoundStatement<unknown>[]>(
    scope: RlsScope,
    bound: T,
  ): Promise<RowsOfEach<T>> {
    const reading = { ...scope, isRead: true };
    const rows = await this.replicaReads?.read(reading, bound);
    return rows === undefined ? this.pipeline(reading, bound) : (rows as RowsOfEach<T>);
  }

  /** Sends one statement as `pipeline` does. Returns its first row, if there is one. */
  async read<Row>(scope: RlsScope, bound: BoundStatement<Row>): Promise<Row | undefined> {
    const [rows] = await this.pipeline(scope, [bound]);
    return rows[0];
  }

  /**
   * Reads one row as `read` does. While all connections are in use, such reads share a round trip: for short reads by a key only, because
   * each waits for the others.
   */
  async readCoalesced<Row>(scope: RlsScope, bound: BoundStatement<Row>): Promise<Row | undefined> {
    const [row] = await this.coalescedReads.read({ ...scope, isRead: true }, bound);
    return row as Row | undefined;
  }

  /**
   * Runs several pipelines in one database transaction (READ COMMITTED). What `work` does not commit is rolled back,
   * whether it returns or throws.
   *
   * After a deadlock or a serialization failure, which roll everything back, the whole of `work` runs again, at most five times in
   * total: it must have no effect outside of the database.
   *
   * @param options.snapshot reads only, all of it as of one instant (REPEATABLE READ), and once. Default false.
   * @throws what `work` throws, which includes what `DbTransaction` throws.
   */
  async transaction<T>(
    scope: RlsScope,
    work: (tx: DbTransaction) => Promise<T>,
    { snapshot = false }: { readonly snapshot?: boolean } = {},
  ): Promise<T> {
    const attempt = () => this.attempt(scope, work, snapshot);
    return snapshot ? attempt() : retryConflicts(attempt);
  }

  /** Proves that the login may take on a role, as by `as`. @throws DatabaseSetupError with the SQL for an administrator */
  async checkRole(role: string): Promise<void> {
    const [[session]] = await this.pipeline({}, [bind(sessionLogin)]);
    await this.as(role)
      .pipeline({}, [])
      .catch((error: unknown) => {
        if (sqlstateOf(error) !== SQLSTATE.insufficientPrivilege) throw error;
        throw mayNotActAs(session?.login ?? '', role, error);
      });
  }

  /** Proves that a connection is available and answers. @throws Refusal `unavailable`. */
  async ping(): Promise<void> {
    await sendPipeline(this.pool, [ping]);
  }

  /** Closes the connections as their users finish. May be called again. */
  async end(): Promise<void> {
    await Promise.all([this.pool.end(), this.replicaReads?.end()]);
  }

  stats(): PoolStats {
    return this.pool.stats();
  }

  private async attempt<T>(scope: RlsScope, work: (tx: DbTransaction) => Promise<T>, snapshot: boolean): Promise<T> {
    return useSession(this.pool, async (session) => {
      const tx = new SessionTx(session, this.bindScope(scope), snapshot);
      try {
        return await work(tx);
      } finally {
        await tx.close();
      }
    });
  }
}

const openReplicaReads = (
  pool: SessionPool,
  settings: Omit<PoolOptions, 'connection'>,
  bindScope: BindScope,
  replica: ReplicaOptions,
): ReplicaReads =>
  new ReplicaReads(
    settings,
    bindScope,
    { send: async (call) => (await sendPipeline(pool, [call])).rows[0] ?? [] },
    replica,
  );
