import { Refusal, type Page, type Transfer, type TransferQuery, type WorkspaceId } from '@banking/domain';
import { bind, statement, type Database } from '@banking/postgres';
import { WHOLE_TRANSFER } from './edges.js';
import type { CursorSeal } from './lists/cursor-seal.js';
import { listPage, type Named, type PagedList } from './lists/list-page.js';
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

const FIND_ACCOUNT = statement(
  'find_account',
  `select from account where workspace_id = $1 and id = $2 and kind = 'customer'`,
);
const FIND_RECIPIENT = statement('find_recipient', 'select from recipient where workspace_id = $1 and id = $2');

/** @throws Refusal as the port's `listTransfers` says */
export async function listTransfers(
  database: Database,
  seal: CursorSeal,
  workspaceId: WorkspaceId,
  { limit, cursor, ...filters }: TransferQuery,
): Promise<Page<Transfer>> {
  const { accountId, recipientId } = filters;
  checkPeriod(filters);
  const named: Named[] = [];
  if (accountId !== undefined) {
    named.push({ bound: bind(FIND_ACCOUNT, workspaceId, accountId), otherwise: new Refusal('account_not_found') });
  }
  if (recipientId !== undefined) {
    named.push({
      bound: bind(FIND_RECIPIENT, workspaceId, recipientId),
      otherwise: new Refusal('recipient_not_found'),
    });
  }
  return listPage(database, seal, TRANSFERS, { workspaceId, limit, cursor, filters, named });
}
