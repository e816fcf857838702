import type { Page, Recipient, RecipientQuery, WorkspaceId } from '@banking/domain';
import { RECIPIENT_PAGE } from '../resources/compose-recipient.js';
import type { RowFacts } from '../resources/compose-page.js';
import type { Reading } from '../resources/reading.js';
import { listPage } from '../lists/list-page.js';
import type { PagedList } from '../lists/paged-list.js';
import { pageByClass } from '../lists/page-query.js';

const RECIPIENTS: PagedList<RowFacts, Recipient> = {
  name: 'list_recipients',
  table: 'recipient',
  indexes: [{ where: 'l.forgotten_at is null' }],
  classes: { saved: 'boolean' },
  filters: {},
  page: pageByClass,
  items: RECIPIENT_PAGE,
};

/** @throws Refusal `limit_invalid`, `cursor_invalid` */
export function listRecipients(
  reading: Reading,
  workspaceId: WorkspaceId,
  { limit, cursor, saved }: RecipientQuery,
): Promise<Page<Recipient>> {
  return listPage(reading, RECIPIENTS, { workspaceId, limit, cursor, filters: { saved } });
}
