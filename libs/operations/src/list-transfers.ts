import type { Page, Transfer, TransferQuery, WorkspaceId } from '@banking/domain';
import type { Database } from '@banking/postgres';
import { WHOLE_TRANSFER } from './edges.js';
import type { CursorSeal } from './lists/cursor-seal.js';
import { listPage, type PagedList } from './lists/list-page.js';
import { namedParties } from './lists/named-parties.js';
import { checkPeriod } from './lists/period.js';

const TRANSFERS: PagedList = {
  name: 'list_transfers',
  table: 'transfer',
  // Transfers of our own accounts carry no version.
  where: 'l.account_version is not null',
  filters: {
    accountId: (id) => `l.account_id = ${id}::bigint`,
    recipientId: (id) => `l.recipient_id = ${id}::bigint`,
    direction: (direction) => `l.direction = ${direction}::text`,
    type: (type) => `l.type = ${type}::text`,
    transactionStatus: (status) =>
      `exists (select from transaction x where (x.workspace_id, x.id) = (l.workspace_id, l.transaction_id) and x.status = ${status}::text)`,
    createdFrom: (from) => `l.created_at >= ${from}::timestamptz`,
    createdTo: (to) => `l.created_at < ${to}::timestamptz`,
  },
  item: WHOLE_TRANSFER.item,
  joins: WHOLE_TRANSFER.joins,
};

/** @throws Refusal as the port's `listTransfers` says */
export async function listTransfers(
  database: Database,
  seal: CursorSeal,
  workspaceId: WorkspaceId,
  { limit, cursor, ...filters }: TransferQuery,
): Promise<Page<Transfer>> {
  checkPeriod(filters);
  const named = namedParties(workspaceId, filters);
  return listPage(database, seal, TRANSFERS, { workspaceId, limit, cursor, filters, named });
}
