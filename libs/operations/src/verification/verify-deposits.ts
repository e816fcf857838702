import { sqlStatement } from '@banking/postgres';
import type { FindingRow, RangeCheck } from './verify-ranges.js';

/** The text of the one movement that the transaction of deposit `d` has on accounts of customers. */
const MOVED = `(
  select string_agg(format('%s %s %s %s %s', t.account_id, t.currency_id, t.direction, t.amount, t.type), ', ') from transfer t
  where t.workspace_id = $1 and t.transaction_id = d.transaction_id)`;

/** A workspace that was moved has its deposits, and their entries are where it came from. */
export const DEPOSIT_CHECK: RangeCheck = {
  check: 'every deposit has credited its account with the amount of its entry, and is taken back exactly if it ended',
  over: {
    deposit: sqlStatement<FindingRow>(
      'verify_deposits',
      `select format('deposit %s is %s and %s', f.id, f.status, f.why) as detail
       from (
         select d.id, d.status, case
             when e.amount <> d.amount or e.direction <> 'credit' then 'is not of the amount of its entry'
             when d.status <> 'pending' and d.transaction_id is not null and e.outcome is distinct from 'deposit' and e.deposit_id is not null
               then 'its entry is still open'
             when d.status in ('booked', 'unmatched') and d.transaction_id is null then 'has no transaction'
             when d.status = 'pending' and d.transaction_id is not null then 'has a transaction'
             when d.transaction_id is null then null
             when x.id is null or x.status <> 'completed' or x.return_of is not null then 'its transaction is none of a deposit'
             when ${MOVED} is distinct from format('%s %s credit %s funding', d.account_id, d.currency_id, d.amount)
               then format('transaction %s does not credit its account with its amount', d.transaction_id)
             when (r.id is not null) <> (d.status in ('assigned', 'returned'))
               then format('transaction %s is %s', d.transaction_id, case when r.id is null then 'not returned' else 'returned' end) end as why
         from deposit d
           left join entries_of_deposits($1, $2, $3) e on e.deposit_id = d.id
           left join transaction x on x.workspace_id = $1 and x.id = d.transaction_id
           left join lateral (
             select o.id from transaction o where o.workspace_id = $1 and o.return_of = d.transaction_id limit 1) r on true
         where d.workspace_id = $1 and d.id > $2 and d.id <= $3) f
       where f.why is not null`,
    ),
  },
};
