import { Refusal, type Quote, type QuoteId, type WorkspaceId } from '@banking/domain';
import { bind, statement, type Bound, type Database } from '@banking/postgres';
import { WHOLE_QUOTE } from './edges.js';

const GET_QUOTE = statement<{ resource: Quote }>(
  'get_quote',
  `select ${WHOLE_QUOTE.item} as resource from quote t ${WHOLE_QUOTE.joins} where t.workspace_id = $1 and t.id = $2`,
);

export const quoteRead = (workspaceId: number, quoteId: number): Bound<{ resource: Quote }> =>
  bind(GET_QUOTE, workspaceId, quoteId);

/** @throws Refusal `quote_unknown` also for one of another workspace */
export async function getQuote(database: Database, workspaceId: WorkspaceId, quoteId: QuoteId): Promise<Quote> {
  const row = await database.read({ workspaces: [workspaceId] }, quoteRead(workspaceId, quoteId));
  if (!row) throw new Refusal('quote_unknown');
  return row.resource;
}
