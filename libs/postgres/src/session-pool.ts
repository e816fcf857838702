import { Pool, type ClientBase, type ClientConfig, type PoolClient } from 'pg';
import { connectionFailureOf, unavailable } from './failures.js';
import { Session, type SessionClient } from './session.js';
import { sessionSetup, type SessionSettings } from './session-setup.js';

/** Where the server is and who we are there, as `pg` takes it. */
export type ConnectionOptions = Pick<
  ClientConfig,
  'connectionString' | 'host' | 'port' | 'user' | 'database' | 'password' | 'ssl'
>;

export interface PoolOptions extends Omit<SessionSettings, 'setupTimeoutMs'> {
  readonly connection: ConnectionOptions;
  readonly poolSize: number;
  readonly acquireTimeoutMs: number;
  readonly nameStatements: boolean;
  readonly onError: (error: Error) => void;
}

/** How many connections there are, how many of them nobody uses, and how many callers wait for one. */
export interface PoolStats {
  readonly total: number;
  readonly idle: number;
  readonly waiting: number;
}

/** Connections of a young pool are replaced after a few minutes, since they planned on empty tables; then about hourly. */
const YOUTH_MS = 2 * 60_000;
const FIRST_LIFE_MS = 3 * 60_000;
const LIFE_MS = 60 * 60_000;

/**
 * Connections that are set up, proven and healthy, handed out one caller at a time.
 */
export class SessionPool {
  private readonly pool: Pool;
  private readonly setUp: (client: ClientBase) => Promise<void>;
  private readonly openedAtMs = Date.now();
  private readonly members = new WeakMap<ClientBase, { session: Session; generation: number; dueAtMs: number }>();
  private generation = 0;
  /** When a flight was sent that the server did not answer in time. */
  private silentSinceMs = -Infinity;
  private ended: Promise<void> | undefined;

  /** @throws Error for settings that are none. */
  constructor(private readonly options: PoolOptions) {
    this.setUp = sessionSetup({ ...options, setupTimeoutMs: options.acquireTimeoutMs });
    this.pool = new Pool({
      ...options.connection,
      application_name: options.applicationName,
      max: options.poolSize,
      connectionTimeoutMillis: options.acquireTimeoutMs,
      idleTimeoutMillis: 0,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      // `pg-pool` awaits what this returns; its types do not say so.
      onConnect: ((client) => this.welcome(client as SessionClient)) as (client: ClientBase) => void,
    });
    this.pool.on('error', options.onError);
  }

  /**
   * A connection on which the server has answered since another went silent: a network that drops connections drops several, and each
   * would cost a caller the whole time for an answer.
   *
   * @throws Refusal `unavailable` when no connection came free, or none could be made, in time.
   * @throws DatabaseSetupError when the server, the login or the role is not what this service needs.
   */
  async acquire(): Promise<Session> {
    if (this.ended !== undefined) throw unavailable('The service is stopping.');
    const beganAtMs = performance.now();
    for (;;) {
      const session = await this.connect();
      if (session.lastHeardAtMs >= this.silentSinceMs) {
        session.begin(performance.now() - beganAtMs);
        return session;
      }
      session.destroy();
      session.client.release(true);
    }
  }

  /** Takes a connection back; closes it when it misbehaved or is due to be replaced. */
  release(session: Session): void {
    const member = this.members.get(session.client);
    const isCurrent = member?.generation === this.generation && Date.now() < member.dueAtMs;
    session.client.release(!isCurrent || !session.isFit);
  }

  /** Closes every connection made until now as soon as nobody uses it. */
  renew(): void {
    this.generation += 1;
  }

  stats(): PoolStats {
    return { total: this.pool.totalCount, idle: this.pool.idleCount, waiting: this.pool.waitingCount };
  }

  /** Closes the connections as they come back. May be called again. */
  end(): Promise<void> {
    return (this.ended ??= this.pool.end());
  }

  private async connect(): Promise<Session> {
    let client: PoolClient;
    try {
      client = await this.pool.connect();
    } catch (error) {
      throw connectionFailureOf(error);
    }
    const member = this.members.get(client);
    if (member === undefined) throw new Error('the pool handed out a connection that was never set up');
    return member.session;
  }

  private async welcome(client: SessionClient): Promise<void> {
    // `pg` reports a broken connection as an event too, which would end the process if nobody listened.
    client.on('error', () => undefined);
    await this.setUp(client);
    const onSilence = (sentAtMs: number) => (this.silentSinceMs = Math.max(this.silentSinceMs, sentAtMs));
    const session = new Session(client, { ...this.options, onSilence });
    this.members.set(client, { session, generation: this.generation, dueAtMs: this.dueAtMs(Date.now()) });
  }

  /** A fifth more or less, so that the connections are not all replaced at once. */
  private dueAtMs(nowMs: number): number {
    const lifeMs = nowMs < this.openedAtMs + YOUTH_MS ? FIRST_LIFE_MS : LIFE_MS;
    return nowMs + lifeMs * (0.8 + Math.random() * 0.4);
  }
}
