import type { PageParts } from './page-parts.js';
import { classes, walk } from './pages-by-class.js';

/** Up to so many transactions are read and sorted for a page. Of a status that more have, the next match is never far. */
const SORTED_MAX = 20_000;

/** Looked up for itself (`offset 0`): joined, the planner may read all transactions of the workspace before the first row. */
const hasStatus = (row: string, status: string | undefined) =>
  `cross join lateral (select from transaction x
     where x.workspace_id = $1 and x.id = ${row}.transaction_id and x.status = ${status}::text offset 0) x`;

/** Transfers of completed transactions. Most transactions are, so the list is walked until the page is full. */
export const pageOfCompleted = (parts: PageParts): string =>
  `${classes(parts)}, ${walk(parts)}, page as materialized (
     select w.* from walk w ${hasStatus('w', parts.parameters['transactionStatus'])} limit $2)`;

/**
 * Transfers of pending or failed transactions, which are few beside the completed ones: all transactions of the status are read from
 * their index, and their transfers sorted. During an outage of the network very many are pending, and those are the newest: then the
 * list is walked.
 */
export function pageOfNotCompleted(parts: PageParts): string {
  const { table, range, after, rest, ofClass, parameters } = parts;
  const status = parameters['transactionStatus'];
  const conditions = [...range, ...after, ...rest, ...ofClass('l')].join(' and ');
  return `${classes(parts)}, ${walk(parts)},
    found as materialized (
      select x.id from transaction x
      where x.workspace_id = $1 and x.status <> 'completed' and x.status = ${status}::text
      order by x.created_at desc, x.id desc limit ${SORTED_MAX + 1}),
    size as materialized (select count(*) as found from found),
    page as materialized (
      (select l.* from found f cross join lateral (
         select * from ${table} l where l.workspace_id = $1 and l.transaction_id = f.id offset 0) l
       where (select found from size) <= ${SORTED_MAX} and ${conditions}
       order by l.created_at desc, l.id desc limit $2)
      union all
      (select w.* from walk w ${hasStatus('w', status)} where (select found from size) > ${SORTED_MAX} limit $2))`;
}
