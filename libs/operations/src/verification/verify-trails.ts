import type { Finding } from '@banking/ledger';
import { bind, type Database, lookup, scopesOf, sqlStatement } from '@banking/postgres';
import type { FindingRow, RangeCheck } from './verify-ranges.js';

/** An account starts as enabled. No entry contains its first alias. */
export const ACCOUNT_TRAIL: RangeCheck = {
  check: 'the audit trail of every account has no gap, and ends at its alias and status',
  over: {
    account: sqlStatement<FindingRow>(
      'verify_account_trail',
      `select format('account %s %s', a.id, case
                when c.id is null then 'is disabled, and its trail is empty'
                when c.after <> jsonb_build_object('alias', a.alias, 'status', a.status) and c.is_last then 'is not as its trail ends'
                else format('has a trail with a gap before entry %s', c.id) end) as detail
       from account a
         left join lateral (
           select e.id, e.before, e.after, lag(e.after) over by_id as previous, lead(e.id) over by_id is null as is_last
           from account_change e where e.workspace_id = $1 and e.account_id = a.id
           window by_id as (order by e.id)) c on true
       where a.workspace_id = $1 and a.id > $2 and a.id <= $3 and a.kind = 'customer'
         and case when c.id is null then a.status <> 'enabled'
             else c.before <> coalesce(c.previous, c.before || '{"status": "enabled"}')
               or c.is_last and c.after <> jsonb_build_object('alias', a.alias, 'status', a.status) end`,
    ),
  },
};

/** Pauses, changes of the placer and cancellations are entries. */
export const ORDER_TRAIL: RangeCheck = {
  check: 'the audit trail of every order has no gap, and ends at its placer and its pause',
  over: {
    customer_order: sqlStatement<FindingRow>(
      'verify_order_trail',
      `select format('order %s %s', o.id, case
                when c.before <> coalesce(c.previous, c.before) then format('has a trail with a gap before entry %s', c.id)
                else 'is not as its trail ends' end) as detail
       from customer_order o cross join lateral (
         select e.id, e.before, e.after, lag(e.after) over by_id as previous, lead(e.id) over by_id is null as is_last
         from order_change e where e.workspace_id = $1 and e.order_id = o.id
         window by_id as (order by e.id)) c
       where o.workspace_id = $1 and o.id > $2 and o.id <= $3
         and (c.before <> coalesce(c.previous, c.before)
           or c.is_last and c.after - 'status' <> jsonb_build_object('pauseReason', o.pause_reason, 'placedBy', o.placed_by))`,
    ),
  },
};

export const DIRECTORY_CHECK = 'the audit trail of the directory agrees with its rows';

/** The tables of the directory, the key of each, and the column that a message may contain: others hold personal data. */
const DIRECTORY = [
  { table: 'app', key: ['id'], shown: 'id' },
  { table: 'app_user', key: ['id'], shown: 'id' },
  { table: 'user_identity', key: ['issuer', 'subject'], shown: 'user_id' },
  { table: 'app_membership', key: ['app_id', 'user_id'], shown: 'user_id' },
  { table: 'workspace', key: ['id'], shown: 'id' },
  { table: 'workspace_role', key: ['workspace_id', 'id'], shown: 'id' },
  { table: 'member', key: ['workspace_id', 'id'], shown: 'id' },
] as const;

/**
 * Rows that differ from their latest entry, and rows without an entry. Ignores columns that only one of the two has: a migration added
 * or dropped them. Ignores times: an entry has them in the time zone of its session.
 */
const DIRECTORY_FINDINGS = DIRECTORY.map(({ table, key, shown }) => {
  const named = (json: string) => `jsonb_build_array(${key.map((column) => `${json} -> '${column}'`).join(', ')})`;
  const query = sqlStatement<FindingRow>(
    `verify_trail_of_${table}`,
    `with latest as (
       select distinct on (key) key, action, record
       from (select id, action, record || coalesce(personal, '{}') as record, ${named("(record || coalesce(personal, '{}'))")} as key
             from directory_change where relation = '${table}') c
       order by key, id desc),
     present as (select ${named('row')} as key, row from (select to_jsonb(t) as row from ${table} t) t)
     select format('${table} with ${shown} %s %s', coalesce(p.row, l.record) ->> '${shown}', case
              when p.key is null then 'is not there, and its trail does not say that it was deleted'
              when l.key is null then 'has no entry in the trail'
              when l.action = 'delete' then 'is there, and its trail says that it was deleted'
              else 'is not as its latest entry says' end) as detail
     from latest l full join present p on p.key = l.key
     where case
       when p.key is null then l.action <> 'delete'
       when l.key is null then true
       else l.action = 'delete' or exists (
         select from jsonb_each(l.record - array['created_at', 'updated_at', 'bound_at', 'expires_at']) e
         where p.row ? e.key and p.row -> e.key <> e.value) end`,
  );
  return [query, table === 'workspace_role' || table === 'member'] as const;
});

/** How many entries of the directory's trail one statement verifies. */
const ENTRIES = 10_000;

const DIRECTORY_CHAIN = sqlStatement<{ last: bigint | null; details: readonly string[] | null }>(
  'verify_directory_chain',
  `select max(id) as last,
     json_agg(format('entry %s of the trail of the directory is not as its hash says, or does not follow the one before it', id) order by id)
       filter (where is_as_hashed is not true) as details
   from directory_chain($1, $2)`,
);

/**
 * Grants and names of workspaces without their entries in the audit trails. Of several databases, home writes the entries of the workspaces
 * that it serves, so that later no number is expected.
 */
const DIRECTORY_ENTRIES = sqlStatement<FindingRow & { readonly workspace_id: bigint }>(
  'verify_entries_of_directory',
  `with changed as (
     select coalesce(record -> 'workspace_id', record -> 'id')::bigint as workspace_id,
       case relation when 'workspace' then 'workspace' else 'user' end as type,
       coalesce(record -> 'user_id', record -> 'id')::bigint as id,
       case relation || ' ' || action when 'workspace insert' then 'addWorkspace' when 'workspace update' then case
           when record -> 'name' = lag(record -> 'name') over (partition by relation, record -> 'id' order by id) then 'setTimeZone'
           else 'renameWorkspace' end
         when 'workspace_role insert' then 'addGrant' when 'workspace_role update' then 'changeGrant' else 'removeGrant' end as operation,
       changed_at
     from directory_change
     where not exists (select from cell_identity)
       and (relation = 'workspace_role' or relation = 'workspace' and action <> 'delete')),
   expected as (
     select c.workspace_id, c.type, c.id, c.operation, count(*) as changes
     from changed c join workspace w on w.id = c.workspace_id left join audit_head h on h.workspace_id = c.workspace_id
     where c.workspace_id = any($1::bigint[]) and c.changed_at > coalesce(h.start_at, '-infinity')
     group by 1, 2, 3, 4),
   unrecorded as materialized (
     select o.workspace_id, e ->> 'operation' as operation, (e ->> 'resourceId')::bigint as id, count(*) as entries
     from audit_outbox o cross join lateral jsonb_array_elements(o.entries) e
     where o.workspace_id = any($1::bigint[]) group by 1, 2, 3)
   select x.workspace_id,
     format('%s %s: the directory has %s times %s, and the audit trail fewer', x.type, x.id, x.changes, x.operation) as detail
   from expected x
     left join unrecorded u on (u.workspace_id, u.operation, u.id) = (x.workspace_id, x.operation, x.id)
   where x.changes > coalesce(u.entries, 0) + (
     select count(*) from audit_event e
     where e.workspace_id = x.workspace_id and e.resource_id = x.id and e.operation = x.operation and e.resource_type = x.type)`,
);

/** Compares the directory with its trail, and the trail with its hashes and with the audit trails. @param workspaceIds all workspaces */
export async function verifyDirectory(database: Database, workspaceIds: readonly number[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  const found = (details: readonly FindingRow[]) => {
    for (const { detail } of details) findings.push({ check: DIRECTORY_CHECK, detail });
  };
  for (const [query, isOfWorkspaces] of DIRECTORY_FINDINGS) {
    // Row-level security hides the roles in other workspaces, and their entries.
    for (const workspaces of isOfWorkspaces ? scopesOf(workspaceIds) : [[]]) {
      found((await database.pipeline({ workspaces }, [bind(query)] as const))[0]);
    }
  }
  for (const workspaces of scopesOf(workspaceIds)) {
    const [rows] = await database.pipeline({ workspaces }, [bind(DIRECTORY_ENTRIES, workspaces)] as const);
    for (const { workspace_id: workspaceId, detail } of rows) {
      findings.push({ check: DIRECTORY_CHECK, workspaceId: Number(workspaceId), detail });
    }
  }
  for (let after: bigint | null = 0n; after !== null;) {
    const row: { last: bigint | null; details: readonly string[] | null } | undefined = await database.read(
      {},
      bind(DIRECTORY_CHAIN, after, ENTRIES),
    );
    found((row?.details ?? []).map((detail) => ({ detail })));
    after = row?.last ?? null;
  }
  return findings;
}

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
         -- No index of PostgreSQL 15 takes a subtraction, which is not leakproof, on a table with row-level security.
         cross join ${lookup('select e.id - 1 as id')} b
         left join lateral (
           select l.hash from audit_event l where l.workspace_id = $1 and l.id = b.id
           union all
           select h.start_hash where h.start_id = b.id
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
  check: 'every order, every account and every change of an account or of limits has its entry in the audit trail',
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
    limit_list: sqlStatement<FindingRow>(
      'verify_entries_of_limits',
      `with ${TRAIL}
       select format('the limits have %s changes, and fewer entries in the audit trail', c.changes) as detail
       from begun cross join lateral (
         select count(*) as changes from limit_change l
         where l.workspace_id = $1 and l.workspace_id > $2 and l.workspace_id <= $3 and l.changed_at > begun.at) c
         left join unrecorded u on u.operation = 'replaceLimits' and u.id = $1
       where c.changes > coalesce(u.entries, 0) + (
         select count(*) from audit_event e
         where e.workspace_id = $1 and e.resource_id = $1 and e.resource_type = 'limits' and e.operation = 'replaceLimits')`,
    ),
  },
};
