import { APPROVABLE_OPERATIONS, approvable } from '@banking/domain';
import { sqlStatement } from '@banking/postgres';
import { APPROVAL } from '../approvals/carry-out.js';
import type { FindingRow, RangeCheck } from './verify-ranges.js';

/** No worker carries them out, so they are in the queue for a moment only. */
const BY_MAKER = Object.keys(APPROVABLE_OPERATIONS).filter((name) => approvable(name)?.isCarriedOutByMaker === true);

/** The rules of approvals, from what is stored of them. */
export const APPROVAL_CHECKS: readonly RangeCheck[] = [
  {
    check: 'every payment has the approvals that its order waited for',
    over: {
      execution: sqlStatement<FindingRow>(
        'verify_approved_payments',
        `select format('transaction %s of order %s has not the approvals of approval %s', e.transaction_id, o.id, o.approval_id) as detail
         from execution e join customer_order o on o.workspace_id = $1 and o.id = e.order_id
         where e.workspace_id = $1 and e.id > $2 and e.id <= $3 and e.transaction_id is not null and o.approval_id is not null
           and not is_payment_approved($1, e.transaction_id)`,
      ),
    },
  },
  {
    check: 'every approval is of its request, and stands where its decisions stand',
    over: {
      approval: sqlStatement<FindingRow>(
        'verify_approvals',
        `select format('approval %s %s', a.id, a.why) as detail
         from (
           select t.id, case
               when t.digest <> salted_digest(t.request_salt, array[t.request]) then 'has the digest of another request'
               when (t.status = 'approved') <> has_approvals($1, t.id) then format('is %s, and its decisions say otherwise', t.status)
               when t.carried_out_in is not null and t.status <> 'approved' then 'was carried out and is not approved'
               when exists (
                   select from approval_decision d
                   where d.workspace_id = $1 and d.approval_id = t.id and (d.user_id = any(t.makers) or cardinality(d.roles) = 0
                     or d.user_id = (select o.placed_by from customer_order o where o.workspace_id = $1 and o.id = t.order_id)))
                 then 'has a decision of its maker, of whom its order runs for, or of a user without a role'
               when t.order_id is null and t.operation <> all('{${BY_MAKER.join()}}') and t.status = 'approved' and t.outcome is null and not exists (
                   select from work k where k.workspace_id = $1 and k.kind = '${APPROVAL}' and k.subject_id = t.id)
                 then 'is approved and not in the queue' end as why
           from approval t where t.workspace_id = $1 and t.id > $2 and t.id <= $3) a
         where a.why is not null`,
      ),
      customer_order: sqlStatement<FindingRow>(
        'verify_waiting_orders',
        `select format('order %s stands at %s, and its approval %s at %s', o.id, e.status, o.approval_id, coalesce(a.status, 'nothing')) as detail
         from customer_order o
           left join approval a on a.workspace_id = $1 and a.id = o.approval_id and a.order_id = o.id and a.digest = o.approval_digest
           left join execution e on e.workspace_id = $1 and e.order_id = o.id and e.sequence = 1
         where o.workspace_id = $1 and o.id > $2 and o.id <= $3 and o.approval_id is not null
           and case a.status
             when 'required' then e.status = 'awaiting_approval'
             when 'approved' then e.status <> 'awaiting_approval'
             when 'withdrawn' then e.status = 'cancelled'
             else e.status = 'failed' and e.failure_code = 'approval_' || a.status end is not true`,
      ),
    },
  },
];
