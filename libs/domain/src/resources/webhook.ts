import type { EventType } from '../event-types.js';
import type { WebhookEndpointId, EventId, WebhookDeliveryId } from '../ids.js';
import type { Open } from '../open.js';
import type { WebhookEndpointStatus } from '../states.js';
import type { Timestamp } from '../timestamp.js';

/** Who or what disabled an endpoint: an administrator, its response 410, five days of failures, or its owner's loss of the role. */
export type WebhookDisabledReason = 'user' | 'gone' | 'failing' | 'owner_without_role';

/** An address to which the service delivers the events of a workspace. */
export interface WebhookEndpoint {
  readonly id: WebhookEndpointId;
  readonly url: string;
  /** The types of events that are delivered. Empty for all types, also those of later releases. */
  readonly types: readonly Open<EventType>[];
  readonly description?: string;
  readonly status: Open<WebhookEndpointStatus>;
  /** Of a disabled endpoint. */
  readonly disabledReason?: Open<WebhookDisabledReason>;
  /** Since when deliveries fail. Present while the status is `failing`, and if it is disabled because of that. */
  readonly failingSince?: Timestamp;
  readonly createdAt: Timestamp;
}

/** An endpoint with its new secret, which is shown once. */
export interface WebhookEndpointWithSecret extends WebhookEndpoint {
  /**
   * `whsec_`, and 32 random bytes in base64. Missing in the replay of a request, because the service stores no secret that can be read.
   */
  readonly secret?: string;
}

/** Whether an event is delivered for the first time, again by request, or as a test without an event. */
export type WebhookDeliveryKind = 'event' | 'test' | 'replay';

/** A delivery is pending until a response with a status 2xx, or until its last attempt has failed. */
export type WebhookDeliveryStatus = 'pending' | 'delivered' | 'failed';

/** Why an attempt has no response. */
export type WebhookAttemptError = 'timeout' | 'connection_failed' | 'tls_failed';

/** One request to an endpoint, and its result. */
export interface WebhookAttempt {
  readonly at: Timestamp;
  /** In milliseconds. */
  readonly durationMs: number;
  /** The status of HTTP. */
  readonly responseStatus?: number;
  /** The first 1,024 characters of the response at most, without control characters. */
  readonly response?: string;
  readonly error?: Open<WebhookAttemptError>;
}

/** The delivery of an event to an endpoint, with its last attempt. */
export interface WebhookDelivery {
  readonly id: WebhookDeliveryId;
  /** Missing for a test. */
  readonly eventID?: EventId;
  /** `webhook.test` for a test. */
  readonly eventType: Open<EventType | 'webhook.test'>;
  readonly kind: Open<WebhookDeliveryKind>;
  readonly status: Open<WebhookDeliveryStatus>;
  /** How many requests were sent. */
  readonly attempts: number;
  /** Of a pending delivery. */
  readonly nextAttemptAt?: Timestamp;
  readonly lastAttempt?: WebhookAttempt;
  readonly createdAt: Timestamp;
}
