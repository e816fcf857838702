import {
  API_ROLE,
  OPERATOR_ROLE,
  OWNER_ROLE,
  PROVISIONING_ROLE,
  ROLES,
  SCHEMA,
  RULE_VIOLATION,
  SQLSTATE,
  VERIFIER_ROLE,
  WORKER_ROLE,
} from '@banking/postgres';
import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';
import { ATTACKS } from './testing/trigger-attacks.js';
import { type CatalogFunction, FUNCTIONS } from './testing/catalog-functions.js';

const PINNED = 'search_path=banking, pg_temp';

/** In the order of their names, as the catalog has them. */
const WORKING = [OPERATOR_ROLE, WORKER_ROLE];
const WRITING = [API_ROLE, ...WORKING];
const SERVING = [API_ROLE, OPERATOR_ROLE, VERIFIER_ROLE, WORKER_ROLE];
const ALL = [API_ROLE, OPERATOR_ROLE, PROVISIONING_ROLE, VERIFIER_ROLE, WORKER_ROLE];

/** Functions that run with the rights of the owner: their settings, and the roles that may call them or make triggers of them. */
const DEFINER_FUNCTIONS = [
  { name: 'accept_invitation', settings: [PINNED], executableBy: WRITING },
  { name: 'add_service_account', settings: [PINNED], executableBy: WRITING },
  { name: 'analyze_next_table', settings: [PINNED, 'lock_timeout=50ms'], executableBy: SERVING },
  { name: 'announce_deposits', settings: [PINNED], executableBy: WORKING },
  { name: 'apply_reference_changes', settings: [PINNED], executableBy: WORKING },
  { name: 'approvals_due', settings: [PINNED], executableBy: WORKING },
  { name: 'assign_deposit', settings: [PINNED], executableBy: [OPERATOR_ROLE] },
  { name: 'bind_subject', settings: [PINNED], executableBy: WRITING },
  { name: 'chain_directory_change', settings: [PINNED], executableBy: [] },
  { name: 'change_member', settings: [PINNED], executableBy: WRITING },
  { name: 'change_reference_version', settings: [PINNED], executableBy: [] },
  { name: 'change_service_account', settings: [PINNED], executableBy: WRITING },
  { name: 'claim_webhook_endpoints', settings: [PINNED], executableBy: WORKING },
  { name: 'contradicted_payouts', settings: [PINNED], executableBy: WORKING },
  { name: 'count_unrecorded_audit', settings: [PINNED], executableBy: SERVING },
  { name: 'count_webhook_secrets', settings: [PINNED], executableBy: [OPERATOR_ROLE] },
  { name: 'delete_audit_events', settings: [PINNED], executableBy: WORKING },
  { name: 'delete_counted_payments', settings: [PINNED], executableBy: WORKING },
  {
    name: 'delete_expired_keys',
    settings: [PINNED, 'plan_cache_mode=force_custom_plan', 'enable_sort=off'],
    executableBy: WORKING,
  },
  { name: 'delete_old_deliveries', settings: [PINNED], executableBy: WORKING },
  { name: 'delete_old_events', settings: [PINNED, 'enable_sort=off'], executableBy: WORKING },
  { name: 'delete_service_account', settings: [PINNED], executableBy: WRITING },
  { name: 'delete_service_user', settings: [PINNED], executableBy: WRITING },
  { name: 'deposits_of_entries', settings: [PINNED], executableBy: WORKING },
  { name: 'directory_chain', settings: [PINNED], executableBy: SERVING },
  {
    name: 'directory_digests',
    settings: [PINNED, 'TimeZone=UTC', 'DateStyle=ISO', 'bytea_output=hex'],
    executableBy: [OPERATOR_ROLE, VERIFIER_ROLE],
  },
  { name: 'directory_head', settings: [PINNED], executableBy: SERVING },
  { name: 'end_approved_order', settings: [PINNED], executableBy: [] },
  { name: 'entries_of_deposits', settings: [PINNED], executableBy: SERVING },
  {
    name: 'erase_personal_data',
    settings: [PINNED, 'plan_cache_mode=force_custom_plan', 'enable_sort=off'],
    executableBy: [OPERATOR_ROLE],
  },
  {
    name: 'erase_unused_personal_data',
    settings: [PINNED, 'plan_cache_mode=force_custom_plan', 'enable_sort=off'],
    executableBy: WORKING,
  },
  { name: 'find_key', settings: [PINNED], executableBy: WRITING },
  {
    name: 'find_unused_personal_data',
    settings: [PINNED, 'plan_cache_mode=force_custom_plan', 'enable_sort=off'],
    executableBy: WORKING,
  },
  { name: 'follow_approval', settings: [PINNED], executableBy: [] },
  { name: 'guard_payments', settings: [PINNED], executableBy: [] },
  { name: 'held_payouts', settings: [PINNED], executableBy: SERVING },
  { name: 'hold_limits', settings: [PINNED], executableBy: WRITING },
  { name: 'invitation_to', settings: [PINNED], executableBy: [OPERATOR_ROLE] },
  { name: 'invite_member', settings: [PINNED], executableBy: WRITING },
  { name: 'keep_administrator', settings: [PINNED], executableBy: [] },
  { name: 'lock_limits', settings: [PINNED], executableBy: WRITING },
  { name: 'lock_payouts', settings: [PINNED], executableBy: WORKING },
  { name: 'lock_role', settings: [PINNED], executableBy: WRITING },
  { name: 'lock_service_account', settings: [PINNED], executableBy: WRITING },
  { name: 'may_invite', settings: [PINNED], executableBy: WRITING },
  { name: 'note_account', settings: [PINNED], executableBy: [] },
  { name: 'note_deposit', settings: [PINNED], executableBy: [] },
  { name: 'note_insertions', settings: [PINNED], executableBy: [] },
  { name: 'note_key_use', settings: [PINNED], executableBy: WRITING },
  { name: 'note_member', settings: [PINNED], executableBy: [] },
  { name: 'note_payments', settings: [PINNED, 'enable_sort=off'], executableBy: WRITING },
  { name: 'note_service_account', settings: [PINNED], executableBy: [] },
  { name: 'note_updates', settings: [PINNED, 'enable_nestloop=off', 'enable_mergejoin=off'], executableBy: [] },
  { name: 'note_webhook_endpoint', settings: [PINNED], executableBy: [] },
  { name: 'operator_requester', settings: [PINNED], executableBy: [OPERATOR_ROLE] },
  {
    name: 'personal_data_of',
    settings: [PINNED, 'plan_cache_mode=force_custom_plan', 'enable_sort=off'],
    executableBy: [OPERATOR_ROLE],
  },
  { name: 'place_orders', settings: [PINNED], executableBy: WRITING },
  { name: 'post_arrivals', settings: [PINNED], executableBy: WORKING },
  { name: 'post_bank_deposits', settings: [PINNED], executableBy: WORKING },
  { name: 'post_deposits', settings: [PINNED], executableBy: [OPERATOR_ROLE] },
  { name: 'post_payments', settings: [PINNED], executableBy: WRITING },
  { name: 'post_returns', settings: [PINNED], executableBy: WORKING },
  { name: 'post_sandbox_deposits', settings: [PINNED], executableBy: WORKING },
  { name: 'put_service_user', settings: [PINNED], executableBy: WRITING },
  { name: 'queue_removed_placer', settings: [PINNED], executableBy: WRITING },
  { name: 'record_audit', settings: [PINNED], executableBy: WORKING },
  { name: 'record_changes', settings: [PINNED], executableBy: WORKING },
  { name: 'record_reference_change', settings: [PINNED], executableBy: [OPERATOR_ROLE] },
  { name: 'record_webhook_attempts', settings: [PINNED], executableBy: WORKING },
  { name: 'replace_limits', settings: [PINNED], executableBy: WRITING },
  { name: 'requests_naming', settings: [PINNED], executableBy: [OPERATOR_ROLE] },
  { name: 'require_account_of_key', settings: [PINNED], executableBy: [] },
  { name: 'require_administrator', settings: [PINNED], executableBy: [] },
  { name: 'require_approved_decision', settings: [PINNED], executableBy: [] },
  { name: 'require_approved_end', settings: [PINNED], executableBy: [] },
  { name: 'require_approved_ignoring', settings: [PINNED], executableBy: [] },
  { name: 'require_approved_payout', settings: [PINNED], executableBy: [] },
  { name: 'require_approved_resolution', settings: [PINNED], executableBy: [] },
  { name: 'require_approved_resumption', settings: [PINNED], executableBy: [] },
  { name: 'require_requested_resumption', settings: [PINNED], executableBy: [] },
  { name: 'require_second_operator', settings: [PINNED], executableBy: [] },
  { name: 'reseal_webhook_secret', settings: [PINNED], executableBy: WORKING },
  { name: 'return_deposit', settings: [PINNED], executableBy: [OPERATOR_ROLE] },
  { name: 'reverse_bank_deposits', settings: [PINNED], executableBy: WORKING },
  { name: 'revoke_keys_without_role', settings: [PINNED], executableBy: [] },
  { name: 'rotate_webhook_secret', settings: [PINNED], executableBy: WRITING },
  { name: 'schedule_webhook_endpoint', settings: [PINNED], executableBy: [] },
  { name: 'schedule_webhooks_of_events', settings: [PINNED], executableBy: [] },
  { name: 'settle_payments', settings: [PINNED], executableBy: WORKING },
  { name: 'store_answers', settings: [PINNED], executableBy: WRITING },
  { name: 'trail_account', settings: [PINNED], executableBy: [] },
  { name: 'trail_directory', settings: [PINNED], executableBy: [] },
  { name: 'trail_order', settings: [PINNED], executableBy: [] },
  { name: 'trail_payout_stop', settings: [PINNED], executableBy: [] },
  { name: 'unrecorded_resources', settings: [PINNED], executableBy: SERVING },
  { name: 'wake_webhook_endpoints', settings: [PINNED], executableBy: WRITING },
  { name: 'webhook_backlog', settings: [PINNED], executableBy: SERVING },
  { name: 'webhook_endpoints_due', settings: [PINNED], executableBy: WORKING },
  { name: 'webhook_secrets_of_keys', settings: [PINNED], executableBy: WORKING },
  { name: 'withdraw_invitations', settings: [PINNED], executableBy: [] },
  { name: 'withdraw_operator_request', settings: [PINNED], executableBy: [OPERATOR_ROLE] },
  { name: 'withdraw_reference_changes', settings: [PINNED], executableBy: [OPERATOR_ROLE] },
  { name: 'workspaces_to_audit', settings: [PINNED], executableBy: WORKING },
  { name: 'workspaces_with_old_deliveries', settings: [PINNED], executableBy: WORKING },
];

/** Functions with the rights of their caller that a role calls. All others are functions of triggers, which need no right to run. */
const CALLED: Readonly<Record<string, readonly string[]>> = {
  'addresses_of_user(bigint)': [OPERATOR_ROLE],
  'amount_in(integer,converted_amount[])': SERVING,
  'applying_rules(bigint,text,bigint,bigint,bigint,timestamp with time zone)': SERVING,
  'approval_requirements(bigint,text,bigint,bigint,bigint,timestamp with time zone)': SERVING,
  'approval_rules_in_force(bigint)': SERVING,
  'deciders(bigint,bigint[])': SERVING,
  'deciding_roles(bigint,bigint,bigint[])': SERVING,
  'email_of_request(text)': SERVING,
  'has_approvals(bigint,bigint)': SERVING,
  'idempotency_retention()': SERVING,
  'is_approvable(bigint,jsonb,bigint[])': SERVING,
  'is_payment_approved(bigint,bigint)': SERVING,
  'limited_types()': SERVING,
  'makers_of(bigint,bigint)': SERVING,
  'may_take_over(bigint,bigint,bigint)': SERVING,
  'take_approval(bigint,text,jsonb,text[])': SERVING,
  'are_audit_entries(jsonb)': SERVING,
  'are_limits_raised(stored_limit[],stored_limit[])': SERVING,
  'audit_operator()': [OPERATOR_ROLE],
  'audit_content(bigint,bigint,text,text,text,integer,text,bigint,bigint,jsonb,text,text,timestamp with time zone)':
    SERVING,
  'beneficiary_of(bigint,bigint)': SERVING,
  'counted_amount(limited_payment,payment_limit)': SERVING,
  'erased_beneficiary(jsonb,bigint)': SERVING,
  'erased_email(bigint)': ALL,
  'erased_request(text)': SERVING,
  'execution_of_payment(bigint,bigint)': SERVING,
  'recipient_of_request(text,text,bigint)': SERVING,
  'has_forbidden_character(json)': ALL,
  'has_forbidden_character(jsonb)': ALL,
  'has_forbidden_character(text)': ALL,
  'has_role(bigint,bigint,text)': SERVING,
  'hold_accounts(held_account[],held_payment[],bigint[],timestamp with time zone)': WRITING,
  'hold_credit_entries(bigint[],text)': WORKING,
  'hold_work(bigint,text,bigint,bigint)': WRITING,
  'is_certain_credit(bank_entry)': WORKING,
  'is_returned_credit(bank_entry)': WORKING,
  'is_served_here(bigint)': SERVING,
  'limit_json(payment_limit)': SERVING,
  'limit_period(text,timestamp with time zone,text)': SERVING,
  'limits_of(bigint)': SERVING,
  'may_be_one_credit(bank_entry,bank_entry)': WORKING,
  'member_status(member)': SERVING,
  'next_audit_hash(text,text,jsonb)': SERVING,
  'operator_name()': [OPERATOR_ROLE],
  'order_of_reference(bigint,text)': SERVING,
  'pause_required(bigint,bigint)': SERVING,
  'payment_versions(bigint[],bigint[])': SERVING,
  'persons_behind(bigint,bigint)': SERVING,
  'precedes_credit(bank_entry,bank_entry)': WORKING,
  'reference_of_entry(text,text)': WORKING,
  'rejected_three_in_a_row(bigint,bigint,timestamp with time zone)': SERVING,
  'require_open_workspaces(text)': SERVING,
  'reverses_entry(bank_entry,bank_entry)': WORKING,
  'rfc3339(timestamp with time zone)': ALL,
  'used_of_limits(bigint,bigint[],timestamp with time zone,timestamp with time zone)': SERVING,
  'salted_digest(bytea,text[])': SERVING,
  'workspace_lock_key(bigint)': SERVING,
};

let world: FreshDatabase;
let functions: readonly CatalogFunction[];

beforeAll(async () => {
  world = await freshDatabase();
  ({ rows: functions } = await world.owner.query<CatalogFunction>(FUNCTIONS));
  await world.owner.query(`
    insert into currency (id, code, name, decimals) values (978, 'EUR', 'Euro', 2);
    insert into product (id, name, currency_id) values (1, 'Current', 978);
    insert into app (id, name) values (1, 'Bank');
    insert into workspace (id, app_id, name) values (1, 1, 'One');
    insert into app_user (id, email) values (1, 'ada@bank.example'), (2, 'bob@bank.example');
    insert into account (workspace_id, id, kind, currency_id, product_id, name, type, code) values (1, 1, 'customer', 978, 1, 'Ada', 'CACC', 'A');
    insert into account (workspace_id, id, kind, currency_id, name, type, code) values (1, 2, 'settlement', 978, 'Ours', 'CACC', 'B');`);
});
afterAll(() => world.close());

/** Runs SQL as a role of the service, with settings that an attacker may change, and rolls it back. */
async function as(role: string, statements: readonly string[]): Promise<void> {
  await world.owner.query('begin');
  try {
    await world.owner.query(`set local role ${role}; set local app.workspaces = '{1}'`);
    for (const text of statements) await world.owner.query(text);
  } finally {
    await world.owner.query('rollback');
  }
}

describe('the functions of the schema', () => {
  it('with the rights of the owner are listed, have a fixed search path, and are granted as listed', () => {
    const found = functions.filter(({ isDefiner }) => isDefiner);

    expect(found.map(({ name, settings, executableBy }) => ({ name, settings, executableBy }))).toEqual(
      DEFINER_FUNCTIONS,
    );
    expect(new Set(found.map(({ owner }) => owner))).toEqual(new Set([OWNER_ROLE]));
  });

  it('without those rights are executable only by the roles that call them', () => {
    const executable = functions.filter(({ isDefiner, executableBy }) => !isDefiner && executableBy.length > 0);

    expect(Object.fromEntries(executable.map(({ signature, executableBy }) => [signature, executableBy]))).toEqual(
      CALLED,
    );
  });

  it('in triggers, constraints, defaults and policies are executable by the role that writes', async () => {
    const { rows } = await world.owner.query<{ signature: string }>(
      `select distinct p.oid::regprocedure::text as signature
         from pg_depend d join pg_proc p on d.refclassid = 'pg_proc'::regclass and p.oid = d.refobjid
        where d.classid in ('pg_trigger'::regclass, 'pg_constraint'::regclass, 'pg_attrdef'::regclass, 'pg_policy'::regclass)
          and p.pronamespace = '${SCHEMA}'::regnamespace and p.prorettype <> 'trigger'::regtype
          and not has_function_privilege('${API_ROLE}', p.oid, 'execute')`,
    );

    expect(rows).toEqual([]);
  });

  it('are not executable without a grant after a migration adds them', async () => {
    await world.owner.query(
      `begin; set local role ${OWNER_ROLE}; create function added() returns int language sql return 1`,
    );

    const { rows } = await world.owner.query<CatalogFunction>(FUNCTIONS);
    await world.owner.query('rollback');

    expect(rows.find(({ name }) => name === 'added')?.executableBy).toEqual([]);
  });
});

describe.each(ROLES)('an attacker with the rights of %s', (role) => {
  const allow = async (right: string) => {
    const { rows } = await world.owner.query<{ name: string }>('select quote_ident(current_database()) as name');
    await world.owner.query(`grant ${right} on database ${rows[0]?.name} to ${role}`);
  };
  const trigger = () => functions.filter(({ isDefiner, isTrigger }) => isDefiner && isTrigger).map(({ name }) => name);

  it('has an attack for each trigger function', () => {
    expect(Object.keys(ATTACKS)).toEqual(trigger());
  });

  it('cannot create a temporary table', async () => {
    await expect(as(role, ['create temporary table bait ()'])).rejects.toMatchObject({
      code: SQLSTATE.insufficientPrivilege,
    });
  });

  describe('who can create temporary tables and schemas', () => {
    beforeAll(() => allow('temporary, create'));

    const places: readonly [string, readonly string[], string][] = [
      ['a temporary table', [], 'pg_temp.bait'],
      ['a table in a schema of their own', ['create schema lair'], 'lair.bait'],
    ];

    describe.each(Object.keys(ATTACKS))('and uses the function %s', (name) => {
      it.each(places)('cannot attach it to %s', async (_, prepare, table) => {
        const attack = as(role, [...prepare, ...ATTACKS[name]!(table)]);

        await expect(attack).rejects.toThrow(new RegExp(`^permission denied for function (banking[.])?${name}$`));
      });

      it.each(places)('is refused by it on %s, with the right to execute it', async (_, prepare, table) => {
        await world.owner.query(`grant execute on function ${name}() to ${role}`);

        const attack = as(role, [...prepare, ...ATTACKS[name]!(table)]);

        await expect(attack).rejects.toMatchObject({ code: RULE_VIOLATION.foreignTrigger });
        await world.owner.query(`revoke execute on function ${name}() from ${role}`);
      });

      it('cannot call it', async () => {
        await expect(as(role, [`select banking.${name}()`])).rejects.toMatchObject({
          code: SQLSTATE.insufficientPrivilege,
        });
      });
    });

    it('cannot shadow tables for functions of the owner', async () => {
      const shadow = `create temporary table app_user as select 1::bigint as id, 'mallory@evil.example' as email`;
      const bind = `select bind_subject('https://id.example', 'm', 'mallory@evil.example') as bound`;

      await world.owner.query(`begin; set local role ${role}; ${shadow}; set local search_path = pg_temp, banking`);
      await world.owner.query(`reset role; set local role ${API_ROLE}`);
      const { rows } = await world.owner.query(bind);
      await world.owner.query('rollback');

      expect(rows).toEqual([{ bound: null }]);
    });
  });
});

describe('the function that binds a subject', () => {
  const bind = (subject: string, email = 'bob@bank.example', issuer = 'https://id.example') =>
    `select bind_subject('${issuer}', '${subject}', '${email}') as bound`;
  const bound = async () => (await world.owner.query('select issuer, subject, user_id from user_identity')).rows;

  it('binds at most one subject of an issuer to a user', async () => {
    await world.owner.query(`set role ${API_ROLE}`);
    const answers = [];
    for (const text of [
      bind('one', 'unknown@bank.example'),
      bind('one'),
      bind('two'),
      bind('one', 'ada@bank.example'),
    ]) {
      answers.push((await world.owner.query<{ bound: bigint | null }>(text)).rows[0]?.bound);
    }
    await world.owner.query('reset role');

    expect(answers).toEqual([null, 2n, null, null]);
    expect(await bound()).toEqual([{ issuer: 'https://id.example', subject: 'one', user_id: 2n }]);
  });

  it('is the only way for the role of the service to write a subject', async () => {
    const other = `insert into user_identity (issuer, subject, user_id) values ('https://id.example', 'x', 1)`;
    const moved = `update user_identity set user_id = 1`;

    await expect(as(API_ROLE, [other])).rejects.toMatchObject({ code: SQLSTATE.insufficientPrivilege });
    await expect(as(API_ROLE, [moved])).rejects.toMatchObject({ code: SQLSTATE.insufficientPrivilege });
    await expect(as(PROVISIONING_ROLE, [moved])).rejects.toMatchObject({ code: SQLSTATE.insufficientPrivilege });
    await expect(as(PROVISIONING_ROLE, [bind('x', 'ada@bank.example')])).rejects.toMatchObject({
      code: SQLSTATE.insufficientPrivilege,
    });
  });
});
