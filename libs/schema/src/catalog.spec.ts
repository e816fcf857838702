import { SCHEMA } from '@banking/postgres';
import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';

/** Tables without a workspace, and the reason of each. All other tables belong to a workspace. */
const WITHOUT_TENANT: Readonly<Record<string, string>> = {
  app: 'directory: an app has many workspaces',
  app_user: 'directory: a user may have roles in many workspaces',
  user_identity: 'directory: identifies a user before the workspace is known',
  app_membership: 'directory: a user belongs to an app, not to a workspace',
  workspace: 'directory: the list of tenants itself',
  directory_change: 'the trail of the directory',
  seal: 'the key of cursors, the same for all',
  demo_step: 'the steps of the demo data, over all its workspaces',
  currency: 'reference data, the same for all',
  product: 'reference data, the same for all',
  bank: 'reference data, the same for all',
  corridor: 'reference data, the same for all',
  purpose: 'reference data, the same for all',
  reference_change: 'the documents that stated the reference data',
  rail_cursor: 'how far the events of a bank adapter are read, of all workspaces',
  rail_event: 'what a bank adapter says of a payment: the adapter knows keys and no workspaces',
  payment_file: 'files of payments of all workspaces',
  file_payment: 'a payment in such a file, named by its key',
  bank_file: 'files of a bank, about the payments and accounts of all',
  bank_statement: 'statements of the bank accounts of the deployment',
  bank_entry: 'what a bank booked on an account of the deployment: whose it is follows from it',
  bank_reconciliation: 'how the statements of those accounts compare with the books',
  sandbox_rail_payment: 'the memory of the sandbox’s network, which knows keys and no workspaces',
  sandbox_rail_event: 'the same: what that network says of a payment',
  sandbox_rail_listed: 'the same: what its adapter lists',
  sandbox_rail_request: 'the same: what its adapter took',
  deployment_mode: 'whether the database holds demo money or real money',
  reference_version: 'the version of the reference data',
  reference_snapshot: 'the reference data of earlier versions',
  verification_position: 'where the repeated verification of all workspaces stands',
  unverified_posting: 'what is not verified, of all workspaces: an INSERT of transfers may be of several',
  change_outbox: 'changes that are not events yet, of all workspaces: a statement may be of several',
  payout_stop: 'payouts of all workspaces stop together',
  operator_request: 'what operators request, also of all workspaces',
  decision_demand: 'payouts of all workspaces need decisions',
  cell_identity: 'which of several databases this one is',
  cell: 'the databases of the deployment',
  schema_migration: 'what has been applied to the schema',
};

/** Tables of all workspaces, and the reason why they have no row-level security. */
const OVER_ALL_WORKSPACES: Readonly<Record<string, string>> = {
  work: 'the queue: claimed over all workspaces with one statement, so it holds ids, times and our own words only',
  webhook_due: 'the queue of webhook endpoints, for functions of the owner only; it holds ids and times only',
  cell_workspace: 'read before there is a scope, to decide whether there may be one; it holds ids and states only',
  workspace_move: 'operators list the moves of all workspaces; it holds ids, steps and the name of an operator only',
  workspace_place: 'finds the database of a workspace, before there is a scope; it holds ids and times only',
};

/** Keys that do not begin with the workspace, and the reason of each. */
const KEYS_OF_THEIR_OWN: Readonly<Record<string, string>> = {
  account_code_pkey: 'finds the workspace of a code: the one thing a workspace may learn of another',
  account_place_pkey: 'the same over all databases',
  approval_by_expiry: 'finds what has expired, of every workspace',
  approval_of_email: 'finds what is held about a person, in every workspace',
  audit_outbox_by_id: 'finds what is not recorded, of every workspace',
  deposit_by_entry: 'finds who has the money of an entry, for functions of the owner',
  deposit_of_entry: 'lets one workspace have the money of an entry',
  deposit_of_reversal: 'lets one workspace give back the money that an entry takes',
  discrepancy_returned: 'finds payouts to compare with the bank, of every workspace',
  invitation_of_code: 'finds the workspace that a code invites to',
  member_of_user: 'finds what a removed user was a member of',
  open_invitation_by_email: 'finds the workspaces that a person is invited to who signs in',
  open_invitation_by_maker: 'finds what an administrator has invited to, who is suspended',
  payout_held: 'finds what waits for a decision, of every workspace',
  idempotency_by_age: 'finds what has expired, of every workspace',
  work_by_claim: 'finds what is due, whose ever it is',
  work_by_turn: 'finds the workspaces that have due work',
  work_by_parking: 'finds what is parked, whose ever it is',
  webhook_due_by_time: 'finds what is due, whose ever it is',
  service_account_key_by_id: 'finds a key before its workspace is known, for functions of the owner',
  role_of_user: 'finds the workspaces of a user, which is how a scope comes about',
};

let world: FreshDatabase;

beforeAll(async () => {
  world = await freshDatabase();
});
afterAll(() => world.close());

async function names(text: string): Promise<string[]> {
  const { rows } = await world.owner.query<{ name: string }>(text);
  return rows.map(({ name }) => name);
}

const tables = `select c.oid, c.relname, c.relowner, c.relrowsecurity, c.relforcerowsecurity,
         (select attnum from pg_attribute a where a.attrelid = c.oid and a.attname = 'workspace_id' and not attisdropped) as tenant
  from pg_class c where c.relnamespace = '${SCHEMA}'::regnamespace and c.relkind in ('r', 'p')`;

describe('a table of the schema', () => {
  it('is listed if it has no workspace', async () => {
    const without = await names(`select relname as name from (${tables}) t where tenant is null`);

    expect(without.sort()).toEqual(Object.keys(WITHOUT_TENANT).sort());
  });

  it('has its workspace in each row', async () => {
    expect(
      await names(
        `select relname as name from (${tables}) t join pg_attribute a on a.attrelid = t.oid and a.attnum = t.tenant where not attnotnull`,
      ),
    ).toEqual([]);
  });

  it('has its workspace first in each key and index', async () => {
    const others = await names(
      `select i.indexrelid::regclass::text as name from (${tables}) t join pg_index i on i.indrelid = t.oid
       where t.tenant is not null and i.indkey[0] <> t.tenant`,
    );

    expect(others.map((name) => name.replace(`${SCHEMA}.`, '')).sort()).toEqual(Object.keys(KEYS_OF_THEIR_OWN).sort());
  });

  it('has a primary key', async () => {
    expect(
      await names(
        `select relname as name from (${tables}) t where not exists (select from pg_index i where i.indrelid = t.oid and i.indisprimary)`,
      ),
    ).toEqual([]);
  });

  it('has its workspace in each foreign key', async () => {
    const crossing = await names(
      `select k.conname as name
       from pg_constraint k
       join (${tables}) child on child.oid = k.conrelid
       join (${tables}) parent on parent.oid = k.confrelid
       where k.contype = 'f' and parent.tenant is not null
         and (child.tenant is distinct from k.conkey[1] or parent.tenant is distinct from k.confkey[1])`,
    );

    expect(crossing).toEqual([]);
  });

  it('has forced row-level security and a policy if it has a workspace', async () => {
    const open = await names(
      `select relname as name from (${tables}) t
       where tenant is not null
         and not (relrowsecurity and relforcerowsecurity and exists (select from pg_policy p where p.polrelid = t.oid))`,
    );

    expect(open.sort()).toEqual(Object.keys(OVER_ALL_WORKSPACES).sort());
  });

  it('has a policy that reads the scope in a subquery, and calls no function of its own', async () => {
    const { rows } = await world.owner.query<{ name: string; rule: string }>(
      `select c.relname || ' ' || p.polname as name, coalesce(pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)) as rule
       from pg_policy p join pg_class c on c.oid = p.polrelid where c.relnamespace = '${SCHEMA}'::regnamespace`,
    );
    const list = `COALESCE((workspace_id = ANY (( SELECT (NULLIF(current_setting('app.workspaces'::text, true), ''::text))::bigint[] AS "nullif")::bigint[])), false)`;

    const others = rows.filter(({ rule }) => rule !== list).map(({ name }) => name);

    expect(others.sort()).toEqual(
      [
        'account_code readable',
        'account_place readable',
        'approval found_by_worker',
        // Finds what is not recorded, whose ever it is: for the owner alone.
        'audit_outbox found_by_recorder',
        // Restrict the times of rows.
        ...['customer_order', 'payout', 'transaction', 'transfer'].map((table) => `${table} written_now`),
        // Of the roles in a workspace, the entries are for that workspace alone.
        'directory_change readable',
        // Narrower than the list, because valid records stay.
        // Finds who has the money of an entry: for the owner alone.
        'deposit found_by_worker',
        // Finds payouts to compare with the bank, whose ever they are: for the owner alone.
        'discrepancy found_by_worker',
        // Find what is to be delivered, whose ever it is: for the owner alone.
        ...['event', 'webhook_delivery', 'webhook_endpoint'].map((table) => `${table} found_by_worker`),
        // Counts what waits for a decision, whose ever it is: for the owner alone.
        'payout held_found',
        // Finds and deletes what has expired, whose ever it is: for the owner alone.
        'idempotency expired',
        'idempotency renewed_when_expired',
        // Finds the invitations of a code or an address, whose ever they are: for the owner alone.
        'member found_by_invitee',
        // Of a whole app, whose workspaces may be too many for a list that is parsed for each row.
        // Finds a key by its id, whose ever it is: for the owner alone.
        ...['service_account', 'service_account_key'].map((table) => `${table} found_by_key`),
        'workspace_role of_app',
        // Compares the roles of all workspaces with their copies: for the owner alone.
        'workspace_role compared',
        'workspace_role workspaces',
      ].sort(),
    );
  });
});

it('has ids above zero that are exact in JSON in each table', async () => {
  const { rows } = await world.owner.query<{ name: string }>(
    `select c.relname as name from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attname = 'id' and a.atttypid = 'bigint'::regtype
     where c.relnamespace = 'banking'::regnamespace and c.relkind = 'r' and not exists (
       select from pg_constraint k where k.conrelid = c.oid and k.contype = 'c' and pg_get_constraintdef(k.oid) ~ 'id >= 1.*id <= .?9007199254740991')`,
  );

  expect(rows).toEqual([]);
});

describe('a generic plan', () => {
  it('is the same whether it is made for a workspace with all rows of a table or for one without', async () => {
    const { owner } = world;
    await owner.query('begin');
    await owner.query('set local session_replication_role = replica');
    await owner.query(
      `insert into payout (workspace_id, transaction_id, rail) select 1, n, 'sandbox' from generate_series(1, 2000) n`,
    );
    await owner.query('analyze payout');
    await owner.query('set local role banking_api');
    await owner.query('set local plan_cache_mode = force_generic_plan');

    const plans: string[] = [];
    for (const workspace of [1, 2]) {
      await owner.query(`select set_config('app.workspaces', $1, true)`, [`{${workspace}}`]);
      await owner.query(
        'prepare one (bigint) as select status from payout where workspace_id = $1 and transaction_id = 7',
      );
      const { rows } = await owner.query<{ 'QUERY PLAN': string }>('explain execute one (1)');
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      await owner.query('deallocate one');
    }
    await owner.query('rollback');

    expect(plans[0]).toContain('payout_pkey');
    expect(plans[1]).toBe(plans[0]);
  });
});

describe('a time of writing', () => {
  const EARLY = '2026-11-24 10:00:00+00';
  const LATE = '2026-11-24 10:00:05+00';

  it.each([
    ['the clock goes on', EARLY, LATE],
    ['the clock of the server steps back inside a database transaction', LATE, EARLY],
  ])(
    'is that of the database transaction or of the statement, or a second before: %s',
    async (_what, transaction, statement) => {
      const { rows: policies } = await world.owner.query<{ name: string; rule: string }>(
        `select c.relname as name, pg_get_expr(p.polwithcheck, p.polrelid) as rule
       from pg_policy p join pg_class c on c.oid = p.polrelid where p.polname = 'written_now'`,
      );
      expect(policies.length).toBeGreaterThan(3);
      for (const { name, rule } of policies) {
        const at = rule
          .replaceAll('statement_timestamp()', `timestamptz '${statement}'`)
          .replaceAll('now()', `timestamptz '${transaction}'`);
        const { rows } = await world.owner.query<{ accepted: boolean }>(
          `select ${at} as accepted from unnest($1::timestamptz[]) with ordinality t (created_at, nth), lateral (select t.created_at as updated_at) u
         order by t.nth`,
          [[EARLY, LATE, '2026-11-24 09:59:59+00', '2026-11-24 09:59:58+00', '2026-11-24 10:00:06+00']],
        );
        // The books may be ahead of the clock: the functions that write them compare their accounts.
        const isLaterAccepted = name !== 'customer_order';
        expect({ name, accepted: rows.map(({ accepted }) => accepted) }).toEqual({
          name,
          accepted: [true, true, true, false, isLaterAccepted],
        });
      }
    },
  );
});

describe('an id', () => {
  it('comes from a sequence of safe integers', async () => {
    expect(
      await names(
        `select sequencename as name from pg_sequences where schemaname = '${SCHEMA}' and max_value <> 9007199254740991`,
      ),
    ).toEqual([]);
    expect(
      await names(
        `select c.relname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
         where c.relnamespace = '${SCHEMA}'::regnamespace and a.attidentity <> ''`,
      ),
    ).toEqual([]);
  });
});
