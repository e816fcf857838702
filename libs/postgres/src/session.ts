import type { Connection, PoolClient } from 'pg';
import { spoilsConnection } from './failures.js';
import { Flight, type Landing, type Prepared } from './flight.js';
import type { Bound } from './statement.js';

/** What a flight may take longer than a statement: for the network, and for the server to say that a statement took too long. */
const GRACE_MS = 1_000;

/** Whether the server is inside a database transaction: idle, in one, or in one that has failed. */
export type TransactionStatus = 'I' | 'T' | 'E';

/** A client of the pool; `@types/pg` leaves out that it has a `connection`. */
export type SessionClient = PoolClient & { readonly connection: Connection };

export interface SessionOptions {
  readonly nameStatements: boolean;
  readonly statementTimeoutMs: number;
  /** Told when the server did not answer a flight in time, with when it was sent: `performance.now()`. */
  readonly onSilence: (sentAtMs: number) => void;
}

/**
 * One connection and what its server process remembers of us.
 *
 * Sends one flight at a time and knows afterwards whether the connection may be used again.
 */
export class Session {
  private readonly prepared: Map<string, Prepared> | undefined;
  private flight: Flight | undefined;
  private status: TransactionStatus | undefined = 'I';
  private spoilt = false;
  private heardAtMs = performance.now();
  private waitedMs = 0;

  constructor(
    readonly client: SessionClient,
    private readonly options: SessionOptions,
  ) {
    this.prepared = options.nameStatements ? new Map() : undefined;
    this.listen(client.connection);
  }

  /** Whether the next caller may have this connection: alive, in no transaction, and as we remember it. */
  get isFit(): boolean {
    return this.status === 'I' && this.flight === undefined && !this.spoilt;
  }

  /** When the server answered last, or the session was set up: `performance.now()`. */
  get lastHeardAtMs(): number {
    return this.heardAtMs;
  }

  /** Begins the use by a caller who has waited so long for it. That time is taken from the first flight. */
  begin(waitedMs: number): void {
    this.waitedMs = waitedMs;
  }

  /** Closes the connection without telling the server, which might not answer. */
  destroy(): void {
    this.client.connection.stream.destroy();
  }

  /** What the server said last; undefined once the connection is gone. */
  get transactionStatus(): TransactionStatus | undefined {
    return this.status;
  }

  /** Whether a flight is in the air: nothing else may be sent. */
  get isBusy(): boolean {
    return this.flight !== undefined;
  }

  /**
   * Sends statements in one round trip and waits until the server has answered all of it: however many they are, for no longer than
   * one statement may take, and a second. A connection that is given up is closed, at which the server ends what it is doing.
   *
   * @throws DatabaseError what the server objected to, with the statement's name added as `statement`.
   * @throws ConnectionLost when the connection ended or did not answer in time; it is then closed.
   * @throws Error when another flight is still in the air, or two texts share a name: both are bugs.
   */
  async fly(calls: readonly Bound<unknown>[]): Promise<Landing> {
    if (this.flight !== undefined) throw new Error('a connection carries one flight at a time: await the one before');
    calls.forEach((call) => this.expectOneText(call));
    const flight = new Flight(calls, this.prepared);
    const limitMs = Math.max(0, this.options.statementTimeoutMs + GRACE_MS - this.waitedMs);
    this.waitedMs = 0;
    const sentAtMs = performance.now();
    const deadline = setTimeout(() => this.giveUp(flight, sentAtMs), limitMs);
    this.flight = flight;
    this.client.query(flight);
    try {
      return await flight.landed;
    } catch (error) {
      throw this.told(error, flight);
    } finally {
      clearTimeout(deadline);
    }
  }

  /**
   * What `pg` does not hand to a Submittable: ParseComplete, and everything once an error has come. `pg` forgets the
   * active query at the error, but the connection is not ours to pass on before the server has answered the Sync.
   */
  private listen(connection: Connection): void {
    connection.on('parseComplete', () => this.flight?.handleParseComplete());
    connection.on('readyForQuery', (message: { status: TransactionStatus }) => {
      this.status = message.status;
      this.heardAtMs = performance.now();
      const landed = this.flight;
      this.flight = undefined;
      landed?.land();
    });
    connection.on('end', () => this.lose(new Error('the connection ended')));
  }

  private lose(cause: Error): void {
    this.status = undefined;
    const lost = this.flight;
    this.flight = undefined;
    lost?.lose(cause);
  }

  /** Looks at what has arrived first: the deadline of a process that was held up may ring before its mail is read. */
  private giveUp(flight: Flight, sentAtMs: number): void {
    setImmediate(() => {
      if (this.flight !== flight) return;
      this.lose(new Error('no answer in time'));
      this.destroy();
      this.options.onSilence(sentAtMs);
    });
  }

  private told(error: unknown, flight: Flight): unknown {
    if (spoilsConnection(error)) this.spoilt = true;
    if (!(error instanceof Error)) return error;
    Error.captureStackTrace(error);
    return Object.assign(error, { statement: flight.statementName });
  }

  private expectOneText({ statement }: Bound<unknown>): void {
    const known = this.prepared?.get(statement.name);
    if (known !== undefined && known.text !== statement.text) {
      throw new Error(`two statements are named "${statement.name}"`);
    }
  }
}
