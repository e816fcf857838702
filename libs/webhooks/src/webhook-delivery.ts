import type { Event } from '@banking/domain';
import { type Database, isServedElsewhere } from '@banking/postgres';
import type { AddressPolicy } from './address-policy.js';
import {
  claimEndpoints,
  type ClaimedEndpoint,
  readFormerlySealed,
  storeResealed,
  type StoredEvent,
  wakeMissed,
} from './delivery-store.js';
import { EndpointSession, LEASE_MS } from './endpoint-session.js';
import type { OpenWebhooks } from './open-webhooks.js';
import { Outbound, type OutboundOptions } from './outbound-request.js';

/** The chore, and the endpoint if one has failed. */
interface FailedDelivery {
  readonly chore: string;
  readonly workspaceId?: number;
  readonly kind?: string;
  readonly subjectId?: number;
}

export interface WebhookDeliveryOptions extends OpenWebhooks {
  readonly database: Database;
  /** In which requests differ from the default. */
  readonly outbound?: Omit<OutboundOptions, keyof AddressPolicy> | undefined;
  /** The event as the interface shows it. */
  readonly composeEvent: (event: StoredEvent) => Event;
  /** Receives each error with what failed; for the log. */
  readonly onError?: ((error: unknown, failed: FailedDelivery) => void) | undefined;
  /** From 0 to below 1. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** Endpoints at a time. One that hangs takes one of them. */
const SESSIONS_MAX = 256;
const IDLE_MS = 100;
/** Between two looks at all endpoints, for what no event or request makes due. */
const LOOK_MS = 10 * 60_000;
/** Endpoints whose secrets are sealed anew at a time. */
const RESEALED_MAX = 100;
/** How long requests in progress may take after the stop began. */
const DRAIN_MS = 5_000;

/** Delivers events to the endpoints of a database: a chore of the worker. Any number of workers may run. */
export class WebhookDelivery {
  readonly name = 'webhooks';
  readonly idleMs = IDLE_MS;
  readonly isNudged = true;
  private readonly sessions = new Map<EndpointSession, Promise<void>>();
  private readonly outbound: Outbound;
  private isStopping = false;
  private lookAtMs = -Infinity;
  private looking = Promise.resolve();

  constructor(private readonly options: WebhookDeliveryOptions) {
    this.outbound = new Outbound({ ...options.outbound, ...options.policy });
  }

  /** Claims endpoints that have something to deliver and starts their sessions. Returns 0, so that a pause follows. @throws Refusal `unavailable` */
  async run(): Promise<number> {
    for (const session of this.sessions.keys()) session.poke();
    const free = SESSIONS_MAX - this.sessions.size;
    if (free <= 0 || this.isStopping) return 0;
    this.lookAtAll();
    for (const endpoint of await claimEndpoints(this.options.database, free, LEASE_MS)) this.start(endpoint);
    return 0;
  }

  /** Resolves when the sessions that run now, and a look at all endpoints, have ended. */
  async finished(): Promise<void> {
    await Promise.all([...this.sessions.values(), this.looking]);
  }

  /** Starts no more requests and waits for those in progress, at most 5 s. The others are made again by the next worker. */
  async stop(): Promise<void> {
    this.isStopping = true;
    for (const session of this.sessions.keys()) session.end();
    const timer = setTimeout(() => this.sessions.forEach((_, session) => session.abort()), DRAIN_MS);
    await this.finished();
    clearTimeout(timer);
    this.outbound.close();
  }

  /** Beside the deliveries, which neither its time nor its failure delays. */
  private lookAtAll(): void {
    if (performance.now() < this.lookAtMs) return;
    this.lookAtMs = Infinity;
    this.looking = wakeMissed(this.options.database)
      .catch((error: unknown) => this.report(error))
      .then(() => this.resealAll())
      .catch((error: unknown) => this.report(error))
      .finally(() => (this.lookAtMs = performance.now() + LOOK_MS));
  }

  private start(endpoint: ClaimedEndpoint): void {
    const { database, composeEvent, random = Math.random } = this.options;
    try {
      const secrets = this.secretsOf(endpoint);
      const session = new EndpointSession(endpoint, {
        database,
        outbound: this.outbound,
        secrets,
        composeEvent,
        random,
      });
      const running = session
        .run()
        .catch((error: unknown) => this.report(error, endpoint))
        .finally(() => this.sessions.delete(session));
      this.sessions.set(session, running);
    } catch (error) {
      // The lease stays, so that an endpoint whose secret cannot be opened is tried again when it ends.
      this.report(error, endpoint);
    }
  }

  private report(error: unknown, endpoint?: Pick<ClaimedEndpoint, 'workspaceId' | 'id'>): void {
    const subject = endpoint && {
      workspaceId: Number(endpoint.workspaceId),
      kind: 'webhookEndpoint',
      subjectId: Number(endpoint.id),
    };
    this.options.onError?.(error, { chore: this.name, ...subject });
  }

  /** Seals with the first key what the others sealed, so that they can be removed: also for endpoints without events. */
  private async resealAll(): Promise<void> {
    const { database, sealer } = this.options;
    if (sealer.formerKeys.length === 0) return;
    let after = { workspaceId: 0n, id: 0n };
    for (;;) {
      const page = await readFormerlySealed(database, sealer.formerKeys, after, RESEALED_MAX);
      for (const endpoint of page) {
        if (this.isStopping) return;
        const context = { workspaceId: endpoint.workspaceId, endpointId: endpoint.id };
        try {
          for (const sealed of endpoint.sealedSecrets)
            await storeResealed(database, endpoint, sealed, sealer.seal(sealer.open(sealed, context), context));
        } catch (error) {
          // The database that a workspace has moved to seals its secrets.
          if (!isServedElsewhere(error)) this.report(error, endpoint);
        }
        after = endpoint;
      }
      if (page.length < RESEALED_MAX) return;
    }
  }

  /** @throws SealError */
  private secretsOf(endpoint: ClaimedEndpoint): readonly Uint8Array[] {
    const context = { workspaceId: endpoint.workspaceId, endpointId: endpoint.id };
    return this.sealedSecretsOf(endpoint).map((secret) => this.options.sealer.open(secret, context));
  }

  /** Without a former one whose key was lost: a rotation is the repair of that, and must have an effect at once. */
  private sealedSecretsOf({ sealedSecret, previousSealedSecret: previous }: ClaimedEndpoint): readonly Uint8Array[] {
    return previous && this.options.sealer.hasKeyOf(previous) ? [sealedSecret, previous] : [sealedSecret];
  }
}
