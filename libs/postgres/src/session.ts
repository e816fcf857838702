import { type Connection, type PoolClient, DatabaseError, type FieldDef, type Submittable } from 'pg';
import { pipelineChannel } from './channels.js';
import { isConnectionUnusableAfter, type PipelineResults, ConnectionLost } from './failures.js';
import { type BoundStatement, columnReader, type ColumnReader } from './sql-statement.js';

/** A prepared statement of one connection. */
interface Prepared {
  readonly text: string;
  /** The columns, once the server has described them; an empty list for a statement without rows. */
  columns?: readonly Column[];
}

/** One column of a result. */
interface Column {
  readonly name: string;
  readonly read: ColumnReader;
}

/** The part of the protocol that `@types/pg` declares too narrowly: portals and statements may be unnamed, limits left out. */
interface Wire {
  readonly stream: { cork(): void; uncork(): void };
  parse(message: { name: string; text: string }): void;
  bind(message: { statement: string; values: readonly unknown[] }): void;
  describe(message: { type: 'P' }): void;
  execute(message: object): void;
  sync(): void;
}

const COLUMNS_NONE: readonly Column[] = [];

/**
 * Several statements with one Sync behind the last: PostgreSQL's pipeline mode.
 *
 * One round trip and, without BEGIN, one implicit database transaction: the server stops at the first error, rolls back and skips to
 * the Sync. Transaction-local settings end there too.
 *
 * `pg` hands the messages of the server to a Submittable, except some that `Session` receives and passes on.
 */
class Pipeline implements Submittable {
  readonly results: Promise<PipelineResults>;
  private settle!: { resolve(results: PipelineResults): void; reject(error: unknown): void };
  private readonly rows: Record<string, unknown>[][] = [];
  private readonly tags: string[] = [];
  /** The statements whose Parse was sent and not answered yet. */
  private readonly parsing: { name: string; text: string }[] = [];
  private columns: readonly Column[] | undefined;
  private current: Record<string, unknown>[] = [];
  private failure: { error: unknown } | undefined;
  private isSent = false;

  /**
   * @param prepared the prepared statements of this connection, kept up to date by the pipeline; undefined sends every
   *   statement with its text and without a name.
   */
  constructor(
    private readonly calls: readonly BoundStatement<unknown>[],
    private readonly prepared: Map<string, Prepared> | undefined,
  ) {
    this.results = new Promise((resolve, reject) => (this.settle = { resolve, reject }));
    this.results.catch(() => undefined);
  }

  submit(connection: Connection): void {
    this.isSent = true;
    const wire = connection as unknown as Wire;
    wire.stream.cork();
    try {
      for (const { statement, values } of this.calls) {
        const name = this.prepared === undefined ? '' : statement.name;
        this.parseUnlessKnown(wire, name, statement.text);
        wire.bind({ statement: name, values });
        if (this.prepared?.get(name)?.columns === undefined) wire.describe({ type: 'P' });
        wire.execute({});
      }
      wire.sync();
    } finally {
      wire.stream.uncork();
    }
    this.columns = this.columnsKnown();
  }

  /** The server has parsed the next statement and keeps it, even if its execution fails. */
  handleParseComplete(): void {
    const parsed = this.parsing.shift();
    if (parsed !== undefined) this.prepared?.set(parsed.name, { text: parsed.text });
  }

  handleRowDescription(message: { fields: readonly FieldDef[] }): void {
    this.columns = message.fields.map((field) => ({ name: field.name, read: columnReader(field.dataTypeID) }));
    this.remember(this.columns);
  }

  handleDataRow(message: { fields: readonly (string | null)[] }): void {
    if (this.failure !== undefined) return;
    try {
      this.current.push(readRow(this.columns ?? COLUMNS_NONE, message.fields));
    } catch (error) {
      this.failure = { error };
    }
  }

  handleCommandComplete(message: { text: string }): void {
    if (this.columns === undefined) this.remember(COLUMNS_NONE);
    this.next(message.text);
  }

  /** A statement of nothing but comments. */
  handleEmptyQuery(): void {
    this.next('');
  }

  handlePortalSuspended(): void {
    this.failure ??= { error: new Error('the server suspended a portal that has no limit') };
  }

  /** The server waits for rows and has skipped our Sync: it needs another one after CopyFail. */
  handleCopyInResponse(connection: { sendCopyFail(reason: string): void; sync(): void }): void {
    this.handleCopyData();
    connection.sendCopyFail('no COPY data here');
    connection.sync();
  }

  handleCopyData(): void {
    this.failure ??= { error: new Error('a pipeline cannot carry COPY data') };
  }

  /** An error of the server, after which ReadyForQuery still comes, or the end of the connection. */
  handleError(error: Error): void {
    if (error instanceof DatabaseError) this.failure ??= { error };
    else this.lose(error);
  }

  /** Required of every Submittable. `Session` calls `complete` instead, also after an error. */
  handleReadyForQuery(): void {}

  /** The server has answered the Sync. */
  complete(): void {
    if (this.failure !== undefined) this.settle.reject(this.failure.error);
    else this.settle.resolve({ rows: this.rows, tags: this.tags });
  }

  /** The connection is lost, or was closed because it did not answer. */
  lose(cause: unknown): void {
    const received = { rows: this.rows, tags: this.tags };
    this.settle.reject(new ConnectionLost(received, this.isSent, this.failure?.error ?? cause));
  }

  /** The name of the statement that was being executed, for the error. */
  get statementName(): string | undefined {
    return this.calls[this.tags.length]?.statement.name;
  }

  private parseUnlessKnown(wire: Wire, name: string, text: string): void {
    if (name !== '' && (this.prepared?.has(name) || this.parsing.some((parsing) => parsing.name === name))) return;
    wire.parse({ name, text });
    this.parsing.push({ name, text });
  }

  private columnsKnown(): readonly Column[] | undefined {
    const call = this.calls[this.tags.length];
    return call === undefined ? undefined : this.prepared?.get(call.statement.name)?.columns;
  }

  private remember(columns: readonly Column[]): void {
    const call = this.calls[this.tags.length];
    const prepared = call === undefined ? undefined : this.prepared?.get(call.statement.name);
    if (prepared !== undefined) prepared.columns = columns;
  }

  private next(tag: string): void {
    this.rows.push(this.current);
    this.tags.push(tag);
    this.current = [];
    this.columns = this.columnsKnown();
  }
}

function readRow(columns: readonly Column[], fields: readonly (string | null)[]): Record<string, unknown> {
  if (columns.length !== fields.length) throw new Error('the server sent a row of other columns than it described');
  const row: Record<string, unknown> = {};
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i] as string | null;
    const column = columns[i] as Column;
    row[column.name] = field === null ? null : column.read(field);
  }
  return row;
}

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
