import { type FileHandle, open } from 'node:fs/promises';

/** How an attempt ended, as its client knows it. Only an order with an unknown attempt may be found or not. */
export type Outcome = 'ok' | 'refused' | 'unknown';

/** An order as its client sends it. All attempts of one order have the same key and body. */
export interface SentOrder {
  readonly key: string;
  readonly workspaceId: number;
  readonly accountId: number;
  readonly recipientId: number;
  /** Minor units, as the interface writes them. */
  readonly amount: string;
}

/** Written before the request is sent. */
export interface SendEvent extends SentOrder {
  readonly event: 'send';
  readonly attempt: number;
  readonly api: number;
}

/** Written after the response, or after the attempt ended without one. */
export interface ResponseEvent {
  readonly event: 'response';
  readonly key: string;
  readonly attempt: number;
  readonly outcome: Outcome;
  /** Missing if there was no response. */
  readonly status?: number;
  /** The reason of a refusal, or the error of the connection. */
  readonly reason?: string;
  readonly orderId?: number;
  /** SHA-256 of the body. */
  readonly digest?: string;
}

/** A response that is compared with what its client expects, such as a read that began after an acknowledgement. */
export interface ReadEvent {
  readonly event: 'read';
  /** The check that a difference violates. */
  readonly check: 'reads' | 'outcome';
  readonly subject: string;
  readonly api: number;
  readonly expected: string;
  readonly actual: string;
}

/** A fault that was injected. */
export interface FaultEvent {
  readonly event: 'fault';
  readonly kind: string;
  readonly target: string;
}

export type LogEvent = SendEvent | ResponseEvent | ReadEvent | FaultEvent;
type LoggedEvent = LogEvent & { readonly at: number };

/**
 * The log of the clients, which judges the service. An event is on disk when `append` resolves, so that the log knows every request
 * that the service may have received. Concurrent events share one fsync.
 */
export class ClientLog {
  readonly events: LogEvent[] = [];
  private waiting: string[] = [];
  /** The write that runs, or the last one. */
  private written: Promise<void> = Promise.resolve();
  /** The write that will contain the waiting events. */
  private next: Promise<void> | undefined;

  private constructor(
    private readonly file: FileHandle,
    readonly path: string,
  ) {}

  static async create(path: string): Promise<ClientLog> {
    return new ClientLog(await open(path, 'ax'), path);
  }

  async append(event: LogEvent): Promise<void> {
    this.events.push(event);
    this.waiting.push(`${JSON.stringify({ at: Date.now(), ...event })}\n`);
    this.next ??= this.written.then(() => this.write());
    await this.next;
  }

  async close(): Promise<void> {
    await (this.next ?? this.written);
    await this.file.close();
  }

  private write(): Promise<void> {
    const lines = this.waiting.join('');
    this.waiting = [];
    this.next = undefined;
    this.written = this.file.appendFile(lines).then(() => this.file.datasync());
    return this.written;
  }
}

/**
 * Parses a log. A last line without an end belongs to a run that was killed while it wrote, and is ignored.
 *
 * @throws Error for any other line that is no event
 */
export function parseLog(text: string): LoggedEvent[] {
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line, index) => {
    try {
      const parsed = JSON.parse(line) as Partial<LoggedEvent> | null;
      if (typeof parsed?.event === 'string' && typeof parsed.at === 'number') return parsed as LoggedEvent;
    } catch {
      // Reported below, like a line of JSON that is no event.
    }
    throw new Error(`line ${index + 1} of the client log is no event: ${line.slice(0, 80)}`);
  });
}
