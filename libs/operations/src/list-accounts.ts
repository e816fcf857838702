import type { Account, Page, PageQuery, WorkspaceId } from '@banking/domain';
import type { Database } from '@banking/postgres';
import { WHOLE_ACCOUNT } from './edges.js';
import type { CursorSeal } from './lists/cursor-seal.js';
import { listPage } from './lists/list-page.js';
import type { PagedList } from './lists/page-parts.js';
import { pageOfAll } from './lists/pages-by-class.js';

const ACCOUNTS: PagedList = {
  name: 'list_accounts',
  table: 'account',
  indexes: [{ where: `l.kind = 'customer'` }],
  classes: {},
  filters: {},
  page: pageOfAll,
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
