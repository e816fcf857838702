import type { EventType } from '../event-types.js';
import type { WebhookEndpointId } from '../ids.js';
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
