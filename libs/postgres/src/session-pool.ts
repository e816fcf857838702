import { setTimeout as pause } from 'node:timers/promises';
import { Pool, type ClientBase, type PoolClient, Client, type ClientConfig, type PoolConfig } from 'pg';
import { connectionChannel, retryChannel } from './channels.js';
import {
  asConnectionFailure,
  isUnavailable,
  unavailable,
  asUnavailable,
  isReadOnlyServer,
  isStalePlan,
  isConflict,
  sqlstateOf,
  type PipelineResults,
} from './failures.js';
import { Session, type SessionClient } from './session.js';
import { sessionSetup, type SessionSettings } from './session-setup.js';
import type { BoundStatement } from './sql-statement.js';
import { backoffMs, RETRY_POLICIES } from './backoff.js';

export interface PoolOptions extends Omit<SessionSettings, 'setupTimeoutMs'> {
  readonly connection: ConnectionOptions;
  readonly poolSize: number;
  readonly acquireTimeoutMs: number;
  readonly nameStatements: boolean;
  readonly onError: (error: Error) => void;
}

/** The number of connections, of those that are idle, and of callers that wait for one. */
export interface PoolStats {
  readonly total: number;
  readonly idle: number;
  readonly waiting: number;
}

/** Connections are replaced about hourly. */
const LIFETIME_MS = 60 * 60_000;

/** Connections that are set up, proven and healthy. Each serves one caller at a time. */
export class SessionPool {
  private readonly pool: Pool;
  private readonly host: CurrentHost;
  private readonly setUp: (client: ClientBase) => Promise<void>;
  private readonly members = new WeakMap<ClientBase, { session: Session; generation: number; dueAtMs: number }>();
  private generation = 0;
  /** When a pipeline was sent that the server did not answer in time. */
  private silentSinceMs = -Infinity;
  private ended: Promise<void> | undefined;
  /** Refuse the callers that have no connection yet. */
  private readonly waiting = new Set<(error: unknown) => void>();
  /** Whether the server has accepted the login once. */
  private wasAccepted = false;

  /** @throws Error for invalid settings. */
  constructor(private readonly options: PoolOptions) {
    this.host = new CurrentHost(options.connection);
    // Each host has the whole time, as connect_timeout of libpq: with a part of it, a host that is slow but well would be left.
    this.setUp = sessionSetup({ ...options, setupTimeoutMs: options.acquireTimeoutMs });
    this.pool = new Pool({
      // `pg-pool` gives the constructor its options, although its types do not declare it.
      Client: hostClient(this.host, options.acquireTimeoutMs) as unknown as new () => ClientBase,
      application_name: options.applicationName,
      max: options.poolSize,
      connectionTimeoutMillis: options.acquireTimeoutMs,
      idleTimeoutMillis: 0,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      // `pg-pool` awaits the promise, although its types do not declare it.
      onConnect: ((client) => this.openSession(client as SessionClient)) as (client: ClientBase) => void,
    });
    this.pool.on('error', (error) => {
      // The pool does not wait until its connections are closed: the embedded server may stop before.
      if (this.ended === undefined) options.onError(error);
    });
  }

  /**
   * Returns a connection on which the server has answered since another one went silent, and that is no older than the last `renew`. A
   * network that drops one connection drops several, and each would cost a caller the whole time limit.
   *
   * @throws Refusal `unavailable` when no connection became free, or none could be made, in time.
   * @throws DatabaseSetupError when the server, the login or the role is not what this service needs.
   */
  async acquire(): Promise<Session> {
    if (this.ended !== undefined) throw stopping();
    const beganAtMs = performance.now();
    try {
      const session = await this.responsiveSession();
      const waitMs = performance.now() - beganAtMs;
      // With several hosts the wait may be longer than the limit, and the first statement would have no time at all.
      session.begin(Math.min(waitMs, this.options.acquireTimeoutMs));
      this.publishConnection(waitMs, false);
      return session;
    } catch (error) {
      this.publishConnection(performance.now() - beganAtMs, true);
      throw error;
    }
  }

  /** Callers do not wait for a replica that is away: the primary serves them. */
  private publishConnection(waitMs: number, isRefused: boolean): void {
    if (!connectionChannel.hasSubscribers || this.options.replicaOf !== undefined) return;
    connectionChannel.publish({ waitMs, isRefused });
  }

  private async responsiveSession(): Promise<Session> {
    for (;;) {
      const session = await this.connectToAny();
      const isSilent = session.lastReceivedAtMs < this.silentSinceMs;
      if (!isSilent && this.members.get(session.client)?.generation === this.generation) return session;
      if (isSilent) session.destroy();
      session.client.release(true);
    }
  }

  /** Takes a connection back. Closes it when it is not fit for the next caller, or is due to be replaced. */
  release(session: Session): void {
    const member = this.members.get(session.client);
    const isCurrent = member?.generation === this.generation && Date.now() < member.dueAtMs;
    session.client.release(!isCurrent || !session.isFit);
  }

  /** Closes every present connection as soon as it is idle. No caller receives one of them any more. */
  renew(): void {
    this.generation += 1;
  }

  /** Whether a new caller has to wait for a connection. */
  get isBusy(): boolean {
    const { totalCount, idleCount, waitingCount } = this.pool;
    return waitingCount > 0 || (idleCount === 0 && totalCount >= this.options.poolSize);
  }

  stats(): PoolStats {
    return { total: this.pool.totalCount, idle: this.pool.idleCount, waiting: this.pool.waitingCount };
  }

  /** Closes the connections as they are released, and refuses the callers that wait for one. May be called again. */
  end(): Promise<void> {
    this.ended ??= this.pool.end();
    for (const refuse of this.waiting) refuse(stopping());
    this.waiting.clear();
    return this.ended;
  }

  /** Tries each host once, beginning with the one that served last. A caller that waited for a busy pool does not wait again. */
  private async connectToAny(): Promise<Session> {
    for (let tries = 1; ; tries += 1) {
      const tried = this.host.connection;
      try {
        return await this.connect();
      } catch (error) {
        const hasNext = tries < this.host.count && this.host.connection !== tried;
        if (!hasNext || !isUnavailable(error)) throw error;
      }
    }
  }

  private async connect(): Promise<Session> {
    const client = await this.lend();
    const member = this.members.get(client);
    if (member === undefined) throw new Error('the pool handed out a connection that was never set up');
    return member.session;
  }

  /** An ended `pg-pool` serves no caller that waits, and lets each wait until its time is over. */
  private lend(): Promise<PoolClient> {
    return new Promise((lent, refuse) => {
      this.waiting.add(refuse);
      this.pool.connect((error, client) => {
        const isWaiting = this.waiting.delete(refuse);
        if (client === undefined) refuse(asConnectionFailure(error, this.wasAccepted));
        else if (isWaiting) lent(client);
        else client.release();
      });
    });
  }

  private async openSession(client: SessionClient): Promise<void> {
    const { usedHost } = client as unknown as HostClient;
    const { generation } = this;
    await this.setUp(client).catch((error: unknown) => {
      this.host.leave(usedHost);
      throw error;
    });
    this.wasAccepted = true;
    const onSilence = (sentAtMs: number) => (this.silentSinceMs = Math.max(this.silentSinceMs, sentAtMs));
    const session = new Session(client, { ...this.options, onSilence });
    // With a fifth more or less, so that the connections are not all replaced at once.
    const dueAtMs = Date.now() + LIFETIME_MS * (0.8 + Math.random() * 0.4);
    this.members.set(client, { session, generation, dueAtMs });
  }
}

const stopping = () => unavailable('The service is stopping.');

/**
 * Lends a connection of the pool to some work.
 *
 * @throws Refusal `unavailable` where the server cannot serve at the moment. @throws what the work throws
 */
export async function useSession<T>(pool: SessionPool, use: (session: Session) => Promise<T>): Promise<T> {
  const session = await pool.acquire();
  try {
    return await use(session);
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    if ([error, cause].some((one) => isStalePlan(one) || isReadOnlyServer(one))) pool.renew();
    throw asUnavailable(error);
  } finally {
    pool.release(session);
  }
}

/** Sends a pipeline outside of a database transaction of ours. @param calls a function is called when a connection is free */
export function sendPipeline(
  pool: SessionPool,
  calls: readonly BoundStatement<unknown>[] | (() => readonly BoundStatement<unknown>[]),
  failureOf = (error: unknown) => error,
): Promise<PipelineResults> {
  return useSession(pool, async (session) => {
    const sent = typeof calls === 'function' ? calls() : calls;
    const results = await session.send(sent).catch((error: unknown) => Promise.reject(failureOf(error)));
    if (session.transactionStatus !== 'I') throw new Error('a pipeline left a database transaction open');
    return results;
  });
}

/**
 * Runs work again that the server rolled back because of a deadlock or a serialization failure (40P01, 40001). A conflict that
 * outlasts all tries is reported as `unavailable`.
 *
 * @param work must have had no effect outside of the database
 * @throws what the last try threw
 */
export async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  const policy = RETRY_POLICIES.conflict;
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries >= policy.triesMax || !isConflict(error)) throw error;
      if (retryChannel.hasSubscribers) retryChannel.publish({ sqlstate: sqlstateOf(error) ?? '', tries });
      await pause(backoffMs(policy, tries, Math.random()));
    }
  }
}

/** The address of the server and the login, as `pg` takes them. */
export interface ConnectionOptions extends Pick<
  ClientConfig,
  'connectionString' | 'host' | 'port' | 'user' | 'database' | 'password' | 'ssl'
> {
  /** Connection strings of the same database at further hosts, of which one accepts writes at a time. Tried in this order. */
  readonly otherHosts?: readonly string[];
}

/** One host of a database, as `pg` takes it. */
type HostConnection = Omit<ConnectionOptions, 'otherHosts'>;

/** The hosts of a database in their order. */
export function hostsIn({
  otherHosts = [],
  ...first
}: ConnectionOptions): readonly [HostConnection, ...HostConnection[]] {
  return [first, ...otherHosts.map((connectionString) => ({ ...first, connectionString }))];
}

/** The host that new connections use: the one that accepted the last connection, until it fails. */
export class CurrentHost {
  private readonly hosts: readonly [HostConnection, ...HostConnection[]];
  private at = 0;

  constructor(connection: ConnectionOptions) {
    this.hosts = hostsIn(connection);
  }

  get count(): number {
    return this.hosts.length;
  }

  get connection(): HostConnection {
    return this.hosts[this.at] ?? this.hosts[0];
  }

  /** Goes on to the next host after a failure. Does nothing if that has been done since: several connections fail at once. */
  leave(failed: HostConnection): void {
    if (failed === this.connection) this.at = (this.at + 1) % this.hosts.length;
  }
}

/**
 * Gives a client the password of its host if it is a function, which `pg` calls for each connection. `pg` replaces the password of its
 * options by that of the connection string, also by none.
 */
export function takePassword(client: Client, { password }: HostConnection): void {
  if (typeof password === 'function') (client as unknown as { password: typeof password }).password = password;
}

type OnConnected = ((error: Error) => void) | ((error: null, client: Client) => void);

/** A client of a pool, with the host that it was made for. */
interface HostClient extends Client {
  readonly usedHost: HostConnection;
}

/**
 * Makes the class of the clients of a pool. Each connects to the host that is the current one when it is made, and leaves it when that
 * fails: `pg-pool` itself knows one host.
 */
export function hostClient(current: CurrentHost, timeoutMs: number): new (config: PoolConfig) => HostClient {
  return class extends Client {
    // Private, because it contains the password, and a printed object must not.
    readonly #usedHost: HostConnection;

    constructor(config: PoolConfig) {
      const usedHost = current.connection;
      super({ ...config, ...usedHost, connectionTimeoutMillis: timeoutMs });
      takePassword(this, usedHost);
      // `pg` also reports a broken connection as an event, which would end a process without a listener, as the pool adds one too late.
      this.on('error', () => undefined);
      this.#usedHost = usedHost;
    }

    get usedHost(): HostConnection {
      return this.#usedHost;
    }

    override connect(): Promise<Client>;
    override connect(onConnected: OnConnected): void;
    override connect(onConnected?: OnConnected): Promise<Client> | void {
      const connected = super.connect().catch((error: unknown) => {
        current.leave(this.#usedHost);
        throw error;
      });
      if (onConnected === undefined) return connected;
      const report = onConnected as (error: Error | null, client?: Client) => void;
      connected.then(
        (client) => report(null, client),
        (error: Error) => report(error),
      );
    }
  };
}
