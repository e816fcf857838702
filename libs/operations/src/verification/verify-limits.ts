import { sqlStatement } from '@banking/postgres';
import type { FindingRow, RangeCheck } from './verify-ranges.js';

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
       where m.workspace_id = $1 and m.workspace_id > $2 and m.workspace_id <= $3
         and (c.version is null or c.version <> coalesce(c.previous, 0) + 1 or c.before <> coalesce(c.previous_after, '[]')
           or c.is_last and (c.version <> m.version or m.limit_count <> jsonb_array_length(c.after)
             or (select jsonb_agg(e order by e) from jsonb_array_elements(c.after) e)
               is distinct from (select jsonb_agg(to_jsonb(l) order by to_jsonb(l)) from unnest(limits_of($1)) l)))`,
    ),
  },
};
