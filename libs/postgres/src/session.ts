import type { Connection, PoolClient } from 'pg';
import { pipelineChannel } from './channels.js';
import { isConnectionUnusableAfter, type PipelineResults } from './failures.js';
import { Pipeline, type Prepared } from './pipeline.js';
import type { BoundStatement } from './sql-statement.js';

/** What a pipeline may take longer than a statement: for the network, and for the server to report that a statement took too long. */
const GRACE_MS = 1_000;

/** Whether the server is inside a database transaction: idle, in one, or in one that has failed. */
export type TxStatus = 'I' | 'T' | 'E';

/** A client of the pool; `@types/pg` leaves out that it has a `connection`. */
export type SessionClient = PoolClient & { readonly connection: Connection };

export interface SessionOptions {
  readonly nameStatements: boolean;
  readonly statementTimeoutMs: number;
  /** Called when the server did not answer a pipeline in time, with the time at which it was sent: `performance.now()`. */
  readonly onSilence: (sentAtMs: number) => void;
}

/**
 * One connection, with the statements and settings that its server process has of us.
 *
 * Sends one pipeline at a time. Afterwards, it is known whether the connection may be used again.
 */
export class Session {
  private readonly prepared: Map<string, Prepared> | undefined;
  private pipeline: Pipeline | undefined;
  private status: TxStatus | undefined = 'I';
  private isUnusable = false;
  private receivedAtMs = performance.now();
  private waitedMs = 0;

  constructor(
    readonly client: SessionClient,
    private readonly options: SessionOptions,
  ) {
    this.prepared = options.nameStatements ? new Map() : undefined;
    this.listen(client.connection);
  }

  /** Whether the next caller may have this connection: alive, in no database transaction, and with our statements and settings. */
  get isFit(): boolean {
    return this.status === 'I' && this.pipeline === undefined && !this.isUnusable;
  }

  /** When the server answered last, or the session was set up: `performance.now()`. */
  get lastReceivedAtMs(): number {
    return this.receivedAtMs;
  }

  /** Begins the use by a caller. The time that the caller has waited for the connection is taken from the first pipeline. */
  begin(waitedMs: number): void {
    this.waitedMs = waitedMs;
  }

  /** Closes the connection without telling the server, which might not answer. */
  destroy(): void {
    this.client.connection.stream.destroy();
  }

  /** The status that the server reported last; undefined once the connection is lost. */
  get transactionStatus(): TxStatus | undefined {
    return this.status;
  }

  /** Whether a pipeline is being sent or answered: nothing else may be sent. */
  get isBusy(): boolean {
    return this.pipeline !== undefined;
  }

  /**
   * Sends statements in one round trip and waits until the server has answered all of them. The limit is that of one statement and a
   * second, however many they are. A connection that exceeds it is closed, at which the server ends the statement.
   *
   * @throws DatabaseError with the statement's name added as `statement`.
   * @throws ConnectionLost when the connection ended or did not answer in time; it is then closed.
   * @throws Error when another pipeline is not complete yet, or two texts share a name: errors of the calling code.
   */
  send(calls: readonly BoundStatement<unknown>[]): Promise<PipelineResults> {
    if (!pipelineChannel.hasSubscribers) return this.exchange(calls);
    return pipelineChannel.tracePromise(() => this.exchange(calls), {
      statements: calls.map(({ statement }) => statement.name),
    });
  }

  private async exchange(calls: readonly BoundStatement<unknown>[]): Promise<PipelineResults> {
    if (this.pipeline !== undefined)
      throw new Error('a connection carries one pipeline at a time: await the one before');
    calls.forEach((call) => this.expectOneText(call));
    const pipeline = new Pipeline(calls, this.prepared);
    const limitMs = Math.max(0, this.options.statementTimeoutMs + GRACE_MS - this.waitedMs);
    this.waitedMs = 0;
    const sentAtMs = performance.now();
    const deadline = setTimeout(() => this.giveUp(pipeline, sentAtMs), limitMs);
    this.pipeline = pipeline;
    this.client.query(pipeline);
    try {
      return await pipeline.results;
    } catch (error) {
      throw this.withStatementName(error, pipeline);
    } finally {
      clearTimeout(deadline);
    }
  }

  /**
   * Receives what `pg` does not hand to a Submittable: ParseComplete, and everything after an error. `pg` drops the active query at the
   * error, but the connection may not be used again before the server has answered the Sync.
   */
  private listen(connection: Connection): void {
    connection.on('parseComplete', () => this.pipeline?.handleParseComplete());
    connection.on('readyForQuery', (message: { status: TxStatus }) => {
      this.status = message.status;
      this.receivedAtMs = performance.now();
      const complete = this.pipeline;
      this.pipeline = undefined;
      complete?.complete();
    });
    connection.on('end', () => this.lose(new Error('the connection ended')));
  }

  private lose(cause: Error): void {
    this.status = undefined;
    const lost = this.pipeline;
    this.pipeline = undefined;
    lost?.lose(cause);
  }

  /** Reads the socket first: after a pause of the process the timer fires before a response that has arrived is read. */
  private giveUp(pipeline: Pipeline, sentAtMs: number): void {
    setImmediate(() => {
      if (this.pipeline !== pipeline) return;
      this.lose(new Error('no answer in time'));
      this.destroy();
      this.options.onSilence(sentAtMs);
    });
  }

  private withStatementName(error: unknown, pipeline: Pipeline): unknown {
    if (isConnectionUnusableAfter(error)) this.isUnusable = true;
    if (!(error instanceof Error)) return error;
    Error.captureStackTrace(error);
    return Object.assign(error, { statement: pipeline.statementName });
  }

  private expectOneText({ statement }: BoundStatement<unknown>): void {
    const known = this.prepared?.get(statement.name);
    if (known !== undefined && known.text !== statement.text) {
      throw new Error(`two statements are named "${statement.name}"`);
    }
  }
}
