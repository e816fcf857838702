import { asCommitInDoubt, asUnavailable, ConnectionLost } from './failures.js';
import type { PipelineResults } from './pipeline-results.js';
import type { Session } from './session.js';
import { bind, sqlStatement, type BoundStatement, type RowsOfEach } from './sql-statement.js';

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
   * Sends changes as `pipeline` does, where the commit follows at once.
   *
   * @throws CommitInDoubtError when the connection was lost, as `commit` does: callers that look the outcome up treat both alike.
   */
  change<const T extends readonly BoundStatement<unknown>[]>(bound: T): Promise<RowsOfEach<T>>;

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
export class SessionTx implements DbTransaction {
  private isBegun = false;
  private isOver = false;

  constructor(
    private readonly session: Session,
    private readonly boundScope: BoundStatement<unknown>,
    private readonly snapshot = false,
  ) {}

  pipeline<const T extends readonly BoundStatement<unknown>[]>(bound: T): Promise<RowsOfEach<T>> {
    return this.send(bound, (error) => error);
  }

  change<const T extends readonly BoundStatement<unknown>[]>(bound: T): Promise<RowsOfEach<T>> {
    return this.send(bound, asCommitInDoubt);
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

  private async send<const T extends readonly BoundStatement<unknown>[]>(
    bound: T,
    failureOf: (error: unknown) => unknown,
  ): Promise<RowsOfEach<T>> {
    const opening = this.opening();
    const { rows } = await this.session
      .send([...opening, ...bound])
      .catch((error: unknown) => Promise.reject(asUnavailable(failureOf(error))));
    if (this.session.transactionStatus !== 'T') {
      this.isOver = true;
      throw new Error('a statement ended the database transaction it was part of');
    }
    return rows.slice(opening.length) as RowsOfEach<T>;
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
