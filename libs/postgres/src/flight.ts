import { DatabaseError, type Connection, type FieldDef, type Submittable } from 'pg';
import { columnReader, type ColumnReader } from './column-types.js';
import { ConnectionLost } from './failures.js';
import type { Bound } from './statement.js';

/** What one connection's server process knows under a name. */
export interface Prepared {
  readonly text: string;
  /** The columns, once the server has described them; an empty list for a statement without rows. */
  columns?: readonly Column[];
}

/** One column of an answer. */
interface Column {
  readonly name: string;
  readonly read: ColumnReader;
}

/** What came back when every statement of a flight was carried out. */
export interface Landing {
  /** The rows of each statement, in order. */
  readonly rows: readonly Record<string, unknown>[][];
  /** The command tag of each statement, such as `COMMIT` or `INSERT 0 1`. */
  readonly tags: readonly string[];
}

/** A piece of the protocol that `@types/pg` declares too narrowly: portals and statements may be unnamed, limits left out. */
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
 * Several statements sent in one go, with one Sync behind the last.
 *
 * One round trip and, unless a statement says BEGIN, one implicit database transaction: the server stops at the first
 * error, undoes all of it and skips to the Sync. Transaction-local settings end there too.
 *
 * `pg` hands us the answers as a Submittable, except four things it keeps or drops: see `Session`, which passes them on.
 */
export class Flight implements Submittable {
  readonly landed: Promise<Landing>;
  private settle!: { resolve(landing: Landing): void; reject(error: unknown): void };
  private readonly rows: Record<string, unknown>[][] = [];
  private readonly tags: string[] = [];
  /** The statements whose Parse is on its way. */
  private readonly parsing: { name: string; text: string }[] = [];
  private columns: readonly Column[] | undefined;
  private current: Record<string, unknown>[] = [];
  private failure: { error: unknown } | undefined;
  private isSent = false;

  /**
   * @param prepared what this connection has parsed already, kept up to date by the flight; undefined sends every
   *   statement with its text and without a name.
   */
  constructor(
    private readonly calls: readonly Bound<unknown>[],
    private readonly prepared: Map<string, Prepared> | undefined,
  ) {
    this.landed = new Promise((resolve, reject) => (this.settle = { resolve, reject }));
    this.landed.catch(() => undefined);
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

  /** The server has parsed the next statement. It knows it from here on, even if carrying it out fails. */
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

  /** The server, waiting for rows, has passed over our Sync: after the refusal it needs another. */
  handleCopyInResponse(connection: { sendCopyFail(reason: string): void; sync(): void }): void {
    this.handleCopyData();
    connection.sendCopyFail('no COPY data here');
    connection.sync();
  }

  handleCopyData(): void {
    this.failure ??= { error: new Error('a flight cannot carry COPY data') };
  }

  /** Either the server's word, after which its Sync answer still comes, or the end of the connection. */
  handleError(error: Error): void {
    if (error instanceof DatabaseError) this.failure ??= { error };
    else this.lose(error);
  }

  /** Asked of every Submittable; the landing itself is reported through `land`, also after an error. */
  handleReadyForQuery(): void {}

  /** The server answered the Sync: everything that will be known is known. */
  land(): void {
    if (this.failure !== undefined) this.settle.reject(this.failure.error);
    else this.settle.resolve({ rows: this.rows, tags: this.tags });
  }

  /** The connection is gone, or has been given up. */
  lose(cause: unknown): void {
    const arrived = { rows: this.rows, tags: this.tags };
    this.settle.reject(new ConnectionLost(arrived, this.isSent, this.failure?.error ?? cause));
  }

  /** The statement that was being carried out, for whoever reads the error. */
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
