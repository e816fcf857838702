import { sqlStatement } from '@banking/postgres';
import type { FindingRow, RangeCheck } from './verify-ranges.js';

/** The first entry follows the last one that was deleted because of its age. */
export const AUDIT_CHAIN: RangeCheck = {
  check: 'the audit trail of every workspace is one chain of hashes, without a gap',
  over: {
    audit_event: sqlStatement<FindingRow>(
      'verify_audit_chain',
      `select format('entry %s of the audit trail %s', e.id, case
                when p.hash is null then 'does not follow another one' else 'is not as its hash says' end) as detail
       from audit_event e
         left join audit_head h on h.workspace_id = $1
         left join lateral (
           select l.hash from audit_event l where l.workspace_id = $1 and l.id = e.id - 1
           union all
           select h.start_hash where h.start_id = e.id - 1
           limit 1) p on true
       where e.workspace_id = $1 and e.id > $2 and e.id <= $3
         and e.hash is distinct from next_audit_hash(null, p.hash, audit_content(e.workspace_id, e.id, e.operation, e.outcome, e.reason,
               e.count, e.resource_type, e.resource_id, e.user_id, e.actor, e.request_id, e.source_address, e.created_at))`,
    ),
    audit_head: sqlStatement<FindingRow>(
      'verify_audit_head',
      `select format('the audit trail does not end with entry %s', h.id) as detail
       from audit_head h
       where h.workspace_id = $1 and h.id > $2 and h.id <= $3
         and case when h.id = h.start_id then h.hash <> h.start_hash
             else not exists (
               select from audit_event e where e.workspace_id = $1 and e.id = h.id and e.hash = h.hash) end
       union all
       select format('the audit trail begins after entry %s, which was not a year old', h.start_id)
       from audit_head h
       where h.workspace_id = $1 and h.id > $2 and h.id <= $3 and h.start_id > 0
         and coalesce(h.start_at > statement_timestamp() - interval '365 days', true)`,
    ),
  },
};

/** Entries that are not recorded yet, by operation and resource, and the time that the trail begins after: older entries were deleted. */
const TRAIL = `
  unrecorded as materialized (
    select e ->> 'operation' as operation, (e ->> 'resourceId')::bigint as id, count(*) as entries
    from audit_outbox o cross join lateral jsonb_array_elements(o.entries) e
    where o.workspace_id = $1 and e ->> 'resourceId' is not null
    group by 1, 2),
  begun as materialized (
    select coalesce((select h.start_at from audit_head h where h.workspace_id = $1), '-infinity') as at)`;

/** Whether there is no entry of an operation. `in` and not a join, so that the outbox is read once for all rows. */
const isWithout = (operation: string, id: string): string =>
  `(select e.id from audit_event e where e.workspace_id = $1 and e.resource_id = ${id} and e.operation = '${operation}' limit 1) is null
         and ${id} not in (select u.id from unrecorded u where u.operation = '${operation}')`;

/** An entry is written in the database transaction of the change, so it is not older. */
export const AUDIT_ENTRIES: RangeCheck = {
  check: 'every order, every account and every change of an account has its entry in the audit trail',
  over: {
    customer_order: sqlStatement<FindingRow>(
      'verify_entries_of_orders',
      `with ${TRAIL}
       select format('order %s has no entry in the audit trail', o.id) as detail
       from customer_order o, begun
       where o.workspace_id = $1 and o.id > $2 and o.id <= $3 and o.created_at > begun.at
         and ${isWithout('placeOrder', 'o.id')}`,
    ),
    account: sqlStatement<FindingRow>(
      'verify_entries_of_accounts',
      `with ${TRAIL}
       select format('account %s has no entry in the audit trail', a.id) as detail
       from account a, begun
       where a.workspace_id = $1 and a.id > $2 and a.id <= $3 and a.kind = 'customer' and a.created_at > begun.at
         and ${isWithout('openAccount', 'a.id')}
       union all
       select format('account %s has %s changes, and fewer entries in the audit trail', c.account_id, c.changes)
       from begun cross join lateral (
         select l.account_id, count(*) as changes from account_change l
         where l.workspace_id = $1 and l.account_id > $2 and l.account_id <= $3 and l.changed_at > begun.at
         group by l.account_id) c
         left join unrecorded u on u.operation = 'changeAccount' and u.id = c.account_id
       where c.changes > coalesce(u.entries, 0) + (
         select count(*) from audit_event e
         where e.workspace_id = $1 and e.resource_id = c.account_id and e.operation = 'changeAccount')`,
    ),
  },
};
