import type * as port from '@banking/domain';
import { BankingService, type Scope } from '@banking/domain';
import { acting, required } from '../audit/audited-call.js';
import type { Reading } from '../resources/reading.js';
import {
  changeWebhookEndpoint,
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  getWebhookEndpoint,
  listWebhookEndpoints,
  rotateWebhookSecret,
  type WebhookTerms,
} from './webhook-endpoints.js';
import {
  listWebhookDeliveries,
  replayWebhookEvents,
  retryWebhookDelivery,
  testWebhookEndpoint,
} from './webhook-deliveries.js';

/** The webhook operations of the port on our own books. Each is a file of its name. */
export abstract class LedgerWebhookService extends BankingService {
  protected abstract readonly reading: Reading;
  /** Undefined for a deployment without a key, which makes no secrets. */
  protected abstract readonly webhookTerms?: WebhookTerms | undefined;

  async createWebhookEndpoint(
    scope: Scope,
    input: port.CreateWebhookEndpointInput,
    options: port.RequestOptions = {},
  ): Promise<port.Created<port.WebhookEndpointWithSecret>> {
    return createWebhookEndpoint(this.reading, acting(scope), input, options, this.webhookTerms);
  }

  listWebhookEndpoints(scope: Scope, query: port.PageQuery = {}): Promise<port.Page<port.WebhookEndpoint>> {
    return listWebhookEndpoints(this.reading, required(scope.workspaceId), query);
  }

  getWebhookEndpoint(scope: Scope, query: port.WebhookEndpointName): Promise<port.WebhookEndpoint> {
    return getWebhookEndpoint(this.reading, required(scope.workspaceId), query);
  }

  changeWebhookEndpoint(scope: Scope, change: port.WebhookEndpointChange): Promise<port.WebhookEndpoint> {
    return changeWebhookEndpoint(this.reading, acting(scope), change, this.webhookTerms);
  }

  deleteWebhookEndpoint(scope: Scope, query: port.WebhookEndpointName): Promise<void> {
    return deleteWebhookEndpoint(this.reading.database, acting(scope), query);
  }

  rotateWebhookSecret(scope: Scope, query: port.WebhookEndpointName): Promise<port.WebhookEndpointWithSecret> {
    return rotateWebhookSecret(this.reading, acting(scope), query, this.webhookTerms);
  }

  testWebhookEndpoint(scope: Scope, query: port.WebhookEndpointName): Promise<port.WebhookDelivery> {
    return testWebhookEndpoint(this.reading.database, acting(scope), query);
  }

  replayWebhookEvents(scope: Scope, input: port.WebhookReplayInput): Promise<port.WebhookReplay> {
    return replayWebhookEvents(this.reading.database, acting(scope), input);
  }

  listWebhookDeliveries(scope: Scope, query: port.WebhookDeliveryQuery): Promise<port.Page<port.WebhookDelivery>> {
    return listWebhookDeliveries(this.reading, required(scope.workspaceId), query);
  }

  retryWebhookDelivery(scope: Scope, query: port.WebhookDeliveryName): Promise<port.WebhookDelivery> {
    return retryWebhookDelivery(this.reading.database, acting(scope), query);
  }
}
