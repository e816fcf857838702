import type {
  CreateWebhookEndpointInput,
  Page,
  PageQuery,
  PlainNumber,
  Scope,
  WebhookDelivery,
  WebhookDeliveryId,
  WebhookDeliveryQuery,
  WebhookEndpoint,
  WebhookEndpointChange,
  WebhookEndpointId,
  WebhookEndpointWithSecret,
  WebhookReplay,
  WebhookReplayInput,
} from '@banking/domain';
import { iteratePages } from './pages.js';
import type { CreationResult, RemoteBankingService } from './remote-banking-service.js';
import type { CallOptions, CreationOptions } from './transport.js';

type EndpointId = WebhookEndpointId | PlainNumber;
type Deliveries = Omit<WebhookDeliveryQuery, 'webhookEndpointId'>;

/** The webhook endpoints of one workspace, for its administrators. */
export interface WebhookMethods {
  /** Iterates over all endpoints, newest first. */
  list(query?: PageQuery, options?: CallOptions): AsyncGenerator<WebhookEndpoint, void, undefined>;
  /** One page. Its `next` is the `cursor` of the following page. */
  listPage(query?: PageQuery, options?: CallOptions): Promise<Page<WebhookEndpoint>>;
  get(id: EndpointId, options?: CallOptions): Promise<WebhookEndpoint>;
  /** Store the `secret` of the result: the service shows it once. */
  create(
    input: CreateWebhookEndpointInput,
    options?: CreationOptions,
  ): Promise<CreationResult<WebhookEndpointWithSecret>>;
  /** Changes the address, types or description, or disables or enables the endpoint. Omitted fields stay. */
  change(
    id: EndpointId,
    change: Omit<WebhookEndpointChange, 'webhookEndpointId'>,
    options?: CallOptions,
  ): Promise<WebhookEndpoint>;
  delete(id: EndpointId, options?: CallOptions): Promise<void>;
  /** Makes a new secret. The former one signs too for 24 hours. Never retried, because a second rotation would end the former one. */
  rotateSecret(id: EndpointId, options?: CallOptions): Promise<WebhookEndpointWithSecret>;
  /** Sends a test of the type `webhook.test` to the endpoint. */
  test(id: EndpointId, options?: CallOptions): Promise<WebhookDelivery>;
  /** Delivers the events of a period again. */
  replay(
    id: EndpointId,
    period: Omit<WebhookReplayInput, 'webhookEndpointId'>,
    options?: CallOptions,
  ): Promise<WebhookReplay>;
  /** Iterates over the deliveries of an endpoint, newest first. */
  deliveries(
    id: EndpointId,
    query?: Deliveries,
    options?: CallOptions,
  ): AsyncGenerator<WebhookDelivery, void, undefined>;
  /** One page of deliveries. */
  deliveriesPage(id: EndpointId, query?: Deliveries, options?: CallOptions): Promise<Page<WebhookDelivery>>;
  /** Attempts a pending or failed delivery now. */
  retry(id: EndpointId, deliveryId: WebhookDeliveryId | PlainNumber, options?: CallOptions): Promise<WebhookDelivery>;
}

export const webhookMethods = (client: RemoteBankingService, scope: Scope): WebhookMethods => {
  const named = (id: EndpointId) => ({ webhookEndpointId: id });
  const deliveriesPage: WebhookMethods['deliveriesPage'] = (id, query, options) =>
    client.listWebhookDeliveries(scope, { ...query, ...named(id) }, options);
  return {
    list: (query, options) =>
      iteratePages((cursor) => client.listWebhookEndpoints(scope, { ...query, cursor }, options), query?.cursor),
    listPage: (query, options) => client.listWebhookEndpoints(scope, query, options),
    get: (id, options) => client.getWebhookEndpoint(scope, named(id), options),
    create: (input, options) => client.createWebhookEndpoint(scope, input, options),
    change: (id, change, options) => client.changeWebhookEndpoint(scope, { ...change, ...named(id) }, options),
    delete: (id, options) => client.deleteWebhookEndpoint(scope, named(id), options),
    rotateSecret: (id, options) => client.rotateWebhookSecret(scope, named(id), options),
    test: (id, options) => client.testWebhookEndpoint(scope, named(id), options),
    replay: (id, period, options) => client.replayWebhookEvents(scope, { ...period, ...named(id) }, options),
    deliveriesPage,
    deliveries: (id, query, options) =>
      iteratePages((cursor) => deliveriesPage(id, { ...query, cursor }, options), query?.cursor),
    retry: (id, deliveryId, options) =>
      client.retryWebhookDelivery(scope, { ...named(id), webhookDeliveryId: deliveryId }, options),
  };
};
