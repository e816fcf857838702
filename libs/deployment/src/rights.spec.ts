import { APP_ROLE, PROVISIONING_ROLE, SCHEMA } from '@banking/postgres';
import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';

/**
 * The rights of each role on tables and sequences of the schema, by the catalog. Rights on single columns name the columns. A
 * balance, a version and a head are in none of them. A time of booking is bounded by a policy. No entry means no right.
 */
const RIGHTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [APP_ROLE]: {
    account:
      'insert (alias, code, currency_id, id, kind, name, product_id, status, type, workspace_id), select, update (alias, status, updated_at)',
    account_change: 'select',
    account_code: 'insert, select',
    account_id_seq: 'usage',
    account_place: 'insert (code, workspace_id), select',
    app: 'select',
    app_membership: 'select',
    app_user: 'select',
    arrival:
      'insert (account_code, amount, currency_id, key_nonce, origin_transaction_id, origin_workspace_id, outcome, transaction_id, workspace_id), select',
    audit_event: 'select',
    audit_head: 'select',
    audit_outbox: 'insert (entries, workspace_id), select (entries, workspace_id)',
    audit_outbox_id_seq: 'usage',
    bank: 'insert, select, update (country_code, name, swift_code, updated_at)',
    beneficiary: 'insert, select',
    beneficiary_id_seq: 'usage',
    cell: 'select',
    cell_identity: 'select',
    cell_workspace: 'select',
    change_outbox: 'select (created_at, id)',
    conversion: 'insert, select',
    corridor: 'insert, select',
    crossing: 'insert (account_code, amount, currency_id, transaction_id, workspace_id), select, update (status)',
    currency: 'insert, select, update (code, decimals, name, symbol, updated_at)',
    customer_order: 'insert, select, update (pause_reason, paused_at, placed_by, resumed_at, status, updated_at)',
    customer_order_id_seq: 'usage',
    demo_step: 'insert, select',
    deployment_mode: 'select',
    directory_change: 'select (action, changed_at, id, record, relation)',
    discrepancy:
      'insert (event_id, kind, transaction_id, workspace_id), select, update (note, resolution, resolution_transaction_id, resolved_at, resolved_by)',
    discrepancy_id_seq: 'usage',
    event: 'select',
    event_deletion: 'select',
    event_sequence: 'select',
    execution: 'insert, select, update (executed_at, failure_code, failure_message, status, transaction_id)',
    execution_id_seq: 'usage',
    idempotency: 'delete, insert, select, update (answer, created_at, fingerprint)',
    order_change: 'select',
    payout:
      'insert (status, transaction_id, workspace_id), select, update (fence, parked_at, reason, status, tries, updated_at)',
    payout_stop:
      'insert (finding_count, findings, workspace_ids), select (finding_count, id, resumed_at, stopped_at, workspace_ids)',
    payout_stop_id_seq: 'usage',
    product: 'insert, select',
    quote: 'insert, select',
    quote_id_seq: 'usage',
    quote_use: 'insert, select',
    recipient: 'insert, select, update (alias, forgotten_at, saved, updated_at)',
    recipient_id_seq: 'usage',
    reference_snapshot: 'delete, insert (facts, version), select',
    reference_version: 'select',
    remittance: 'insert, select, update (updated_at)',
    remittance_event: 'insert, select',
    remittance_event_id_seq: 'usage',
    remittance_id_seq: 'usage',
    sandbox_clock: 'insert (moved_by, now, workspace_id), select, update (moved_at, moved_by, now)',
    sandbox_rail_event:
      'insert (due_at, key, position, provider_event, reason_code, status), select, update (acknowledged, handed_until)',
    sandbox_rail_payment: 'insert (amount, currency, key), select, update (submissions)',
    schema_migration: 'select',
    seal: 'select',
    transaction:
      'insert (conversion_digest, created_at, hash, id, order_digest, return_of, status, updated_at, workspace_id), select, update (status, updated_at)',
    transaction_id_seq: 'usage',
    transfer:
      'insert (account_id, account_version, amount, balance_after, created_at, currency_id, description, direction, fee_amount, id, purpose, recipient_digest, recipient_id, transaction_id, type, workspace_id), select',
    transfer_id_seq: 'usage',
    unverified_posting: 'delete, select',
    user_identity: 'select',
    verification_position: 'select, update (last_id, last_workspace_id)',
    webhook_delivery:
      'insert (endpoint_id, event_id, event_type, id, kind, next_attempt_at, workspace_id), select, update (next_attempt_at, status)',
    webhook_delivery_id_seq: 'usage',
    webhook_endpoint:
      'insert (created_by, cursor_event_id, description, id, sealed_secret, types, url, workspace_id), select (answered_url, consecutive_failures, created_at, created_by, cursor_event_id, deleted_at, description, disabled_reason, failing_since, id, lease_token, lease_until, paused_until, previous_valid_until, requested_deliveries, requested_on, status, types, url, workspace_id), update (answered_url, consecutive_failures, created_by, deleted_at, description, disabled_reason, failing_since, paused_until, previous_sealed_secret, previous_valid_until, requested_deliveries, requested_on, sealed_secret, status, types, url)',
    webhook_endpoint_id_seq: 'usage',
    work: 'delete, insert (due_at, kind, subject_id, workspace_id), select, update (delays, due_at, fence, leased_until, parked_at, reason, tries)',
    workspace: 'select',
    workspace_place: 'select',
    workspace_role: 'select',
  },
  [PROVISIONING_ROLE]: {
    app: 'delete, insert (id, name), select, update (name, updated_at)',
    app_id_seq: 'usage',
    app_membership: 'insert (app_id, user_id), select',
    app_user: 'delete, insert (email, id, status, user_type), select, update (email, status, updated_at)',
    app_user_id_seq: 'usage',
    cell: 'select',
    cell_identity: 'select',
    cell_workspace: 'delete, insert (workspace_id), select',
    deployment_mode: 'select',
    payout_stop: 'select, update (resumed_at, resumed_by)',
    user_identity: 'insert (issuer, subject, user_id), select',
    workspace: 'delete, insert (app_id, id, name, type), select, update (name, updated_at)',
    workspace_id_seq: 'usage',
    workspace_move: 'select',
    workspace_place: 'delete, insert (cell_number, workspace_id), select',
    workspace_role: 'delete, insert (id, role, user_id, workspace_id), select, update (role, updated_at)',
    workspace_role_id_seq: 'usage',
  },
};

/** Rights of everyone but the owner, on everything in the schema that has rights. */
const READ_RIGHTS = `
  with granted as (
    select c.relname, x.grantee, lower(x.privilege_type) as kind, null::text as name
      from pg_class c, aclexplode(coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))) x
     where c.relnamespace = '${SCHEMA}'::regnamespace and c.relkind <> 'i' and x.grantee <> c.relowner
    union all
    select c.relname, x.grantee, lower(x.privilege_type), a.attname::text
      from pg_class c join pg_attribute a on a.attrelid = c.oid and not a.attisdropped, aclexplode(a.attacl) x
     where c.relnamespace = '${SCHEMA}'::regnamespace),
  collected as (
    select relname, grantee, kind || coalesce(' (' || string_agg(name, ', ' order by name) || ')', '') as kind
      from granted group by relname, grantee, kind)
  select case when grantee = 0 then 'public' else grantee::regrole::text end as role, relname as relation,
         string_agg(kind, ', ' order by kind) as rights
    from collected group by 1, 2`;

let world: FreshDatabase;

beforeAll(async () => {
  world = await freshDatabase();
});
afterAll(() => world.close());

describe('the tables and sequences', () => {
  it('grant the listed rights only', async () => {
    const { rows } = await world.owner.query<{ role: string; relation: string; rights: string }>(READ_RIGHTS);

    const found: Record<string, Record<string, string>> = {};
    for (const { role, relation, rights } of rows) (found[role] ??= {})[relation] = rights;

    expect(found).toEqual(RIGHTS);
  });

  it('have no view or rule with the rights of its owner', async () => {
    const { rows } = await world.owner.query(
      `select c.relname, w.rulename from pg_class c left join pg_rewrite w on w.ev_class = c.oid
        where c.relnamespace = '${SCHEMA}'::regnamespace and (c.relkind in ('v', 'm', 'f') or w.oid is not null)
          and not (c.relkind = 'v' and c.reloptions @> '{security_invoker=true}')`,
    );

    expect(rows).toEqual([]);
  });
});

describe('the schema', () => {
  it('can be used by both roles and changed by its owner only', async () => {
    const { rows } = await world.owner.query(
      `select x.grantee::regrole::text as role, lower(x.privilege_type) as may from pg_namespace n, aclexplode(n.nspacl) x
        where n.nspname = '${SCHEMA}' and x.grantee <> n.nspowner order by 1`,
    );

    expect(rows).toEqual([APP_ROLE, PROVISIONING_ROLE].map((role) => ({ role, may: 'usage' })));
  });
});

describe('the roles of services', () => {
  it('own nothing, are in no other role and cannot log in', async () => {
    const { rows } = await world.owner.query(
      `select rolname, rolsuper, rolbypassrls, rolcanlogin, rolcreaterole, rolcreatedb, rolreplication,
              (select count(*)::int from pg_class where relowner = r.oid) as tables,
              (select count(*)::int from pg_proc where proowner = r.oid) as functions,
              (select count(*)::int from pg_auth_members where member = r.oid) as memberships
       from pg_roles r where rolname = any($1) order by rolname`,
      [[APP_ROLE, PROVISIONING_ROLE]],
    );

    const nothing = { tables: 0, functions: 0, memberships: 0 };
    const attributes = {
      rolsuper: false,
      rolbypassrls: false,
      rolcanlogin: false,
      rolcreaterole: false,
      rolcreatedb: false,
      rolreplication: false,
    };
    expect(rows).toEqual([APP_ROLE, PROVISIONING_ROLE].map((rolname) => ({ rolname, ...attributes, ...nothing })));
  });

  it('cannot create a table, not even a temporary one', async () => {
    const { rows } = await world.owner.query(
      `select r.rolname, n.nspname from pg_roles r, pg_namespace n
        where r.rolname = any($1) and has_schema_privilege(r.oid, n.oid, 'create')
       union all
       select rolname, 'a schema of its own, or pg_temp' from pg_roles
        where rolname = any($1) and has_database_privilege(oid, current_database(), 'create, temporary')`,
      [[APP_ROLE, PROVISIONING_ROLE]],
    );

    expect(rows).toEqual([]);
  });
});
