import type { Account, Page, PageQuery, WorkspaceId } from '@banking/domain';
import { ACCOUNT, type AccountRow } from '../resources/compose-account.js';
import type { Reading } from '../resources/reading.js';
import { listPage } from '../lists/list-page.js';
import type { PagedList } from '../lists/paged-list.js';
import { pageOfAll } from '../lists/page-query.js';

const ACCOUNTS: PagedList<AccountRow, Account> = {
  name: 'list_accounts',
  table: 'account',
  indexes: [{ where: `l.kind = 'customer'` }],
  classes: {},
  filters: {},
  page: pageOfAll,
  item: ACCOUNT,
};

/** @throws Refusal `limit_invalid`, `cursor_invalid` */
export function listAccounts(
  reading: Reading,
  workspaceId: WorkspaceId,
  { limit, cursor }: PageQuery,
): Promise<Page<Account>> {
  return listPage(reading, ACCOUNTS, { workspaceId, limit, cursor, filters: {} });
}
