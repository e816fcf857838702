import type { Page, Recipient, RecipientQuery, WorkspaceId } from '@banking/domain';
import type { Database } from '@banking/postgres';
import { WHOLE_RECIPIENT } from '../resource-json.js';
import type { CursorSigner } from '../lists/sign-cursor.js';
import { listPage } from '../lists/list-page.js';
import type { PagedList } from '../lists/paged-list.js';
import { pageByClass } from '../lists/page-query.js';

const RECIPIENTS: PagedList = {
  name: 'list_recipients',
  table: 'recipient',
  indexes: [{ where: 'l.forgotten_at is null' }],
  classes: { saved: 'boolean' },
  filters: {},
  page: pageByClass,
  item: WHOLE_RECIPIENT.item,
  joins: WHOLE_RECIPIENT.joins,
};

/** @throws Refusal `limit_invalid`, `cursor_invalid` */
export function listRecipients(
  database: Database,
  cursors: CursorSigner,
  workspaceId: WorkspaceId,
  { limit, cursor, saved }: RecipientQuery,
): Promise<Page<Recipient>> {
  return listPage(database, cursors, RECIPIENTS, { workspaceId, limit, cursor, filters: { saved } });
}
