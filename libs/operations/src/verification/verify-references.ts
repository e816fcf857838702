import { sqlStatement } from '@banking/postgres';
import type { FindingRow, RangeCheck } from './verify-ranges.js';

/** The references that the database checks with one query a statement, and no foreign key. */
export const REFERENCE_CHECK: RangeCheck = {
  check: 'every transfer, order and conversion names rows that exist',
  over: {
    transfer: sqlStatement<FindingRow>(
      'verify_transfer_references',
      `select format('transfer %s names %s, which is not there', t.id, missing.name) as detail
       from transfer t cross join lateral (
         select format('transaction %s', t.transaction_id) as name
         where not exists (select from transaction x where x.workspace_id = $1 and x.id = t.transaction_id)
         union all
         select format('account %s in currency %s', t.account_id, t.currency_id)
         where not exists (
           select from account a where a.workspace_id = $1 and a.id = t.account_id and a.currency_id = t.currency_id)
         union all
         select format('recipient %s', t.recipient_id)
         where t.recipient_id is not null
           and not exists (select from recipient r where r.workspace_id = $1 and r.id = t.recipient_id)) missing
       where t.workspace_id = $1 and t.transaction_id > $2 and t.transaction_id <= $3`,
    ),
    customer_order: sqlStatement<FindingRow>(
      'verify_order_references',
      `select format('order %s names %s, which is not there', o.id, missing.name) as detail
       from customer_order o cross join lateral (
         select format('account %s', o.account_id) as name
         where not exists (select from account a where a.workspace_id = $1 and a.id = o.account_id)
         union all
         select format('recipient %s', o.recipient_id)
         where not exists (select from recipient r where r.workspace_id = $1 and r.id = o.recipient_id)) missing
       where o.workspace_id = $1 and o.id > $2 and o.id <= $3`,
    ),
    conversion: sqlStatement<FindingRow>(
      'verify_conversion_references',
      `select format('the conversion of transaction %s names currency %s, which is not there', c.transaction_id, named.id) as detail
       from conversion c cross join lateral unnest(array[c.source_currency_id, c.target_currency_id]) named (id)
       where c.workspace_id = $1 and c.transaction_id > $2 and c.transaction_id <= $3
         and not exists (select from currency where currency.id = named.id)`,
    ),
  },
};
