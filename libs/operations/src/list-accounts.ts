import type { Account, Page, PageQuery, WorkspaceId } from '@banking/domain';
import type { Database } from '@banking/postgres';
import { WHOLE_ACCOUNT } from './edges.js';
import type { CursorSeal } from './lists/cursor-seal.js';
import { listPage, type PagedList } from './lists/list-page.js';

const ACCOUNTS: PagedList = {
  name: 'list_accounts',
  table: 'account',
  where: `l.kind = 'customer'`,
  filters: {},
  item: WHOLE_ACCOUNT.item,
  joins: WHOLE_ACCOUNT.joins,
};

/** @throws Refusal `limit_invalid`, `cursor_invalid` */
export function listAccounts(
  database: Database,
  seal: CursorSeal,
  workspaceId: WorkspaceId,
  { limit, cursor }: PageQuery,
): Promise<Page<Account>> {
  return listPage(database, seal, ACCOUNTS, { workspaceId, limit, cursor, filters: {} });
}
