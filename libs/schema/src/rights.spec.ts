import {
  API_ROLE,
  migrate,
  OPERATOR_ROLE,
  OWNER_ROLE,
  PROVISIONING_ROLE,
  ROLES,
  SCHEMA,
  VERIFIER_ROLE,
  WORKER_ROLE,
} from '@banking/postgres';
import { emptyDatabase, freshDatabase, type FreshDatabase } from '@banking/postgres/testing';
import { MIGRATIONS } from './index.js';

/** Where a role may delete rows. Everywhere else rows stay, or a function of the owner deletes them. */
const DELETES: Readonly<Record<string, readonly string[]>> = {
  [API_ROLE]: ['reference_snapshot', 'work'],
  [WORKER_ROLE]: ['bank_reconciliation', 'rail_event', 'reference_snapshot', 'work'],
  [VERIFIER_ROLE]: ['unverified_posting'],
  [OPERATOR_ROLE]: ['bank_reconciliation', 'rail_event', 'reference_snapshot', 'unverified_posting', 'work'],
  [PROVISIONING_ROLE]: ['app', 'app_user', 'cell_workspace', 'workspace', 'workspace_place', 'workspace_role'],
};

/** Tables of money, of orders, of keys and of work, into which functions of the owner insert. */
const BOOKS: readonly string[] = [
  ...['arrival', 'crossing', 'customer_order', 'discrepancy', 'execution', 'idempotency', 'payout', 'quote_use'],
  ...['remittance_event', 'transaction', 'transfer', 'work'],
];

/** Columns of money, of its evidence, of its place and of its status that no role writes. */
const WRITTEN_BY_TRIGGERS: readonly string[] = [
  ...['account.balance', 'account.version', 'account.balance_id', 'account.balance_at', 'account.head'],
  ...['crossing.key_nonce', 'payout.key_nonce', 'webhook_endpoint.cursor_event_id', 'webhook_endpoint.lease_token'],
  ...['crossing.status', 'transaction.status', 'transaction.updated_at'],
];

/** Columns that the role of the service does not read. */
const HIDDEN: readonly string[] = [
  ...['change_outbox.changes', 'directory_change.changed_by', 'directory_change.hash', 'payout_stop.findings'],
  ...[
    'payout_stop.resumed_by',
    'service_account_key.hash',
    'webhook_endpoint.sealed_secret',
    'webhook_endpoint.previous_sealed_secret',
  ],
];

let world: FreshDatabase;

beforeAll(async () => {
  world = await freshDatabase();
});
afterAll(() => world.close());

describe('the tables and sequences', () => {
  it.each(ROLES)('let %s delete from the listed tables only', async (role) => {
    const { rows } = await world.owner.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = '${SCHEMA}'::regnamespace and relkind in ('r', 'p')
         and has_table_privilege($1, oid, 'delete') order by 1`,
      [role],
    );

    expect(rows.map(({ name }) => name)).toEqual(DELETES[role]);
  });

  it('let no role empty them, refer to them or make triggers on them, and give nothing to everyone', async () => {
    const { rows } = await world.owner.query(
      `select c.relname, x.grantee::regrole::text, x.privilege_type
         from pg_class c, aclexplode(coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))) x
        where c.relnamespace = '${SCHEMA}'::regnamespace and x.grantee <> c.relowner
          and (x.grantee = 0 or x.privilege_type not in ('SELECT', 'INSERT', 'UPDATE', 'DELETE', 'USAGE'))`,
    );

    expect(rows).toEqual([]);
  });

  it('let no role change a row of the books as a whole', async () => {
    const { rows } = await world.owner.query(
      `select relname from pg_class where relnamespace = '${SCHEMA}'::regnamespace and relkind in ('r', 'p')
         and exists (select from unnest($1::text[]) r where has_table_privilege(r, oid, 'update'))`,
      [ROLES],
    );

    expect(rows).toEqual([]);
  });

  it.each(BOOKS)('let no role insert into %s', async (table) => {
    const { rows } = await world.owner.query(
      `select r from unnest($1::text[]) r where has_any_column_privilege(r, ('${SCHEMA}.' || $2)::regclass, 'insert')`,
      [ROLES, table],
    );

    expect(rows).toEqual([]);
  });

  it('let only the verification read its own tables', async () => {
    expect(await rolesThatMay('select', 'unverified_posting.id')).toEqual([VERIFIER_ROLE, OPERATOR_ROLE]);
    expect(await rolesThatMay('update', 'verification_position.last_id')).toEqual([VERIFIER_ROLE, OPERATOR_ROLE]);
  });

  it.each(WRITTEN_BY_TRIGGERS)('let no role update %s', async (column) => {
    expect(await rolesThatMay('update', column)).toEqual([]);
  });

  it.each(HIDDEN)('hide %s from the service', async (column) => {
    expect(await rolesThatMay('select', column)).not.toContain(API_ROLE);
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

async function rolesThatMay(right: string, name: string): Promise<string[]> {
  const [table, column] = name.split('.');
  const { rows } = await world.owner.query<{ role: string }>(
    `select r as role from unnest($1::text[]) r where has_column_privilege(r, ('${SCHEMA}.' || $2)::regclass, $3, $4)`,
    [ROLES, table, column, right],
  );
  return rows.map(({ role }) => role);
}

describe('the operators of a live deployment', () => {
  /** What a command of the demo data does in a sandbox. */
  const IN_A_SANDBOX = [
    'announce_deposits',
    'place_orders',
    'post_arrivals',
    'post_bank_deposits',
    'post_payments',
    'reverse_bank_deposits',
  ];
  const MAY_CALL = `select r || ' ' || proname as name from pg_proc, unnest($1::text[]) r
    where pronamespace = '${SCHEMA}'::regnamespace and has_function_privilege(r, oid, 'execute') order by 1`;

  it('may not call the functions of the demo data, and each role may call all others as in a sandbox', async () => {
    const live = await emptyDatabase();
    try {
      await migrate({
        ...{ connection: live.connection, migrations: MIGRATIONS },
        ...{ parameters: { 'banking.sandbox': 'off' }, schema: SCHEMA, ownerRole: OWNER_ROLE, roles: ROLES },
      });
      const { rows } = await live.administer((client) => client.query<{ name: string }>(MAY_CALL, [ROLES]));
      const { rows: ofSandbox } = await world.owner.query<{ name: string }>(MAY_CALL, [ROLES]);

      const names = new Set(rows.map(({ name }) => name));
      expect(ofSandbox.map(({ name }) => name).filter((name) => !names.has(name))).toEqual(
        IN_A_SANDBOX.map((name) => `${OPERATOR_ROLE} ${name}`),
      );
      expect(rows.length).toBe(ofSandbox.length - IN_A_SANDBOX.length);
    } finally {
      await live.close();
    }
  });
});

describe('the schema', () => {
  it('can be used by the roles and changed by its owner only', async () => {
    const { rows } = await world.owner.query(
      `select x.grantee::regrole::text as role, lower(x.privilege_type) as may from pg_namespace n, aclexplode(n.nspacl) x
        where n.nspname = '${SCHEMA}' and x.grantee <> n.nspowner order by 1`,
    );

    expect(rows).toEqual([...ROLES].sort().map((role) => ({ role, may: 'usage' })));
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
      [ROLES],
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
    expect(rows).toEqual([...ROLES].sort().map((rolname) => ({ rolname, ...attributes, ...nothing })));
  });

  it('cannot create a table, not even a temporary one', async () => {
    const { rows } = await world.owner.query(
      `select r.rolname, n.nspname from pg_roles r, pg_namespace n
        where r.rolname = any($1) and has_schema_privilege(r.oid, n.oid, 'create')
       union all
       select rolname, 'a schema of its own, or pg_temp' from pg_roles
        where rolname = any($1) and has_database_privilege(oid, current_database(), 'create, temporary')`,
      [ROLES],
    );

    expect(rows).toEqual([]);
  });
});
