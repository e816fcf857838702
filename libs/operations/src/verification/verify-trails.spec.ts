import type { AccountId, UserId, WorkspaceId } from '@banking/domain';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { resumePausedOrder } from '../provisioning/index.js';
import { demoDatabase } from '../testing/test-databases.js';
import { addApp } from '../provisioning/workspaces.js';
import { verifyPayments, verifyPlanted } from '../testing/order-world.js';
import { sql } from '@banking/postgres/testing';
import { ACCOUNT_TRAIL, DIRECTORY_CHECK, ORDER_TRAIL, verifyDirectory } from './verify-trails.js';

let world: Awaited<ReturnType<typeof demoDatabase>>;
let northwind: number;
let account: number;

beforeEach(async () => {
  world = await demoDatabase();
  northwind = world.demo.workspaces['Northwind Trading']!;
  account = world.demo.accounts['Northwind Trading EUR']!;
});
afterEach(() => world.close());

const all = () => Object.values(world.demo.workspaces);

/** Makes a change that triggers and foreign keys forbid, as a superuser who has them off. */
const plant = (text: string) =>
  world.owner.query(`begin; set local session_replication_role = replica; ${text}; commit`);

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
    await plant(fault(account));

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
    await resumePausedOrder(
      world.database,
      { name: 'ops' },
      {
        workspaceId: northwind,
        orderId,
        placer: 'ada@northwind.example',
      },
    );
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
    await plant(fault(orderId));

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
      `update workspace_role set role = 'admin' where role = 'member'`,
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
      /^user \d+: the directory has 1 times addGrant, and the audit trail fewer$/,
    ],
  ])('has a finding if %s', async (_what, fault, detail) => {
    await plant(fault);

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
