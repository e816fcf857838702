import type { Page, Recipient, RecipientQuery, WorkspaceId } from '@banking/domain';
import type { Database } from '@banking/postgres';
import { WHOLE_RECIPIENT } from './edges.js';
import type { CursorSeal } from './lists/cursor-seal.js';
import { listPage } from './lists/list-page.js';
import type { PagedList } from './lists/page-parts.js';
import { pageByClass } from './lists/pages-by-class.js';

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
  seal: CursorSeal,
  workspaceId: WorkspaceId,
  { limit, cursor, saved }: RecipientQuery,
): Promise<Page<Recipient>> {
  return listPage(database, seal, RECIPIENTS, { workspaceId, limit, cursor, filters: { saved } });
}
