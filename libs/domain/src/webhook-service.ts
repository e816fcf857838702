import type { Created, RequestOptions } from './idempotency.js';
import type { Page, PageQuery } from './lists.js';
import { RecordService } from './record-service.js';
import type { WebhookDelivery } from './resources/webhook-delivery.js';
import type { WebhookEndpoint, WebhookEndpointWithSecret } from './resources/webhook-endpoint.js';
import type { Scope } from './scope.js';
import type {
  CreateWebhookEndpointInput,
  WebhookDeliveryName,
  WebhookDeliveryQuery,
  WebhookEndpointChange,
  WebhookEndpointName,
  WebhookReplay,
  WebhookReplayInput,
} from './webhook-input.js';

/** The part of the port that manages webhook endpoints. Every method refuses with `route_not_found` from an upstream without webhooks. */
export abstract class WebhookService extends RecordService {
  /**
   * POST /webhook-endpoints: creates an endpoint, which receives the events that are recorded from now on. The result has the secret, and
   * the replay of a request has none.
   *
   * @throws Refusal `webhook_url_refused`, `webhook_endpoint_limit`, `webhooks_unavailable`, and those of the idempotency key.
   */
  abstract createWebhookEndpoint(
    scope: Scope,
    input: CreateWebhookEndpointInput,
    options?: RequestOptions,
  ): Promise<Created<WebhookEndpointWithSecret>>;

  /** GET /webhook-endpoints: the endpoints of the workspace, newest first. @throws Refusal `limit_invalid`, `cursor_invalid` */
  abstract listWebhookEndpoints(scope: Scope, query?: PageQuery): Promise<Page<WebhookEndpoint>>;

  /** GET /webhook-endpoints/{webhookEndpointId}. @throws Refusal `webhook_endpoint_not_found` */
  abstract getWebhookEndpoint(scope: Scope, query: WebhookEndpointName): Promise<WebhookEndpoint>;

  /**
   * PATCH /webhook-endpoints/{webhookEndpointId}: changes the address, types or description, or disables or enables the endpoint.
   * Omitted fields stay.
   *
   * @throws Refusal `webhook_endpoint_not_found`; `webhook_url_refused`, `webhooks_unavailable` for an address.
   */
  abstract changeWebhookEndpoint(scope: Scope, change: WebhookEndpointChange): Promise<WebhookEndpoint>;

  /**
   * DELETE /webhook-endpoints/{webhookEndpointId}: deletes the endpoint and its secret. Its pending deliveries end.
   *
   * @throws Refusal `webhook_endpoint_not_found`.
   */
  abstract deleteWebhookEndpoint(scope: Scope, query: WebhookEndpointName): Promise<void>;

  /**
   * POST /webhook-endpoints/{webhookEndpointId}/secret-rotation: makes a new secret. The former one signs too for 24 hours.
   *
   * @throws Refusal `webhook_endpoint_not_found`, `webhooks_unavailable`.
   */
  abstract rotateWebhookSecret(scope: Scope, query: WebhookEndpointName): Promise<WebhookEndpointWithSecret>;

  /**
   * POST /webhook-endpoints/{webhookEndpointId}/test: sends a test of the type `webhook.test`, shortly after.
   *
   * @throws Refusal `webhook_endpoint_not_found`, `webhook_endpoint_disabled`, `webhook_delivery_limit`.
   */
  abstract testWebhookEndpoint(scope: Scope, query: WebhookEndpointName): Promise<WebhookDelivery>;

  /**
   * POST /webhook-endpoints/{webhookEndpointId}/replay: delivers the events of a period again that the endpoint has a type of.
   *
   * @throws Refusal `webhook_endpoint_not_found`, `webhook_endpoint_disabled`, `timestamp_invalid`.
   * @throws Refusal `webhook_replay_limit` for a period with more than 10,000 events of all types.
   * @throws Refusal `webhook_delivery_limit` during another replay, or for too many pending or requested deliveries of the workspace.
   */
  abstract replayWebhookEvents(scope: Scope, input: WebhookReplayInput): Promise<WebhookReplay>;

  /**
   * GET /webhook-endpoints/{webhookEndpointId}/deliveries: the deliveries of an endpoint, newest first.
   *
   * @throws Refusal `webhook_endpoint_not_found`, `limit_invalid`, `cursor_invalid`.
   */
  abstract listWebhookDeliveries(scope: Scope, query: WebhookDeliveryQuery): Promise<Page<WebhookDelivery>>;

  /**
   * POST /webhook-endpoints/{webhookEndpointId}/deliveries/{webhookDeliveryId}/retry: attempts a pending or failed delivery now.
   *
   * @throws Refusal `webhook_endpoint_not_found`, `webhook_endpoint_disabled`, `webhook_delivery_not_found`, `webhook_delivered`.
   * @throws Refusal `event_not_found` if the event is not kept any more, `webhook_delivery_limit`.
   */
  abstract retryWebhookDelivery(scope: Scope, query: WebhookDeliveryName): Promise<WebhookDelivery>;
}
