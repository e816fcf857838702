import { sqlStatement } from '@banking/postgres';
import type { FindingRow, RangeCheck } from './verify-ranges.js';

/** The rules of returns, contradictory events and their resolutions. */
export const DISCREPANCY_CHECKS: readonly RangeCheck[] = [
  {
    check: 'every return is of a transaction that failed, or resolves a discrepancy',
    over: {
      transaction: sqlStatement<FindingRow>(
        'verify_return_reasons',
        `select format('return %s is of transaction %s, which is %s', r.id, x.id, x.status) as detail
         from transaction r join transaction x on x.workspace_id = $1 and x.id = r.return_of
         where r.workspace_id = $1 and r.id > $2 and r.id <= $3 and x.status <> 'failed'
           and not exists (select from discrepancy d where d.workspace_id = $1 and d.resolution_transaction_id = r.id)`,
      ),
    },
  },
  {
    check: 'every contradictory event has its discrepancy',
    over: {
      remittance_event: sqlStatement<FindingRow>(
        'verify_contradictions',
        `select format('transaction %s is %s and has event %s, %s, without a discrepancy', x.id, x.status, e.id, e.status) as detail
         from remittance_event e
           join remittance m on m.workspace_id = $1 and m.id = e.remittance_id
           join transaction x on x.workspace_id = $1 and x.id = m.transaction_id
         where e.workspace_id = $1 and e.id > $2 and e.id <= $3 and (x.status, e.status) in (('completed', 'RJCT'), ('failed', 'ACCC'))
           and not exists (
             select from discrepancy d where d.workspace_id = $1 and d.transaction_id = x.id
               and (d.resolution_transaction_id is not null
                 or d.kind = case e.status when 'RJCT' then 'credited_then_rejected' else 'rejected_then_credited' end))
         union all
         select format('transaction %s has event %s under an id with another status, without a discrepancy', m.transaction_id, e.id)
         from remittance_event e join remittance m on m.workspace_id = $1 and m.id = e.remittance_id
         where e.workspace_id = $1 and e.id > $2 and e.id <= $3
           and exists (
             select from remittance_event o
             where o.workspace_id = $1 and o.remittance_id = e.remittance_id and o.provider_event = e.provider_event and o.id < e.id)
           and not exists (
             select from discrepancy d where d.workspace_id = $1 and d.transaction_id = m.transaction_id and d.kind = 'event_reused')`,
      ),
    },
  },
  {
    check: 'every resolution moved the money of its transaction, the way it says',
    over: {
      transaction: sqlStatement<FindingRow>(
        'verify_resolutions',
        `select format('discrepancy %s was resolved by transaction %s, which does not fit', d.id, d.resolution_transaction_id) as detail
         from discrepancy d
         where d.workspace_id = $1 and d.resolution_transaction_id > $2 and d.resolution_transaction_id <= $3
           and (not exists (
               with recursive origin (id) as (
                 select r.return_of from transaction r where r.workspace_id = $1 and r.id = d.resolution_transaction_id
                 union
                 select r.return_of from origin join transaction r on r.workspace_id = $1 and r.id = origin.id)
               select from origin where origin.id = d.transaction_id)
             or exists (
               select from transfer t
               where t.workspace_id = $1 and t.transaction_id = d.resolution_transaction_id and t.account_version is not null
                 and t.direction <> case d.resolution when 'returned' then 'credit' else 'debit' end))`,
      ),
    },
  },
];
