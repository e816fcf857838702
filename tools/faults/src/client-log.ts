import { type FileHandle, open } from 'node:fs/promises';

/** How an attempt ended, as its client knows it. Only an order with an unknown attempt may be found or not. */
export type Outcome = 'ok' | 'refused' | 'unknown';

/** An order as its client sends it. All attempts of one order have the same key and body. */
export interface SentOrder {
  readonly key: string;
  readonly workspaceId: number;
  readonly accountId: number;
  readonly recipientId: number;
  readonly amount: string;
  readonly isPayout: boolean;
  /** Whether a rule applies to it, so that it moves no money before its approvals. */
  readonly needsApproval?: boolean;
}

interface SendEvent extends SentOrder {
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
  readonly reason?: string;
  readonly orderId?: number;
  readonly digest?: string;
}

/** A response that is compared with what its client expects, such as a read that began after an acknowledgement. */
export interface ReadEvent {
  readonly event: 'read';
  readonly check: 'reads' | 'outcome';
  readonly subject: string;
  readonly api: number;
  readonly expected: string;
  readonly actual: string;
}

interface FaultEvent {
  readonly event: 'fault';
  readonly kind: string;
  readonly target: string;
}

type LogEvent = SendEvent | ResponseEvent | ReadEvent | FaultEvent;
export type LoggedEvent = LogEvent & { readonly at: number };

/**
 * The log of the clients, which judges the service. An event is on disk when `append` resolves, so that the log knows every request
 * that the service may have received. Concurrent events share one fsync.
 */
export class ClientLog {
  readonly events: LoggedEvent[] = [];
  private readonly attempts = new Map<string, number>();
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

  nextAttempt(key: string): number {
    const attempt = (this.attempts.get(key) ?? 0) + 1;
    this.attempts.set(key, attempt);
    return attempt;
  }

  async append(event: LogEvent): Promise<void> {
    const logged = { at: Date.now(), ...event };
    this.events.push(logged);
    this.waiting.push(`${JSON.stringify(logged)}\n`);
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

export interface Operation extends SentOrder {
  /**
   * `ok`: an attempt was acknowledged. `refused`: every attempt was refused, so nothing may have been done. `unknown`: at least one
   * attempt has no known outcome and none was acknowledged; its request may still be on its way after a later refusal.
   */
  readonly outcome: Outcome;
  readonly attempts: number;
  readonly sentAt: number;
  readonly acknowledgedAt?: number | undefined;
  readonly digests: readonly string[];
  readonly orderIds: readonly number[];
}

/** The operations of a log, in the order in which they were first sent. */
export function operationsOf(events: readonly LoggedEvent[]): Operation[] {
  const sent = new Map<string, (SendEvent & { readonly at: number })[]>();
  const responses = new Map<string, ResponseEvent & { readonly at: number }>();
  for (const event of events) {
    if (event.event === 'send') sent.set(event.key, [...(sent.get(event.key) ?? []), event]);
    if (event.event === 'response') responses.set(`${event.key} ${event.attempt}`, event);
  }
  return [...sent.values()].map((attempts): Operation => {
    const { event: _, attempt: _attempt, api: _api, at, ...order } = attempts[0]!;
    const received = attempts.map(({ attempt }) => responses.get(`${order.key} ${attempt}`));
    const acknowledged = received.filter((response) => response?.outcome === 'ok');
    const isRefused = received.every((response) => response?.outcome === 'refused');
    return {
      ...{ ...order, sentAt: at, attempts: attempts.length },
      outcome: acknowledged.length > 0 ? 'ok' : isRefused ? 'refused' : 'unknown',
      acknowledgedAt: acknowledged[0]?.at,
      digests: acknowledged.flatMap((response) => response?.digest ?? []),
      orderIds: [...new Set(acknowledged.flatMap((response) => response?.orderId ?? []))],
    };
  });
}
