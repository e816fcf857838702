import type { AccountId, Scope, UserId, WorkspaceId } from '@banking/domain';
import { keepRows, plant, sql } from '@banking/postgres/testing';
import { recordAudit } from '../audit/record-audit.js';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { resumePausedOrder } from '../provisioning/index.js';
import { addApp } from '../provisioning/workspaces.js';
import { verifyPayments, verifyPlanted } from '../testing/order-world.js';
import { demoDatabase } from '../testing/test-databases.js';
import {
  ACCOUNT_TRAIL,
  AUDIT_CHAIN,
  AUDIT_ENTRIES,
  DIRECTORY_CHECK,
  ORDER_TRAIL,
  verifyDirectory,
} from './verify-trails.js';

let world: Awaited<ReturnType<typeof demoDatabase>>;
let northwind: number;

let restore: () => Promise<void>;

afterEach(() => restore());

describe('the chain of the audit trail', () => {
  let scope: Scope & { workspaceId: WorkspaceId };
  let opened: Awaited<ReturnType<LedgerBankingService['openAccount']>>;

  beforeAll(async () => {
    world = await demoDatabase();
    const service = new LedgerBankingService(world.database, world.books);
    scope = {
      actor: world.demo.users['ada@northwind.example'] as UserId,
      workspaceId: world.demo.workspaces['Northwind Trading'] as WorkspaceId,
    };
    for (let count = 0; count < 5; count += 1) opened = await service.openAccount(scope, { productID: 1 as never });
    await service.changeAccount(scope, { accountId: opened.resource.id, alias: 'Payroll' });
    while ((await recordAudit(world.database)) > 0);
    restore = await keepRows(world.owner);
  });

  afterAll(() => world.close());

  const verify = () => verifyPayments(world.database, [scope.workspaceId]);

  const OF = () => `workspace_id = ${scope.workspaceId}`;

  const ofAccount = (operation: string) =>
    `delete from audit_event where ${OF()} and operation = '${operation}' and resource_id = ${opened.resource.id}`;

  const ofOrder = () =>
    `insert into customer_order (workspace_id, id, account_id, recipient_id, amount, type, status)
   values (${scope.workspaceId}, 777, ${opened.resource.id}, 1, 1, 'instant', 'cancelled')`;

  it('has no finding if it is unchanged', async () => {
    expect(await verify()).toEqual([]);
  });

  it.each<[string, () => string, readonly RegExp[]]>([
    [
      'an entry is changed',
      () => `update audit_event set user_id = 9 where ${OF()} and id = 3`,
      [/^entry 3 of the audit trail is not as its hash says$/],
    ],
    [
      'an entry is deleted',
      () => `delete from audit_event where ${OF()} and id = 3`,
      [/^entry 4 of the audit trail does not follow another one$/],
    ],
    [
      'the last entry is deleted',
      () => `delete from audit_event where ${OF()} and id = (select max(id) from audit_event where ${OF()})`,
      [/^the audit trail does not end with entry \d+$/],
    ],
    [
      'the first entry is deleted',
      () => `delete from audit_event where ${OF()} and id = 1`,
      [/^entry 2 of the audit trail does not follow another one$/],
    ],
  ])('has a finding if %s', async (_what, fault, details) => {
    await plant(world.owner, fault());

    const findings = (await verify()).filter(({ check }) => check === AUDIT_CHAIN.check);
    expect(findings).toEqual(
      details.map((detail) => ({
        check: AUDIT_CHAIN.check,
        workspaceId: scope.workspaceId,
        detail: expect.stringMatching(detail) as string,
      })),
    );
  });

  it('has a finding if its beginning is cut, also if the time of the cut is not written', async () => {
    const cut = (at: string) =>
      plant(
        world.owner,
        `update audit_head h set start_id = 5, start_hash = e.hash, start_at = ${at} from audit_event e
        where h.${OF()} and e.workspace_id = h.workspace_id and e.id = 5; delete from audit_event where ${OF()} and id <= 5`,
      );
    const detail = 'the audit trail begins after entry 5, which was not a year old';

    await cut('null');
    expect(await verify()).toContainEqual({ check: AUDIT_CHAIN.check, workspaceId: scope.workspaceId, detail });
    await plant(world.owner, `update audit_head set start_at = now() where ${OF()}`);
    expect(await verify()).toContainEqual({ check: AUDIT_CHAIN.check, workspaceId: scope.workspaceId, detail });
  });

  it.each([
    [
      'trail',
      () => `delete from audit_event where ${OF()}; delete from audit_head where ${OF()}`,
      /^(account|order) \d+ has (no entry in|1 changes, and fewer entries in) the audit trail$/,
    ],
    ['entry of an account', () => ofAccount('openAccount'), /^account \d+ has no entry in the audit trail$/],
    ['entry of a change', () => ofAccount('changeAccount'), /^account \d+ has 1 changes, and fewer entries/],
    ['entry of an order', () => ofOrder(), /^order 777 has no entry in the audit trail$/],
  ])('has a finding if a workspace has no %s', async (_what, fault, detail) => {
    const ofEntries = async () => (await verify()).filter(({ check }) => check === AUDIT_ENTRIES.check);
    expect(await ofEntries()).toEqual([]);

    await plant(world.owner, fault());

    const findings = await ofEntries();
    expect(findings.length).toBeGreaterThan(0);
    for (const finding of findings) expect(finding.detail).toMatch(detail);
  });

  it('may have entries that are not recorded yet', async () => {
    await plant(
      world.owner,
      `insert into audit_outbox (workspace_id, entries) select workspace_id, jsonb_build_array(jsonb_build_object('operation',
      operation, 'outcome', outcome, 'actor', actor, 'resourceType', resource_type, 'resourceId', resource_id))
      from audit_event where ${OF()}; delete from audit_event where ${OF()}; delete from audit_head where ${OF()}`,
    );

    expect(await verify()).toEqual([]);
  });

  it('continues from the last of the old entries, which are deleted', async () => {
    const { owner } = world;
    const old = `created_at < statement_timestamp() - interval '10 years'`;
    // Rewrites the chain with two old entries, as a superuser can.
    await plant(
      world.owner,
      `update audit_event set created_at = created_at - interval '11 years' where ${OF()} and id <= 2`,
    );
    await plant(
      world.owner,
      `update audit_event e set hash = next_audit_hash(null, repeat('0', 64), audit_content(e.workspace_id, e.id, e.operation,
      e.outcome, e.reason, e.count, e.resource_type, e.resource_id, e.user_id, e.actor, e.request_id, e.source_address, e.created_at))
      where ${OF()} and id = 1`,
    );
    const before = await owner.query<{ id: bigint }>(`select id from audit_event where ${OF()} and ${old}`);

    const { rows } = await owner.query<{ deleted: number }>(
      `select set_config('app.workspaces', '{${scope.workspaceId}}', false), delete_audit_events(3650, 100) as deleted`,
    );

    expect([before.rows.length, rows[0]?.deleted]).toEqual([2, 2]);
    const { rows: heads } = await owner.query(`select start_id::int from audit_head where ${OF()}`);
    expect(heads).toEqual([{ start_id: 2 }]);
    expect(await verify()).toEqual([]);
    await expect(owner.query(`delete from audit_event where ${OF()} and id = 3`)).rejects.toMatchObject({
      code: 'BK003',
    });
    await expect(owner.query('select delete_audit_events(364, 100)')).rejects.toMatchObject({ code: 'BK003' });
  });
});

describe('verify trails', () => {
  let account: number;

  beforeAll(async () => {
    world = await demoDatabase();
    northwind = world.demo.workspaces['Northwind Trading']!;
    account = world.demo.accounts['Northwind Trading EUR']!;
    restore = await keepRows(world.owner);
  });

  afterAll(() => world.close());

  const all = () => Object.values(world.demo.workspaces);

  describe('the audit trail of an account with three changes', () => {
    beforeEach(async () => {
      const service = new LedgerBankingService(world.database, world.books);
      const scope = {
        actor: world.demo.users['ada@northwind.example'] as UserId,
        workspaceId: northwind as WorkspaceId,
      };
      const accountId = account as AccountId;
      await service.changeAccount(scope, { accountId, alias: 'Rent' });
      await service.changeAccount(scope, { accountId, status: 'disabled' });
      await service.changeAccount(scope, { accountId, status: 'enabled', alias: 'Wages' });
    });

    const CHANGES = `select id from account_change where account_id = `;

    it('has no finding if it is unchanged', async () => {
      expect(await verifyPayments(world.database, all())).toEqual([]);
    });

    it.each<[string, (id: number) => string, RegExp]>([
      [
        'an entry in the middle is deleted',
        (id) => `delete from account_change where id = (${CHANGES}${id} order by id offset 1 limit 1)`,
        /^account \d+ has a trail with a gap before entry \d+$/,
      ],
      [
        'the first entries are deleted',
        (id) => `delete from account_change where id in (${CHANGES}${id} order by id limit 2)`,
        /^account \d+ has a trail with a gap before entry \d+$/,
      ],
      [
        'the last entry is deleted',
        (id) => `delete from account_change where id = (${CHANGES}${id} order by id desc limit 1)`,
        /^account \d+ is not as its trail ends$/,
      ],
      [
        'its alias is changed without an entry',
        (id) => `update account set alias = 'Mine' where id = ${id}`,
        /^account \d+ is not as its trail ends$/,
      ],
      [
        'another account is disabled without an entry',
        (id) => `update account set status = 'disabled' where id = (
         select max(id) from account where workspace_id = (select workspace_id from account where id = ${id}) and kind = 'customer' and status = 'enabled' and id <> ${id})`,
        /^account \d+ is disabled, and its trail is empty$/,
      ],
    ])('has a finding if %s', async (_what, fault, detail) => {
      await plant(world.owner, fault(account));

      expect(await verifyPlanted(world.database, all())).toEqual([
        { check: ACCOUNT_TRAIL.check, workspaceId: northwind, detail: expect.stringMatching(detail) },
      ]);
    });
  });

  describe('the audit trail of an order that was paused and given to another user', () => {
    let orderId: number;
    beforeEach(async () => {
      const { rows } = await world.owner.query<{ id: bigint }>(
        `select id from customer_order where status = 'active' order by id limit 1`,
      );
      orderId = Number(rows[0]!.id);
      await world.database.pipeline({ workspaces: [northwind] }, [
        sql(`update customer_order set paused_at = now(), pause_reason = 'placer_without_role' where id = $1`, orderId),
      ]);
      await resumePausedOrder(world.database, {
        workspaceId: northwind,
        orderId,
        placer: 'ada@northwind.example',
      });
    });

    it('has no finding if it is unchanged', async () => {
      expect(await verifyPayments(world.database, all())).toEqual([]);
    });

    it.each<[string, (id: number) => string, RegExp]>([
      [
        'an entry is deleted',
        (id) => `delete from order_change where id = (select max(id) from order_change where order_id = ${id})`,
        /^order \d+ is not as its trail ends$/,
      ],
      [
        'an entry is changed',
        (id) =>
          `update order_change set after = after || '{"placedBy": 9}' where id = (select min(id) from order_change where order_id = ${id})`,
        /^order \d+ has a trail with a gap before entry \d+$/,
      ],
      [
        'it gets another placer without an entry',
        (id) => `update customer_order set placed_by = 9 where id = ${id}`,
        /^order \d+ is not as its trail ends$/,
      ],
    ])('has a finding if %s', async (_what, fault, detail) => {
      await plant(world.owner, fault(orderId));

      expect(await verifyPlanted(world.database, all())).toEqual([
        { check: ORDER_TRAIL.check, workspaceId: northwind, detail: expect.stringMatching(detail) },
      ]);
    });
  });

  describe('the audit trail of the directory', () => {
    it('has no finding if it is unchanged', async () => {
      await world.owner.query(`delete from app_user where email = 'ada@northwind.example'`);

      expect(await verifyDirectory(world.database, all())).toEqual([]);
    });

    it.each([
      ['an app is renamed', `update app set name = name || '!' where id = 1`, /^app with id 1 is not as its latest/],
      [
        'an e-mail is changed',
        `update app_user set email = 'eve@evil.example' where id = 1`,
        /^app_user with id 1 is not/,
      ],
      [
        'a role is raised',
        `update workspace_role set role = 'viewer' where role = 'member'`,
        /^workspace_role with id \d+ is not/,
      ],
      [
        'a role is added',
        `insert into workspace_role (workspace_id, user_id, role) values (1, 999, 'admin')`,
        /^workspace_role with id \d+ has no entry in the trail$/,
      ],
      [
        'a membership is deleted',
        `delete from app_membership where user_id = 1`,
        /^app_membership with user_id 1 is not there/,
      ],
      ['a workspace is deleted', `delete from workspace where id = 2`, /^workspace with id 2 is not there/],
      [
        'a subject is bound',
        `insert into user_identity (issuer, subject, user_id) values ('https://evil.example', 'eve', 1)`,
        /^user_identity with user_id 1 has no entry in the trail$/,
      ],
      [
        'a user who was deleted is there again',
        `insert into directory_change (changed_by, relation, action, record, hash) select 'eve', 'app_user', 'delete', record, repeat('0', 64) from directory_change where relation = 'app_user' and record ->> 'id' = '1'`,
        /^app_user with id 1 is there, and its trail says that it was deleted$|^entry \d+ of the trail .* is not as its hash says/,
      ],
      [
        'an entry is deleted',
        `delete from directory_change where relation = 'app' and record ->> 'id' = '1'`,
        /^app with id 1 has no entry|^entry \d+ of the trail .* is not as its hash says/,
      ],
      [
        'an entry is changed',
        `update directory_change set changed_by = 'eve' where id = (select min(id) from directory_change)`,
        /^entry \d+ of the trail of the directory is not as its hash says/,
      ],
      [
        'a grant has no entry in the audit trail of its workspace',
        `delete from audit_outbox where entries @> '[{"operation": "addGrant"}]'; delete from audit_event where operation = 'addGrant'`,
        /^user \d+: the directory has \d+ times addGrant, and the audit trail fewer$/,
      ],
    ])('has a finding if %s', async (_what, fault, detail) => {
      await plant(world.owner, fault);

      const findings = await verifyDirectory(world.database, all());

      expect(findings.length).toBeGreaterThan(0);
      for (const finding of findings) {
        expect(finding).toMatchObject({ check: DIRECTORY_CHECK, detail: expect.stringMatching(detail) });
      }
    });

    it('is one chain, also if several change the directory at once', async () => {
      const sessions = await Promise.all([1, 2, 3, 4].map(() => world.openProvisioning()));
      await Promise.all(sessions.map((session, nth) => addApp(session, 'rosa', `At once ${nth}`)));
      await Promise.all(sessions.map((session) => session.end()));
      const { rows } = await world.owner.query(
        'select count(*)::int as entries, count(distinct hash)::int as hashes from directory_change',
      );

      expect(rows[0]).toMatchObject({ hashes: (rows[0] as { entries: number }).entries });
      expect(await verifyDirectory(world.database, all())).toEqual([]);
    });

    it('shows the role of the service the grants of its workspaces only', async () => {
      const seen = await world.database.pipeline({ workspaces: [northwind] }, [
        sql<{ id: number }>(
          `select distinct (record ->> 'workspace_id')::int as id from directory_change where relation = 'workspace_role'`,
        ),
      ]);

      expect(seen).toEqual([[{ id: northwind }]]);
    });
  });
});
