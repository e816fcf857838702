import type { PageConditions } from '../lists/paged-list.js';
import { classes, walk } from '../lists/page-query.js';

/** The number of transactions that are sorted for a page. If more have the status, a scan finds the next match soon. */
const SORTED_MAX = 20_000;

/** A lookup per row (`offset 0`): with a join, the planner may read all transactions of the workspace first. */
const hasStatus = (row: string, status: string | undefined) =>
  `cross join lateral (select from transaction x
     where x.workspace_id = $1 and x.id = ${row}.transaction_id and x.status = ${status}::text offset 0) x`;

/** Transfers of completed transactions. Most transactions are completed, so a scan from the newest fills the page soon. */
export const pageOfCompleted = (conditions: PageConditions): string =>
  `${classes(conditions)}, ${walk(conditions)}, page as materialized (
     select w.* from walk w ${hasStatus('w', conditions.parameters['transactionStatus'])} limit $2)`;

/**
 * Transfers of pending or failed transactions. Usually few have the status: all of them are read from their index and sorted. During an
 * outage of the network, very many are pending, and those are the newest: then the list is scanned from the newest.
 */
export function pageOfNotCompleted(conditions: PageConditions): string {
  const { table, range, after, rest, ofClass, parameters } = conditions;
  const status = parameters['transactionStatus'];
  const ofTransfer = [...range, ...after, ...rest, ...ofClass('l')].join(' and ');
  return `${classes(conditions)}, ${walk(conditions)},
    matching as materialized (
      select x.id from transaction x
      where x.workspace_id = $1 and x.status <> 'completed' and x.status = ${status}::text
      order by x.created_at desc, x.id desc limit ${SORTED_MAX + 1}),
    size as materialized (select count(*) as rows from matching),
    page as materialized (
      (select l.* from matching f cross join lateral (
         select * from ${table} l where l.workspace_id = $1 and l.transaction_id = f.id offset 0) l
       where (select rows from size) <= ${SORTED_MAX} and ${ofTransfer}
       order by l.created_at desc, l.id desc limit $2)
      union all
      (select w.* from walk w ${hasStatus('w', status)} where (select rows from size) > ${SORTED_MAX} limit $2))`;
}
