import type {
  CreateWebhookEndpointInput,
  Page,
  PageQuery,
  Scope,
  WebhookDelivery,
  WebhookDeliveryName,
  WebhookDeliveryQuery,
  WebhookEndpoint,
  WebhookEndpointChange,
  WebhookEndpointName,
  WebhookEndpointWithSecret,
  WebhookReplay,
  WebhookReplayInput,
} from '@banking/domain';
import { digits, search } from './call-arguments.js';
import { type Calls, type CreationResult, inWorkspace } from './calls.js';
import { RemoteRecordService } from './remote-record-service.js';
import type { CallOptions, CreationOptions } from './transport.js';

const ENDPOINTS = 'webhook-endpoints';

const pathOf = (id: number): string => `${ENDPOINTS}/${digits(id)}`;

/** The operations of the port for webhook endpoints, over HTTP. */
export abstract class RemoteWebhookService extends RemoteRecordService {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    super(calls);
    this.#calls = calls;
  }

  async createWebhookEndpoint(
    scope: Scope,
    input: CreateWebhookEndpointInput,
    options?: CreationOptions,
  ): Promise<CreationResult<WebhookEndpointWithSecret>> {
    return this.#calls.create('createWebhookEndpoint', scope, ENDPOINTS, input, options);
  }

  async listWebhookEndpoints(
    scope: Scope,
    query: PageQuery = {},
    options?: CallOptions,
  ): Promise<Page<WebhookEndpoint>> {
    return this.#calls.page('listWebhookEndpoints', inWorkspace(scope), `${ENDPOINTS}${search(query)}`, options);
  }

  async getWebhookEndpoint(
    scope: Scope,
    { webhookEndpointId: id }: WebhookEndpointName,
    options?: CallOptions,
  ): Promise<WebhookEndpoint> {
    return this.#calls.get('getWebhookEndpoint', inWorkspace(scope), pathOf(id), options, id);
  }

  async changeWebhookEndpoint(
    scope: Scope,
    { webhookEndpointId: id, ...body }: WebhookEndpointChange,
    options?: CallOptions,
  ): Promise<WebhookEndpoint> {
    return this.#calls.change('changeWebhookEndpoint', scope, 'PATCH', pathOf(id), { body, id }, options);
  }

  async deleteWebhookEndpoint(
    scope: Scope,
    { webhookEndpointId: id }: WebhookEndpointName,
    options?: CallOptions,
  ): Promise<void> {
    return this.#calls.remove('deleteWebhookEndpoint', scope, pathOf(id), options);
  }

  async rotateWebhookSecret(
    scope: Scope,
    { webhookEndpointId: id }: WebhookEndpointName,
    options?: CallOptions,
  ): Promise<WebhookEndpointWithSecret> {
    const path = `${pathOf(id)}/secret-rotation`;
    return this.#calls.change('rotateWebhookSecret', scope, 'POST', path, { id }, options);
  }

  async testWebhookEndpoint(
    scope: Scope,
    { webhookEndpointId: id }: WebhookEndpointName,
    options?: CallOptions,
  ): Promise<WebhookDelivery> {
    const path = `${pathOf(id)}/test`;
    return this.#calls.change('testWebhookEndpoint', scope, 'POST', path, { isDeferred: true }, options);
  }

  async replayWebhookEvents(
    scope: Scope,
    { webhookEndpointId: id, ...body }: WebhookReplayInput,
    options?: CallOptions,
  ): Promise<WebhookReplay> {
    const path = `${pathOf(id)}/replay`;
    return this.#calls.change('replayWebhookEvents', scope, 'POST', path, { body, isDeferred: true }, options);
  }

  async listWebhookDeliveries(
    scope: Scope,
    { webhookEndpointId: id, ...query }: WebhookDeliveryQuery,
    options?: CallOptions,
  ): Promise<Page<WebhookDelivery>> {
    const path = `${pathOf(id)}/deliveries${search(query)}`;
    return this.#calls.page('listWebhookDeliveries', inWorkspace(scope), path, options);
  }

  async retryWebhookDelivery(
    scope: Scope,
    { webhookEndpointId, webhookDeliveryId: id }: WebhookDeliveryName,
    options?: CallOptions,
  ): Promise<WebhookDelivery> {
    const path = `${pathOf(webhookEndpointId)}/deliveries/${digits(id)}/retry`;
    return this.#calls.change('retryWebhookDelivery', scope, 'POST', path, { id, isDeferred: true }, options);
  }
}
