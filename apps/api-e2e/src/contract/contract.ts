import type { Service } from '../service.js';
import { accessContract } from './access.js';
import { accountsContract } from './accounts.js';
import { appUsersContract } from './app-users.js';
import { corridorsContract } from './corridors.js';
import { errorsContract } from './errors.js';
import { fundingsContract } from './fundings.js';
import { healthContract } from './health.js';
import { httpContract } from './http.js';
import { laterOrdersContract } from './later-orders.js';
import { ordersContract } from './orders.js';
import { readsContract } from './reads.js';
import { keptRecipientsContract } from './kept-recipients.js';
import { refusedOrdersContract } from './refused-orders.js';
import { recipientSchemasContract } from './recipient-schemas.js';
import { recipientsContract } from './recipients.js';
import { sandboxContract } from './sandbox.js';
import { statementPagesContract } from './statement-pages.js';
import { statementsContract } from './statements.js';
import { quotesContract } from './quotes.js';
import { listsContract } from './lists.js';
import { transactionLinksContract } from './transaction-links.js';
import { transfersContract } from './transfers.js';

/**
 * What a service promises to whoever calls it, whatever is behind it or in front of it.
 *
 * @param provide the service, once the setup of the run has started it
 */
export function contract(name: string, provide: () => Service): void {
  describe(`Given ${name}`, () => {
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
      ordersContract,
      refusedOrdersContract,
      laterOrdersContract,
      sandboxContract,
      transactionLinksContract,
      errorsContract,
      httpContract,
      healthContract,
    ]) {
      part(provide);
    }
  });
}
