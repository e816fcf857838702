import { sqlStatement } from '@banking/postgres';
import type { FindingRow, RangeCheck } from './verify-ranges.js';

/** The rules of payments between cells, as far as one database has them. */
export const CROSSING_CHECKS: readonly RangeCheck[] = [
  {
    check: 'every crossing has its transaction, with its amount and status',
    over: {
      crossing: sqlStatement<FindingRow>(
        'verify_crossings',
        `select format('crossing of transaction %s is %s over %s, the transaction %s over %s', c.transaction_id, c.status, c.amount,
                  coalesce(x.status, 'is not there'), coalesce(s.amount, 0)) as detail
       from crossing c left join transaction x on x.workspace_id = $1 and x.id = c.transaction_id
         cross join lateral (
           select sum(t.amount) as amount from transfer t join account a on a.workspace_id = $1 and a.id = t.account_id
           where t.workspace_id = $1 and t.transaction_id = c.transaction_id and a.kind = 'interworkspace'
             and t.direction = 'credit' and t.currency_id = c.currency_id) s
       where c.workspace_id = $1 and c.transaction_id > $2 and c.transaction_id <= $3
         and (s.amount is distinct from c.amount
           or x.status is distinct from case c.status when 'due' then 'pending' when 'completed' then 'completed' else 'failed' end)`,
      ),
    },
  },
  {
    check: 'every accepted arrival has its transaction, with its amount on its account',
    over: {
      arrival: sqlStatement<FindingRow>(
        'verify_arrivals',
        `select format('arrival of transaction %s of workspace %s has no transaction %s over %s on its account', r.origin_transaction_id,
                  r.origin_workspace_id, r.transaction_id, r.amount) as detail
       from arrival r
       where r.workspace_id = $1 and r.transaction_id > $2 and r.transaction_id <= $3
         and not exists (
           select from transaction x join transfer t on t.workspace_id = $1 and t.transaction_id = x.id
             join account k on k.workspace_id = $1 and k.id = t.account_id
           where x.workspace_id = $1 and x.id = r.transaction_id and x.status = 'completed' and k.code = r.account_code
             and t.direction = 'credit' and t.amount = r.amount and t.currency_id = r.currency_id)`,
      ),
    },
  },
  {
    check: 'every payment to another cell that is not completed has its crossing',
    over: {
      transaction: sqlStatement<FindingRow>(
        'verify_unfinished_payments',
        `select format('transaction %s is %s and has no crossing', x.id, x.status) as detail
       from transaction x
       where x.workspace_id = $1 and x.id > $2 and x.id <= $3 and x.status <> 'completed'
         and exists (
           select from transfer t join account a on a.workspace_id = $1 and a.id = t.account_id
           where t.workspace_id = $1 and t.transaction_id = x.id and a.kind = 'interworkspace' and t.direction = 'credit')
         and not exists (select from crossing c where c.workspace_id = $1 and c.transaction_id = x.id)`,
      ),
    },
  },
  {
    check: 'every crossing that is due is in the queue',
    over: {
      crossing: sqlStatement<FindingRow>(
        'verify_unqueued_crossings',
        `select format('crossing of transaction %s is due and not in the queue', c.transaction_id) as detail
       from crossing c
       where c.workspace_id = $1 and c.transaction_id > $2 and c.transaction_id <= $3 and c.status = 'due'
         and not exists (
           select from work k where k.workspace_id = $1 and k.kind = 'crossing' and k.subject_id = c.transaction_id)`,
      ),
    },
  },
];
