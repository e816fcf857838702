import type { Account, Page, PageQuery, WorkspaceId } from '@banking/domain';
import type { Database } from '@banking/postgres';
import { WHOLE_ACCOUNT } from '../resource-json.js';
import type { CursorSigner } from '../lists/sign-cursor.js';
import { listPage } from '../lists/list-page.js';
import type { PagedList } from '../lists/paged-list.js';
import { pageOfAll } from '../lists/page-query.js';

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
  cursors: CursorSigner,
  workspaceId: WorkspaceId,
  { limit, cursor }: PageQuery,
): Promise<Page<Account>> {
  return listPage(database, cursors, ACCOUNTS, { workspaceId, limit, cursor, filters: {} });
}
