import { Refusal } from '@banking/domain';
import { DatabaseError } from 'pg';
import type { PipelineResults } from './failures.js';
import { type BindScope, bindScope as bindPlainScope, type RlsScope } from './rls-scope.js';
import type { BoundStatement } from './sql-statement.js';

/** How many reads share a round trip. More would delay the first of them. */
const COALESCED_MAX = 16;
/** For how long reads join a read that waits. All of them are refused when it has waited for too long, so later ones wait by themselves. */
const JOIN_MS = 100;

type Row = Record<string, unknown>;

/** A read that waits for a connection. */
interface WaitingRead {
  readonly scope: RlsScope;
  readonly bound: BoundStatement<unknown>;
  readonly boundScope: BoundStatement<unknown>;
  readonly resolve: (rows: readonly Row[]) => void;
  readonly reject: (error: unknown) => void;
}

/** What coalesced reads are sent with. */
interface CoalescedReadOptions {
  /** Default: sets the scope without a check. */
  readonly bindScope?: BindScope;
  /** Whether a new caller has to wait for a connection. */
  readonly isBusy: () => boolean;
  /** Sends the statements that `calls` returns once a connection is free. */
  readonly sendWhenFree: (calls: () => readonly BoundStatement<unknown>[]) => Promise<PipelineResults>;
  /** Sends one read in a round trip of its own. */
  readonly sendAlone: (scope: RlsScope, bound: BoundStatement<unknown>) => Promise<readonly Row[]>;
  /** The time in milliseconds. Default: of this process. */
  readonly nowMs?: () => number;
}

/**
 * Lets short reads share a round trip while all connections are in use: one system call, one process switch and one database transaction
 * for several reads. A read that finds a free connection is sent at once and alone.
 *
 * Reads of one scope follow each other, behind the statement that sets their scope. So row-level security separates the reads of one
 * round trip.
 */
export class CoalescedReads {
  private waiting: WaitingRead[] | undefined;
  private waitingSinceMs = 0;

  constructor(private readonly options: CoalescedReadOptions) {}

  /** The rows of one statement. @throws as `Database.pipeline`; an error of a statement affects no other read */
  async read(scope: RlsScope, bound: BoundStatement<unknown>): Promise<readonly Row[]> {
    const { bindScope = bindPlainScope, isBusy, sendAlone } = this.options;
    if (!isBusy()) return sendAlone(scope, bound);
    const boundScope = bindScope(scope);
    return new Promise((resolve, reject) => this.wait({ scope, bound, boundScope, resolve, reject }));
  }

  private wait(read: WaitingRead): void {
    const { nowMs = () => performance.now() } = this.options;
    const now = nowMs();
    if (this.waiting !== undefined && this.waiting.length < COALESCED_MAX && now - this.waitingSinceMs < JOIN_MS) {
      this.waiting.push(read);
      return;
    }
    const reads = [read];
    this.waiting = reads;
    this.waitingSinceMs = now;
    void this.sendAll(reads);
  }

  /** Sends the reads as soon as a connection is free. Reads that arrive soon join them. */
  private async sendAll(reads: WaitingRead[]): Promise<void> {
    let sent: Pipelined | undefined;
    const close = () => {
      if (this.waiting === reads) this.waiting = undefined;
    };
    try {
      const { rows } = await this.options.sendWhenFree(() => {
        close();
        sent = pipelined(reads);
        return sent.calls;
      });
      sent?.places.forEach((place, { resolve }) => resolve(rows[place]!));
    } catch (error) {
      close();
      // The server stopped at the first error of a statement. Which read it belongs to shows when each is sent alone.
      if (sent !== undefined && isOfStatement(error)) reads.forEach((read) => this.sendAlone(read));
      else reads.forEach(({ reject }) => reject(error));
    }
  }

  private sendAlone({ scope, bound, resolve, reject }: WaitingRead): void {
    this.options.sendAlone(scope, bound).then(resolve, reject);
  }
}

/** The statements of one round trip, and the place of each read among them. */
interface Pipelined {
  readonly calls: readonly BoundStatement<unknown>[];
  readonly places: ReadonlyMap<WaitingRead, number>;
}

function pipelined(reads: readonly WaitingRead[]): Pipelined {
  const byScope = new Map<string, WaitingRead[]>();
  for (const read of reads) {
    const key = JSON.stringify(read.boundScope.values);
    const others = byScope.get(key);
    if (others) others.push(read);
    else byScope.set(key, [read]);
  }
  const calls: BoundStatement<unknown>[] = [];
  const places = new Map<WaitingRead, number>();
  for (const ofScope of byScope.values()) {
    calls.push(ofScope[0]!.boundScope);
    for (const read of ofScope) places.set(read, calls.push(read.bound) - 1);
  }
  return { calls, places };
}

/** Some errors of the server have become `unavailable`. A lost connection has another cause. */
const isOfStatement = (error: unknown): boolean =>
  (error instanceof Refusal ? error.cause : error) instanceof DatabaseError;
