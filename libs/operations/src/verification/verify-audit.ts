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
               select from audit_event e where e.workspace_id = $1 and e.id = h.id and e.hash = h.hash) end`,
    ),
  },
};
