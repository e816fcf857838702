import type { Page, Recipient, RecipientQuery, WorkspaceId } from '@banking/domain';
import type { Database } from '@banking/postgres';
import { WHOLE_RECIPIENT } from './edges.js';
import type { CursorSeal } from './lists/cursor-seal.js';
import { listPage, type PagedList } from './lists/list-page.js';

const RECIPIENTS: PagedList = {
  name: 'list_recipients',
  table: 'recipient',
  where: 'l.forgotten_at is null',
  filters: { saved: (saved) => `l.saved = ${saved}` },
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
