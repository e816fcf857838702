import type * as port from '@banking/domain';
import { BankingService, type Scope } from '@banking/domain';

/** The webhook operations of the port on several databases: each call goes to the cell of its workspace. */
export abstract class CellsWebhookService extends BankingService {
  protected abstract inCell<T>(scope: Scope, call: (banking: BankingService) => Promise<T>): Promise<T>;

  createWebhookEndpoint(
    scope: Scope,
    input: port.CreateWebhookEndpointInput,
    options?: port.RequestOptions,
  ): Promise<port.Created<port.WebhookEndpointWithSecret>> {
    return this.inCell(scope, (banking) => banking.createWebhookEndpoint(scope, input, options));
  }
  listWebhookEndpoints(scope: Scope, query?: port.PageQuery): Promise<port.Page<port.WebhookEndpoint>> {
    return this.inCell(scope, (banking) => banking.listWebhookEndpoints(scope, query));
  }
  getWebhookEndpoint(scope: Scope, query: port.WebhookEndpointName): Promise<port.WebhookEndpoint> {
    return this.inCell(scope, (banking) => banking.getWebhookEndpoint(scope, query));
  }
  changeWebhookEndpoint(scope: Scope, change: port.WebhookEndpointChange): Promise<port.WebhookEndpoint> {
    return this.inCell(scope, (banking) => banking.changeWebhookEndpoint(scope, change));
  }
  deleteWebhookEndpoint(scope: Scope, query: port.WebhookEndpointName): Promise<void> {
    return this.inCell(scope, (banking) => banking.deleteWebhookEndpoint(scope, query));
  }
  rotateWebhookSecret(scope: Scope, query: port.WebhookEndpointName): Promise<port.WebhookEndpointWithSecret> {
    return this.inCell(scope, (banking) => banking.rotateWebhookSecret(scope, query));
  }
  testWebhookEndpoint(scope: Scope, query: port.WebhookEndpointName): Promise<port.WebhookDelivery> {
    return this.inCell(scope, (banking) => banking.testWebhookEndpoint(scope, query));
  }
  replayWebhookEvents(scope: Scope, input: port.WebhookReplayInput): Promise<port.WebhookReplay> {
    return this.inCell(scope, (banking) => banking.replayWebhookEvents(scope, input));
  }
  listWebhookDeliveries(scope: Scope, query: port.WebhookDeliveryQuery): Promise<port.Page<port.WebhookDelivery>> {
    return this.inCell(scope, (banking) => banking.listWebhookDeliveries(scope, query));
  }
  retryWebhookDelivery(scope: Scope, query: port.WebhookDeliveryName): Promise<port.WebhookDelivery> {
    return this.inCell(scope, (banking) => banking.retryWebhookDelivery(scope, query));
  }
}
