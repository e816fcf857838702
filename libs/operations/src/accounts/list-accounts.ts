import type { Account, Page, PageQuery, WorkspaceId } from '@banking/domain';
import { ACCOUNT_PAGE } from '../resources/compose-account.js';
import type { RowFacts } from '../resources/compose-page.js';
import type { Reading } from '../resources/reading.js';
import { listPage } from '../lists/list-page.js';
import type { PagedList } from '../lists/paged-list.js';
import { pageOfAll } from '../lists/page-query.js';

const ACCOUNTS: PagedList<RowFacts, Account> = {
  name: 'list_accounts',
  table: 'account',
  indexes: [{ where: `l.kind = 'customer'` }],
  classes: {},
  filters: {},
  page: pageOfAll,
  items: ACCOUNT_PAGE,
};

/** @throws Refusal `limit_invalid`, `cursor_invalid` */
export function listAccounts(
  reading: Reading,
  workspaceId: WorkspaceId,
  { limit, cursor }: PageQuery,
): Promise<Page<Account>> {
  return listPage(reading, ACCOUNTS, { workspaceId, limit, cursor, filters: {} });
}
