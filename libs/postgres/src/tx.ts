import { ConnectionLost, doubtOf, outcomeOf } from './failures.js';
import type { Landing } from './flight.js';
import { bindScope, type Scope } from './scope.js';
import type { Session } from './session.js';
import { bind, statement, type Bound, type RowsOfEach } from './statement.js';

/**
 * A database transaction: several flights that happen together or not at all.
 *
 * One flight at a time; await each before the next.
 */
export interface Tx {
  /**
   * Sends statements in one round trip. BEGIN and the scope travel with the first flight.
   *
   * @throws Refusal `unavailable` when the database cannot serve; nothing has happened.
   * @throws DatabaseError for what the database objects to. Only a rollback is possible afterwards.
   */
  flight<const T extends readonly Bound<unknown>[]>(bound: T): Promise<RowsOfEach<T>>;

  /**
   * Sends the last statements, if any, with COMMIT behind them, in one round trip. Once it resolves, they have happened.
   *
   * @throws CommitInDoubtError when the connection was lost on the way: it may have happened.
   * @throws Error when COMMIT answered ROLLBACK, because an earlier flight had failed; nothing has happened.
   * @throws as `flight` does; nothing has happened.
   */
  commit<const T extends readonly Bound<unknown>[] = []>(bound?: T): Promise<RowsOfEach<T>>;
}

const begin = bind(statement('begin', 'begin'));
const beginSnapshot = bind(statement('begin_snapshot', 'begin isolation level repeatable read read only'));
const commit = bind(statement('commit', 'commit'));
const rollback = bind(statement('rollback', 'rollback'));

/** A database transaction on a connection that this transaction alone uses. */
export class SessionTx implements Tx {
  private isBegun = false;
  private isOver = false;

  constructor(
    private readonly session: Session,
    private readonly scope: Scope,
    private readonly snapshot = false,
  ) {}

  async flight<const T extends readonly Bound<unknown>[]>(bound: T): Promise<RowsOfEach<T>> {
    const opening = this.opening();
    const { rows } = await this.send([...opening, ...bound]);
    if (this.session.transactionStatus !== 'T') {
      this.isOver = true;
      throw new Error('a statement ended the database transaction it was part of');
    }
    return rows.slice(opening.length) as RowsOfEach<T>;
  }

  async commit<const T extends readonly Bound<unknown>[] = []>(bound?: T): Promise<RowsOfEach<T>> {
    const opening = this.opening();
    const calls: Bound<unknown>[] = [...opening, ...(bound ?? []), commit];
    this.isOver = true;
    const { rows, tags } = await this.land(calls);
    const tag = tags.at(-1);
    if (tag !== 'COMMIT') throw new Error(`COMMIT answered ${tag}: an earlier statement had failed`);
    return rows.slice(opening.length, -1) as RowsOfEach<T>;
  }

  /** Undoes what was not committed. Never throws: what cannot be undone in good order ends with its connection. */
  async close(): Promise<void> {
    this.isOver = true;
    const { transactionStatus, isBusy } = this.session;
    if (isBusy || transactionStatus === undefined || transactionStatus === 'I') return;
    await this.session.fly([rollback]).catch(() => undefined);
  }

  private opening(): Bound<unknown>[] {
    if (this.isOver) throw new Error('the database transaction is over');
    if (this.isBegun) return [];
    const opening = [this.snapshot ? beginSnapshot : begin, bindScope(this.scope)];
    this.isBegun = true;
    return opening;
  }

  private async send(calls: readonly Bound<unknown>[]): Promise<Landing> {
    try {
      return await this.session.fly(calls);
    } catch (error) {
      throw outcomeOf(error);
    }
  }

  /** COMMIT is durable once its tag has arrived, whatever becomes of the connection afterwards. */
  private async land(calls: readonly Bound<unknown>[]): Promise<Landing> {
    try {
      return await this.session.fly(calls);
    } catch (error) {
      if (error instanceof ConnectionLost && error.arrived.tags.length === calls.length) return error.arrived;
      throw outcomeOf(doubtOf(error));
    }
  }
}
