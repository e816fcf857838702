import { Refusal, type Quote, type QuoteId, type WorkspaceId } from '@banking/domain';
import { bind, sqlStatement, type BoundStatement, type Database } from '@banking/postgres';
import { WHOLE_QUOTE } from '../resource-json.js';

const GET_QUOTE = sqlStatement<{ resource: Quote }>(
  'get_quote',
  `select ${WHOLE_QUOTE.item} as resource from quote t ${WHOLE_QUOTE.joins} where t.workspace_id = $1 and t.id = $2`,
);

export const quoteRead = (workspaceId: number, quoteId: number): BoundStatement<{ resource: Quote }> =>
  bind(GET_QUOTE, workspaceId, quoteId);

/** @throws Refusal `quote_not_found` also for a quote of another workspace */
export async function getQuote(database: Database, workspaceId: WorkspaceId, quoteId: QuoteId): Promise<Quote> {
  const row = await database.read({ workspaces: [workspaceId] }, quoteRead(workspaceId, quoteId));
  if (!row) throw new Refusal('quote_not_found');
  return row.resource;
}
