import { sqlStatement } from '@banking/postgres';
import { APPROVABLE_OPERATIONS, approvable } from '@banking/domain';
import type { FindingRow, RangeCheck } from './verify-ranges.js';
import { APPROVAL } from '../approvals/carry-out.js';

/** A counter of another time zone than that of the workspace is not used any more: it is made again when it is needed. */
export const LIMIT_COUNTERS: RangeCheck = {
  check: 'every limit has counted the payments of its day or month, as the books have them',
  over: {
    payment_limit: sqlStatement<FindingRow>(
      'verify_limit_counters',
      `select format('limit %s has counted %s since %s, and its payments are %s%s', l.id, u.used, rfc3339(u.period_start), b.used,
         case when b.uncounted > 0 then format(', and %s are not counted', b.uncounted) end) as detail
       from payment_limit l
         join limit_list m on m.workspace_id = $1
         join workspace w on w.id = $1 and w.time_zone = m.time_zone
         join limit_use u on u.workspace_id = $1 and u.limit_id = l.id
         cross join lateral (
           select coalesce(sum(counted_amount(p, l)), 0) as used, count(*) filter (where p.roles is null) as uncounted
           from limited_payment p
           where p.workspace_id = $1 and p.account_version is not null and p.created_at >= u.period_start and p.created_at < u.period_end offset 0) b
       where l.workspace_id = $1 and l.id > $2 and l.id <= $3 and (u.used <> b.used or b.uncounted > 0)`,
    ),
  },
};

export const LIMIT_TRAIL: RangeCheck = {
  check: 'the trail of the limits has no gap, and ends at the present ones',
  over: {
    limit_list: sqlStatement<FindingRow>(
      'verify_limit_trail',
      `select format('the trail of the limits %s', case
           when c.version <> coalesce(c.previous, 0) + 1 or c.before <> coalesce(c.previous_after, '[]')
             then format('has a gap before version %s', c.version)
           else 'does not end at the present ones' end) as detail
       from limit_list m
         left join lateral (
           select h.version, h.before, h.after, lag(h.version) over by_version as previous, lag(h.after) over by_version as previous_after,
             lead(h.version) over by_version is null as is_last
           from limit_change h where h.workspace_id = $1 window by_version as (order by h.version)) c on true
       where m.workspace_id = $1 and m.workspace_id > $2 and m.workspace_id <= $3 and m.version > 0
         and (c.version is null or c.version <> coalesce(c.previous, 0) + 1 or c.before <> coalesce(c.previous_after, '[]')
           or c.is_last and (c.version <> m.version or m.limit_count <> jsonb_array_length(c.after)
             or (select jsonb_agg(e order by e) from jsonb_array_elements(c.after) e)
               is distinct from (select jsonb_agg(to_jsonb(l) order by to_jsonb(l)) from unnest(limits_of($1)) l)))`,
    ),
  },
};

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

/**
 * What only operators post: money that no bank stated, resolutions, deposits that were assigned or sent back, and the money of payouts that no
 * network rejected. The first deposit of an entry is the worker's, whatever became of it: those that operators made say from which one.
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
               where d.workspace_id = $1 and d.transaction_id = x.id and d.assigned_from is null)
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
