import type { Service } from '../service.js';
import { accessContract } from './access.js';
import { approvalsContract } from './approvals.js';
import { accountsContract, appUsersContract } from './accounts.js';
import { auditEventsContract, eventsContract, resourcesOfEventsContract } from './events.js';
import { corridorsContract, recipientSchemasContract } from './corridors.js';
import { errorsContract, healthContract, httpContract } from './http.js';
import { fundingsContract, sandboxClockContract, sandboxEventsContract } from './sandbox.js';
import { limitsContract } from './limits.js';
import { listsContract, orderListsContract, readsContract } from './lists.js';
import { scheduledOrdersContract } from './scheduled-orders.js';
import { membersContract } from './members.js';
import { ordersContract, refusedOrdersContract } from './orders.js';
import { keptRecipientsContract, recipientsContract } from './recipients.js';
import { quotesContract, refusedQuotesContract } from './quotes.js';
import { serviceAccountsContract } from './service-accounts.js';
import { statementPagesContract, statementsContract } from './statements.js';
import { transactionLinksContract, transfersContract } from './transfers.js';
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
      limitsContract,
      sandboxEventsContract,
      sandboxClockContract,
      transactionLinksContract,
      eventsContract,
      resourcesOfEventsContract,
      auditEventsContract,
      membersContract,
      webhookEndpointsContract,
      serviceAccountsContract,
      approvalsContract,
      errorsContract,
      httpContract,
      healthContract,
    ]) {
      part(provide);
    }
  });
}
