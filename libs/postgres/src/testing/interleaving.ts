import { setImmediate as nextTick } from 'node:timers/promises';
import { Client } from 'pg';
import type { Database, DbTransaction } from '../database.js';
import { CommitInDoubtError } from '../failures.js';
import type { ConnectionOptions } from '../session-pool.js';
import type { BoundStatement } from '../sql-statement.js';

/** What happens to a COMMIT. A lost one leaves its sender in doubt, before or after the database carries it out. */
export type CommitFate = 'done' | 'lost before' | 'lost after';

/** The part of fast-check's scheduler that is used here. */
interface Scheduler {
  schedule<T>(task: Promise<T>, label?: string): Promise<T>;
  waitFor<T>(unscheduled: Promise<T>, act: (step: () => Promise<void>) => Promise<void>): Promise<T>;
  waitOne(): Promise<void>;
  count(): number;
}

/** How long a step may take before the locks it waits for are read: a limit for the number of queries. */
const FREE_MS = 3;
/** Code that continues after a step reaches its next step within so many turns of the event loop. */
const TICKS = 4;

/**
 * Concurrent operations on a real database, in the order of a scheduler of fast-check.
 *
 * Each pipeline is a step. Only one operation goes on at a time: the next step is chosen when every operation waits for its next
 * step, or for a lock in the database.
 */
export class Interleaving {
  private scheduler: Scheduler | undefined;
  private commitFates: CommitFate[] = [];
  private unfinished = 0;

  private constructor(private readonly observer: Client) {}

  static async open(connection: ConnectionOptions): Promise<Interleaving> {
    const observer = new Client(connection);
    await observer.connect();
    return new Interleaving(observer);
  }

  async close(): Promise<void> {
    await this.observer.end();
  }

  /** Carries out operations that run concurrently. The fates are those of the commits, from the end of the list. */
  async run<T>(
    scheduler: Scheduler,
    operations: () => Promise<T>,
    commitFates: readonly CommitFate[] = [],
  ): Promise<T> {
    this.scheduler = scheduler;
    this.commitFates = [...commitFates];
    try {
      return await scheduler.waitFor(operations(), async (step) => {
        await step();
        await this.settled();
      });
    } finally {
      // Steps that no operation waits for, such as ids that are fetched in advance, or those beside a failed operation.
      while (scheduler.count() > 0) {
        await scheduler.waitOne();
        await this.settled();
      }
      this.scheduler = undefined;
    }
  }

  /** The same database, with each pipeline as a step. */
  databaseOf(database: Database): Database {
    const steps: Pick<Database, 'pipeline' | 'write' | 'transaction'> = {
      pipeline: (scope, bound) => this.step(labelOf(bound), () => database.pipeline(scope, bound)),
      write: (scope, bound) => this.step(labelOf(bound), () => database.write(scope, bound)),
      transaction: async (scope, work, options) => {
        let ends = 0;
        // The rollback of an attempt belongs to its last step.
        const attempt = async (tx: DbTransaction) => {
          try {
            return await work(this.transactionOf(tx));
          } finally {
            ends += 1;
            this.unfinished += 1;
          }
        };
        return database.transaction(scope, attempt, options).finally(() => (this.unfinished -= ends));
      },
    };
    return Object.assign(Object.create(database) as Database, steps);
  }

  /** Waits until the scheduler chooses this operation. */
  async turn(label: string): Promise<void> {
    await this.scheduler?.schedule(Promise.resolve(), label);
  }

  /** A step that is no pipeline of `databaseOf`. It contains no other step. */
  async step<T>(label: string, run: () => Promise<T>): Promise<T> {
    await this.turn(label);
    this.unfinished += 1;
    return run().finally(() => (this.unfinished -= 1));
  }

  private transactionOf(tx: DbTransaction): DbTransaction {
    return {
      pipeline: (bound) => this.step(`tx: ${labelOf(bound)}`, () => tx.pipeline(bound)),
      commit: (bound) =>
        this.step(`commit: ${labelOf(bound ?? [])}`, async () => {
          const fate = this.commitFates.pop() ?? 'done';
          if (fate === 'lost before') throw new CommitInDoubtError(new Error(fate));
          const rows = await tx.commit(bound);
          if (fate === 'lost after') throw new CommitInDoubtError(new Error(fate));
          return rows;
        }),
    };
  }

  /** Resolves when each step that was begun has ended, or waits for a lock. */
  private async settled(): Promise<void> {
    const beganAtMs = performance.now();
    for (let ticks = 0; ticks < TICKS;) {
      await nextTick();
      if (this.unfinished === 0) ticks += 1;
      else if (performance.now() - beganAtMs > FREE_MS && (await this.countLockWaits()) >= this.unfinished) return;
    }
  }

  /** `pg_locks` changes when a lock is granted, and `pg_stat_activity` later, when the session wakes. */
  private async countLockWaits(): Promise<number> {
    const { rows } = await this.observer.query<{ count: string }>(
      `select count(distinct pid) from pg_locks join pg_stat_activity using (pid)
       where not granted and datname = current_database() and backend_type = 'client backend'`,
    );
    return Number(rows[0]?.count);
  }
}

const labelOf = (bound: readonly BoundStatement<unknown>[]): string =>
  bound.map(({ statement }) => statement.name).join(', ');
