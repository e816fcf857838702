import type { EventType } from './event-types.js';
import type { PlainNumber, WebhookDeliveryId, WebhookEndpointId } from './ids.js';
import type { PageQuery } from './lists.js';
import type { WebhookDeliveryStatus } from './resources/webhook-delivery.js';

/** The maximum number of webhook endpoints of a workspace. */
export const WEBHOOK_ENDPOINTS_MAX = 20;
/** The maximum number of events of a period that is delivered again, of all types. */
export const WEBHOOK_REPLAY_MAX = 10_000;
/** The maximum number of pending deliveries of a workspace with which another one may be requested. */
export const WEBHOOK_PENDING_MAX = 20_000;
/** The maximum number of deliveries that a workspace requests on a day of UTC: tests, retries and replayed events. */
export const WEBHOOK_REQUESTED_MAX = 50_000;
/** The maximum length of the address of an endpoint, in characters. */
export const WEBHOOK_URL_MAX = 2_048;

/** Input of `createWebhookEndpoint`. */
export interface CreateWebhookEndpointInput {
  /** `https`, without credentials and fragment. In a sandbox also `http` to the loopback interface. */
  readonly url: string;
  /** The types of events to deliver. All types if it is empty or omitted. */
  readonly types?: readonly EventType[] | undefined;
  /** 1 to 140 characters of free text (`isFreeText`). */
  readonly description?: string | undefined;
}

/** Names an endpoint of the workspace. */
export interface WebhookEndpointName {
  readonly webhookEndpointId: WebhookEndpointId | PlainNumber;
}

/** Input of `changeWebhookEndpoint`. Omitted fields stay. */
export interface WebhookEndpointChange extends WebhookEndpointName {
  readonly url?: string | undefined;
  /** Empty for all types. */
  readonly types?: readonly EventType[] | undefined;
  readonly description?: string | undefined;
  /** An endpoint that is enabled again continues with the first event that was not delivered. */
  readonly status?: 'enabled' | 'disabled' | undefined;
}

/** Input of `replayWebhookEvents`: a period of the times of events. */
export interface WebhookReplayInput extends WebhookEndpointName {
  /** RFC 3339 with an offset, inclusive. */
  readonly createdFrom: string;
  /** RFC 3339 with an offset, exclusive, not before `createdFrom`. */
  readonly createdTo: string;
}

/** The result of `replayWebhookEvents`. */
export interface WebhookReplay {
  /** How many events are delivered again. */
  readonly deliveries: number;
}

/** Filters of the deliveries of an endpoint. */
export interface WebhookDeliveryQuery extends WebhookEndpointName, PageQuery {
  readonly status?: WebhookDeliveryStatus | undefined;
}

/** Names a delivery of an endpoint. */
export interface WebhookDeliveryName extends WebhookEndpointName {
  readonly webhookDeliveryId: WebhookDeliveryId | PlainNumber;
}
