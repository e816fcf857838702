import { Refusal, type Quote, type QuoteId, type WorkspaceId } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { QUOTE, type QuoteFacts } from '../resources/compose-quote.js';
import { type Reading, readResource, type ResourceQuery } from '../resources/reading.js';

const GET_QUOTE = sqlStatement<QuoteFacts>(
  'get_quote',
  `select ${QUOTE.columns} from quote t ${QUOTE.joins}
   where t.workspace_id = $1 and t.id = $2`,
);

export const quoteQuery = (workspaceId: number, quoteId: number): ResourceQuery<QuoteFacts, Quote> => ({
  bound: bind(GET_QUOTE, workspaceId, quoteId),
  compose: QUOTE.compose,
});

/** @throws Refusal `quote_not_found` also for a quote of another workspace */
export async function getQuote(reading: Reading, workspaceId: WorkspaceId, quoteId: QuoteId): Promise<Quote> {
  const quote = await readResource(reading, workspaceId, quoteQuery(workspaceId, quoteId));
  if (!quote) throw new Refusal('quote_not_found');
  return quote;
}
