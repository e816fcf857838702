import { Refusal } from '@banking/domain';
import { DatabaseError } from 'pg';
import { ConnectionLost, DatabaseSetupError, type PipelineResults } from './failures.js';
import type { ClusterIdentity } from './replica-identity.js';
import { SessionPool, type PoolOptions, sendPipeline } from './session-pool.js';
import type { BoundStatement } from './sql-statement.js';

/** Between two attempts to connect. */
const RETRY_MS = 2_000;

export interface ReplicaConnectionOptions {
  readonly pool: PoolOptions;
  /** Reads the identity of the primary, which the replica must have. */
  readonly identify: () => Promise<ClusterIdentity>;
  readonly onOpen: () => void;
  /** @param reason why the replica is not used */
  readonly onClose: (reason: string) => void;
  /** The time in milliseconds. Default: of this process. */
  readonly nowMs?: (() => number) | undefined;
}

/** Connections to a replica of the present primary. */
export interface OpenReplica {
  readonly pool: SessionPool;
  readonly identity: ClusterIdentity;
}

/**
 * Connects to the replica, one attempt at a time. While the replica is away, an attempt begins at the next use after some seconds, and
 * no caller waits for it.
 */
export class ReplicaConnection {
  private open: OpenReplica | undefined;
  private opening: Promise<void> | undefined;
  private readonly closing = new Set<Promise<void>>();
  private nextAttemptMs = -Infinity;
  private isEnded = false;

  constructor(private readonly options: ReplicaConnectionOptions) {}

  /** The replica; undefined while it is away. */
  current(): OpenReplica | undefined {
    if (this.open === undefined && this.nowMs() >= this.nextAttemptMs) void this.connect().catch(() => undefined);
    return this.open;
  }

  /** Resolves after an attempt to connect. Never throws. */
  connect(): Promise<void> {
    if (this.isEnded) return Promise.resolve();
    return (this.opening ??= this.attempt().finally(() => (this.opening = undefined)));
  }

  /** Sends reads once. @throws as `Database.pipeline`, and DatabaseSetupError. After a lost connection the replica counts as away. */
  async send(replica: OpenReplica, calls: readonly BoundStatement<unknown>[]): Promise<PipelineResults> {
    try {
      return await sendPipeline(replica.pool, calls);
    } catch (error) {
      // A caller who waited for too long for one of many busy connections says nothing about the server.
      const isAway = isLost(error) || (!isOfStatement(error) && !replica.pool.isBusy);
      if (isAway) this.leave(replica, reasonOf(error));
      throw error;
    }
  }

  /** Uses the replica no more, until an attempt some seconds later finds it in order. */
  leave(replica: OpenReplica, reason: string): void {
    if (this.open !== replica) return;
    this.open = undefined;
    this.nextAttemptMs = this.nowMs() + RETRY_MS;
    this.close(replica.pool);
    this.options.onClose(reason);
  }

  async end(): Promise<void> {
    this.isEnded = true;
    await this.opening;
    if (this.open !== undefined) this.close(this.open.pool);
    this.open = undefined;
    await Promise.all(this.closing);
  }

  private async attempt(): Promise<void> {
    let pool: SessionPool | undefined;
    try {
      const identity = await this.options.identify();
      pool = new SessionPool({ ...this.options.pool, replicaOf: identity });
      pool.release(await pool.acquire());
      this.open = { pool, identity };
    } catch (error) {
      this.nextAttemptMs = this.nowMs() + RETRY_MS;
      if (pool !== undefined) this.close(pool);
      if (!this.isEnded) this.options.onClose(reasonOf(error));
      return;
    }
    this.options.onOpen();
  }

  private close(pool: SessionPool): void {
    const closed = pool.end().finally(() => this.closing.delete(closed));
    this.closing.add(closed);
  }

  private nowMs(): number {
    return (this.options.nowMs ?? (() => performance.now()))();
  }
}

/** Whether the server rejected a statement, such as one that conflicts with recovery. The next statement may succeed. */
const isOfStatement = (error: unknown): boolean =>
  !(error instanceof DatabaseSetupError) && (error instanceof Refusal ? error.cause : error) instanceof DatabaseError;

const isLost = (error: unknown): boolean => error instanceof Refusal && error.cause instanceof ConnectionLost;

function reasonOf(error: unknown): string {
  const cause = error instanceof Refusal && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}
