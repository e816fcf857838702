import { signWebhook, type SignableWebhook } from '@banking/client/webhooks';
import { type Event, webhookIdOf } from '@banking/domain';
import type { Database } from '@banking/postgres';
import {
  type ClaimedEndpoint,
  type DueRow,
  type EndpointState,
  type Outcome,
  readDueDeliveries,
  readNextEvents,
  recordOutcomes,
  type StoredEvent,
} from './delivery-store.js';
import { type AttemptResult, type Outbound, RequestAbortedError } from './outbound-request.js';
import { webhookChannel } from './webhook-channels.js';

/** What is sent for an event or a test, the same in each attempt. */
interface WebhookMessage {
  /** The value of `webhook-id`. */
  readonly id: string;
  readonly webhook: SignableWebhook;
}

const TEST = 'webhook.test';

/** @param workspaceId of the event */
function messageOf(workspaceId: bigint, event: Event): WebhookMessage {
  const { type, createdAt } = event;
  return { id: webhookIdOf(workspaceId, event), webhook: { type, timestamp: createdAt, data: event } };
}

/** A message without an event, by which a receiver is tried. */
function testMessage(workspaceId: bigint, deliveryId: bigint, createdAt: string): WebhookMessage {
  const timestamp = new Date(createdAt).toISOString();
  const id = `tst_${workspaceId}_${deliveryId}_${timestamp.replaceAll(/\D/g, '')}`;
  return { id, webhook: { type: TEST, timestamp, data: {} } };
}

/** A delivery in memory. */
interface DeliveryItem {
  /** The resource whose events are sent one after another. */
  readonly resource: string;
  readonly message: WebhookMessage;
  readonly kind: string;
  /** Undefined for the first attempt of an event. */
  readonly deliveryId?: bigint;
  readonly eventId?: bigint;
  readonly eventType?: string;
  /** That were made before. */
  readonly attempts: number;
}

/** Makes the items of a workspace. */
class DeliveryItems {
  constructor(
    private readonly workspaceId: bigint,
    private readonly composeEvent: (event: StoredEvent) => Event,
  ) {}

  ofEvent(event: StoredEvent): DeliveryItem {
    return { ...this.sent(event), kind: 'event', eventId: event.id, eventType: event.type, attempts: 0 };
  }

  /** Undefined if the event was deleted. */
  ofDue(row: DueRow): DeliveryItem | undefined {
    const { deliveryId, kind, attempts, deliveryCreatedAt } = row;
    const due = { deliveryId, kind, attempts };
    if (kind === 'test') {
      const message = testMessage(this.workspaceId, deliveryId, deliveryCreatedAt);
      return { ...due, resource: `test ${deliveryId}`, message };
    }
    return row.id === null ? undefined : { ...due, ...this.sent(row) };
  }

  private sent(event: StoredEvent) {
    const { resourceType, resourceId } = event;
    const message = messageOf(this.workspaceId, this.composeEvent(event));
    return { resource: `${resourceType} ${resourceId}`, message };
  }
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The delays after the first attempt and each further one, in milliseconds: those that Standard Webhooks recommends. */
const RETRIES_MS: readonly number[] = [
  ...[5 * SECOND, 5 * MINUTE, 30 * MINUTE],
  ...[2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR],
];
/** A delay is longer or shorter by a fifth at most, so that retries of many deliveries spread. */
const JITTER = 0.2;

/** Consecutive failed attempts after which an endpoint counts as failing. */
const FAILURES_MAX = 10;

/**
 * The delay after a failed attempt, in milliseconds; undefined after the last one.
 *
 * @param attempts how many were made, at least 1
 * @param random from 0 to below 1
 */
function retryAfterMs(attempts: number, random: number): number | undefined {
  const delay = RETRIES_MS[attempts - 1];
  return delay === undefined ? undefined : Math.round(delay * (1 - JITTER + 2 * JITTER * random));
}

/** Items of which those of one resource are taken one after another, in the order in which they were added. */
class ResourceQueue<Item extends { readonly resource: string }> {
  private readonly ready: Item[] = [];
  /** Of each resource that was taken or is ready: the items behind. */
  private readonly behind = new Map<string, Item[]>();
  private count = 0;

  /** How many items were added and not taken. */
  get waiting(): number {
    return this.count;
  }

  add(item: Item): void {
    this.count += 1;
    const behind = this.behind.get(item.resource);
    if (behind) return void behind.push(item);
    this.behind.set(item.resource, []);
    this.ready.push(item);
  }

  /** The next item whose resource has no other one out; undefined without any. */
  take(): Item | undefined {
    const item = this.ready.shift();
    if (item) this.count -= 1;
    return item;
  }

  /** After the request of a taken item has ended: the next item of its resource may be taken. */
  finish({ resource }: Item): void {
    const next = this.behind.get(resource)?.shift();
    if (next) this.ready.push(next);
    else this.behind.delete(resource);
  }
}

/** What a session needs besides its endpoint. */
interface SessionOptions {
  readonly database: Database;
  readonly outbound: Outbound;
  /** Each signs. */
  readonly secrets: readonly Uint8Array[];
  /** The event as the interface shows it. */
  readonly composeEvent: (event: StoredEvent) => Event;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** Until another worker may take the endpoint over after a crash. The lease is renewed after a third of it. */
export const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
/** Requests to one endpoint at a time. */
const CONCURRENCY = 32;
/** Events of the types of the endpoint that are read at a time, and due deliveries. */
const EVENTS_MAX = 500;
const DUE_MAX = 200;
/** More are read while fewer than these wait. */
const WAITING_MIN = 100;
/** After this time the endpoint is claimed again, with its present secrets. */
const SESSION_MS = 10 * 60_000;

/** A request that has ended. */
interface Attempt {
  readonly startedMs: number;
  /** Whether a failure leaves its event behind the cursor. */
  readonly isProbe: boolean;
  readonly result: AttemptResult;
}

/**
 * Delivers to one endpoint while its lease is held: first due retries, then the events behind its cursor. Results are recorded in sets.
 * The cursor stays before the first event whose result is not recorded, so a crash repeats requests and loses none.
 */
export class EndpointSession {
  private readonly queue = new ResourceQueue<DeliveryItem>();
  /** Events behind the cursor whose result is not recorded, in the order of their ids. */
  private readonly open = new Set<bigint>();
  private readonly running = new Map<DeliveryItem, AbortController>();
  private readonly outcomes: Outcome[] = [];
  private readonly items: DeliveryItems;
  private readTo: bigint;
  private status: string;
  /** Failed requests that began after the last success. */
  private failures: number;
  private successMs = 0;
  private hasAnswered: boolean;
  /** Due deliveries in memory. */
  private dueOpen = 0;
  private hasMore = true;
  private isEnding = false;
  /** Another worker has the lease, or the endpoint was deleted. */
  private isLost = false;
  private renewedMs = performance.now();
  private readonly startedMs = performance.now();
  private onChange: () => void = () => undefined;

  constructor(
    private readonly endpoint: ClaimedEndpoint,
    private readonly options: SessionOptions,
  ) {
    this.items = new DeliveryItems(endpoint.workspaceId, options.composeEvent);
    this.readTo = endpoint.cursor;
    this.status = endpoint.status;
    this.failures = endpoint.consecutiveFailures;
    this.hasAnswered = endpoint.hasAnswered;
  }

  /** Resolves when there is nothing left to send, and the lease is given back. @throws Refusal `unavailable` */
  async run(): Promise<void> {
    try {
      while (!this.isLost) {
        const isCut = await this.fill();
        this.dispatch();
        const isOver = this.running.size === 0 && (this.isEnding || (this.queue.waiting === 0 && !this.hasMore));
        if (isOver) return await this.record(0);
        const isRenewalDue = performance.now() - this.renewedMs > RENEW_MS;
        if (this.outcomes.length > 0 || isRenewalDue) await this.record(LEASE_MS);
        else if (!isCut) await this.changed();
      }
    } finally {
      this.abort();
    }
  }

  /** Looks for more to send, and renews the lease if it is time. */
  poke(): void {
    this.hasMore = true;
    if (performance.now() - this.startedMs > SESSION_MS) this.isEnding = true;
    this.onChange();
  }

  /** Sends nothing more. Requests in progress continue. */
  end(): void {
    this.isEnding = true;
    this.onChange();
  }

  /** Ends the requests in progress. Their deliveries stay as they were. */
  abort(): void {
    this.isEnding = true;
    for (const control of this.running.values()) control.abort();
  }

  /** Whether one request, a probe, decides if there are more. */
  private get isTried(): boolean {
    return this.status === 'failing' || !this.hasAnswered;
  }

  private changed(): Promise<void> {
    return new Promise((resolve) => void (this.onChange = resolve));
  }

  /** Returns whether it passed events and more follow, which are read without a pause. */
  private async fill(): Promise<boolean> {
    if (!this.hasMore || this.isEnding || this.queue.waiting >= WAITING_MIN) return false;
    const { database } = this.options;
    const isProbe = this.isTried;
    if (isProbe && this.running.size + this.queue.waiting > 0) return false;
    this.hasMore = false;
    if (this.dueOpen === 0) {
      const rows = await readDueDeliveries(database, this.endpoint, isProbe ? 1 : DUE_MAX);
      for (const row of rows) this.addDue(row);
      this.hasMore = rows.length === DUE_MAX;
      if (isProbe && rows.length > 0) return false;
    }
    if (isProbe && this.open.size > 0) return false;
    const { readTo, isCut, wanted } = await readNextEvents(database, this.endpoint, this.readTo, EVENTS_MAX);
    this.hasMore ||= isCut;
    const [probe] = wanted;
    // The other events stay behind the cursor.
    const added = isProbe && probe ? [probe] : wanted;
    this.readTo = isProbe && probe ? probe.id : readTo;
    for (const event of added) {
      this.open.add(event.id);
      this.queue.add(this.items.ofEvent(event));
    }
    return isCut;
  }

  private addDue(row: DueRow): void {
    this.dueOpen += 1;
    const item = this.items.ofDue(row);
    if (item) return this.queue.add(item);
    const { deliveryId } = row;
    this.outcomes.push({ deliveryId, outcome: 'missing', startedMs: performance.now() });
  }

  private dispatch(): void {
    while (!this.isEnding && this.running.size < (this.isTried ? 1 : CONCURRENCY)) {
      const item = this.queue.take();
      if (!item) return;
      const control = new AbortController();
      this.running.set(item, control);
      void this.send(item, control.signal);
    }
  }

  private async send(item: DeliveryItem, signal: AbortSignal): Promise<void> {
    const startedMs = performance.now();
    const { outbound, secrets } = this.options;
    const { message } = item;
    const isProbe = this.status === 'failing' && item.deliveryId === undefined;
    try {
      const texts = secrets.map((secret) => `whsec_${Buffer.from(secret).toString('base64')}`);
      const { headers, body } = await signWebhook(message.webhook, texts, { id: message.id, timestamp: new Date() });
      const result = await outbound.post({
        url: this.endpoint.url,
        headers: { 'user-agent': 'banking-webhooks/1', ...headers },
        body,
        signal,
        // Such an address gets one request a minute, because its owner may want none.
        isOnce: !this.hasAnswered,
      });
      this.finish(item, { startedMs, isProbe, result });
    } catch (error) {
      // A request that was aborted has no result: it is made again.
      if (!(error instanceof RequestAbortedError))
        this.finish(item, { startedMs, isProbe, result: { durationMs: 0, error: 'connection_failed' } });
    } finally {
      this.running.delete(item);
      this.queue.finish(item);
      if (!this.isLost) this.dispatch();
      this.onChange();
    }
  }

  private finish(item: DeliveryItem, { startedMs, isProbe, result }: Attempt): void {
    const { deliveryId, eventId, eventType, attempts, kind } = item;
    const isDelivered = result.error === undefined && isSuccess(result.responseStatus);
    // The rest of a backlog follows the first answer. Without it, the next request is that of another session.
    if (!this.hasAnswered && isDelivered) this.hasMore = true;
    this.hasAnswered ||= isDelivered;
    if (isDelivered) {
      this.failures = 0;
      this.successMs = performance.now();
    } else if (startedMs > this.successMs) {
      // A request that began before the last success may have been slow, while the endpoint works.
      this.failures += 1;
    }
    const retries = kind === 'test' ? undefined : retryAfterMs(attempts + 1, this.options.random());
    const outcome = isDelivered ? 'delivered' : isProbe ? 'probe' : 'failed';
    this.outcomes.push({ deliveryId, eventId, eventType, outcome, startedMs, result, retryAfterMs: retries });
    const isFailing = this.failures >= FAILURES_MAX || (this.status === 'failing' && !isDelivered);
    if (isFailing || !this.hasAnswered || result.responseStatus === 410) this.isEnding = true;
    if (webhookChannel.hasSubscribers) {
      webhookChannel.publish({ outcome: isDelivered ? 'delivered' : 'failed', seconds: result.durationMs / 1_000 });
    }
  }

  /** @param leaseMs 0 gives the lease back */
  private async record(leaseMs: number): Promise<void> {
    const recorded = this.outcomes.splice(0);
    const ended = recorded.filter(({ outcome }) => outcome !== 'probe');
    for (const { eventId } of ended) if (eventId !== undefined) this.open.delete(eventId);
    const [first] = this.open;
    const cursor = first === undefined ? this.readTo : first - 1n;
    const { database } = this.options;
    const limits = { cursor, leaseMs, failures: this.failures, failuresMax: FAILURES_MAX };
    const state = await recordOutcomes(database, this.endpoint, recorded, limits);
    this.dueOpen -= recorded.filter(({ deliveryId }) => deliveryId !== undefined).length;
    this.renewedMs = performance.now();
    if (state === undefined) return this.lose();
    this.status = state.status;
    if (state.status === 'disabled' || this.hasChanged(state)) this.isEnding = true;
  }

  private lose(): void {
    this.isLost = true;
    this.abort();
  }

  private hasChanged({ url, types, previousValidUntil }: EndpointState): boolean {
    const { endpoint } = this;
    return (
      url !== endpoint.url ||
      types.join() !== endpoint.types.join() ||
      previousValidUntil !== endpoint.previousValidUntil
    );
  }
}

const isSuccess = (status = 0) => status >= 200 && status < 300;
