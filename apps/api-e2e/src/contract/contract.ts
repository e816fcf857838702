import type { Service } from '../service.js';
import { accessContract } from './access.js';
import { accountsContract } from './accounts.js';
import { auditEventsContract } from './audit-events.js';
import { appUsersContract } from './app-users.js';
import { corridorsContract } from './corridors.js';
import { errorsContract } from './errors.js';
import { eventsContract } from './events.js';
import { fundingsContract } from './fundings.js';
import { healthContract } from './health.js';
import { httpContract } from './http.js';
import { orderListsContract } from './order-lists.js';
import { scheduledOrdersContract } from './scheduled-orders.js';
import { ordersContract } from './orders.js';
import { readsContract } from './reads.js';
import { keptRecipientsContract } from './stored-recipients.js';
import { resourcesOfEventsContract } from './resources-of-events.js';
import { refusedOrdersContract } from './refused-orders.js';
import { recipientSchemasContract } from './recipient-schemas.js';
import { recipientsContract } from './recipients.js';
import { refusedQuotesContract } from './refused-quotes.js';
import { sandboxClockContract } from './sandbox-clock.js';
import { sandboxEventsContract } from './sandbox-events.js';
import { statementPagesContract } from './statement-pages.js';
import { statementsContract } from './statements.js';
import { quotesContract } from './quotes.js';
import { listsContract } from './lists.js';
import { transactionLinksContract } from './transaction-links.js';
import { transfersContract } from './transfers.js';
import { webhookEndpointsContract } from './webhook-endpoints.js';

/**
 * The interface of a service as a caller observes it, with its own books or behind a gateway.
 *
 * @param provide the service, once the setup of the run has started it
 */
export function contract(name: string, provide: () => Service): void {
  describe(`${name}`, () => {
    for (const part of [
      readsContract,
      transfersContract,
      accountsContract,
      statementsContract,
      statementPagesContract,
      fundingsContract,
      listsContract,
      accessContract,
      appUsersContract,
      corridorsContract,
      recipientSchemasContract,
      recipientsContract,
      keptRecipientsContract,
      quotesContract,
      refusedQuotesContract,
      ordersContract,
      refusedOrdersContract,
      scheduledOrdersContract,
      orderListsContract,
      sandboxEventsContract,
      sandboxClockContract,
      transactionLinksContract,
      eventsContract,
      resourcesOfEventsContract,
      auditEventsContract,
      webhookEndpointsContract,
      errorsContract,
      httpContract,
      healthContract,
    ]) {
      part(provide);
    }
  });
}
