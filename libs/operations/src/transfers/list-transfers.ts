import type { Page, Transfer, TransferQuery, WorkspaceId } from '@banking/domain';
import { TRANSFER_PAGE, type TransferPageFacts } from '../resources/compose-whole-transfer.js';
import type { Reading } from '../resources/reading.js';
import { listPage } from '../lists/list-page.js';
import { namedParties } from '../lists/named-parties.js';
import type { PagedList } from '../lists/paged-list.js';
import { pageByClass } from '../lists/page-query.js';
import { pageOfCompleted, pageOfNotCompleted } from './page-by-status.js';
import { checkPeriod } from '../lists/period.js';

const TRANSFERS: PagedList<TransferPageFacts, Transfer> = {
  name: 'list_transfers',
  table: 'transfer',
  // Transfers of the service's own accounts have neither version nor balance.
  indexes: [
    { filter: 'recipientId', where: 'l.balance_after is not null' },
    { filter: 'accountId', where: 'l.balance_after is not null' },
    { where: 'l.account_version is not null' },
  ],
  classes: { type: 'text', direction: 'text' },
  filters: {
    accountId: (id) => `l.account_id = ${id}::bigint`,
    recipientId: (id) => `l.recipient_id = ${id}::bigint`,
    createdFrom: (from) => `l.created_at >= ${from}::timestamptz`,
    createdTo: (to) => `l.created_at < ${to}::timestamptz`,
  },
  page: pageByClass,
  items: TRANSFER_PAGE,
};

/** The status is a column of the transaction: `page-by-status.ts` has its condition. */
const BY_TRANSACTION = { ...TRANSFERS.filters, transactionStatus: () => 'true' };

const OF_COMPLETED: PagedList<TransferPageFacts, Transfer> = {
  ...TRANSFERS,
  name: 'list_transfers.completed',
  filters: BY_TRANSACTION,
  page: pageOfCompleted,
};
const OF_NOT_COMPLETED: PagedList<TransferPageFacts, Transfer> = {
  ...TRANSFERS,
  name: 'list_transfers.not_completed',
  filters: BY_TRANSACTION,
  page: pageOfNotCompleted,
};

function listFor({ transactionStatus }: TransferQuery): PagedList<TransferPageFacts, Transfer> {
  if (transactionStatus === undefined) return TRANSFERS;
  return transactionStatus === 'completed' ? OF_COMPLETED : OF_NOT_COMPLETED;
}

/** @throws Refusal as the port's `listTransfers` states */
export async function listTransfers(
  reading: Reading,
  workspaceId: WorkspaceId,
  { limit, cursor, ...filters }: TransferQuery,
): Promise<Page<Transfer>> {
  checkPeriod(filters);
  const named = namedParties(workspaceId, filters);
  return listPage(reading, listFor(filters), { workspaceId, limit, cursor, filters, named });
}
