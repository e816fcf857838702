import { sqlStatement } from '@banking/postgres';
import type { FindingRow, RangeCheck } from './verify-ranges.js';

/**
 * What only operators post: money that no bank stated, resolutions, deposits that were assigned or sent back, and the money of payouts that no
 * network rejected. Of a deposit that was sent back, the note no longer says whether it was assigned before; its return is checked.
 */
export const OPERATOR_CHECK: RangeCheck = {
  check: 'outside a sandbox, no operator moved money without the approval of another',
  over: {
    transaction: sqlStatement<FindingRow>(
      'verify_operator_postings',
      `select format('transaction %s was posted by an operator without an approved request', x.id) as detail
       from transaction x
       where x.workspace_id = $1 and x.id > $2 and x.id <= $3
         and not exists (select from deployment_mode where is_sandbox)
         and not exists (select from operator_posting p where p.workspace_id = $1 and p.transaction_id = x.id)
         and case
           when exists (select from discrepancy d where d.workspace_id = $1 and d.resolution_transaction_id = x.id) then true
           when x.return_of is null then
             exists (select from transfer t where t.workspace_id = $1 and t.transaction_id = x.id and t.type = 'funding')
             and not exists (
               select from deposit d
               where d.workspace_id = $1 and d.transaction_id = x.id and (d.note is null or d.status = 'returned'))
           else
             exists (
               select from deposit d where d.workspace_id = $1 and d.transaction_id = x.return_of and d.reversal_id is null)
             or exists (select from payout p where p.workspace_id = $1 and p.transaction_id = x.return_of and p.status = 'failed')
               and not exists (
                 select from remittance_event e
                 where e.workspace_id = $1 and e.transaction_id = x.return_of and e.status = 'RJCT')
         end`,
    ),
  },
};
