import type { Scope, UserId, WorkspaceId } from '@banking/domain';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { recordAudit } from '../audit/record-audit.js';
import { demoDatabase } from '../testing/test-databases.js';
import { verifyPayments } from '../testing/order-world.js';
import { AUDIT_CHAIN, AUDIT_ENTRIES } from './verify-trails.js';

let world: Awaited<ReturnType<typeof demoDatabase>>;
let scope: Scope & { workspaceId: WorkspaceId };
let opened: Awaited<ReturnType<LedgerBankingService['openAccount']>>;

beforeEach(async () => {
  world = await demoDatabase();
  const service = new LedgerBankingService(world.database, world.books);
  scope = {
    actor: world.demo.users['ada@northwind.example'] as UserId,
    workspaceId: world.demo.workspaces['Northwind Trading'] as WorkspaceId,
  };
  for (let count = 0; count < 5; count += 1) opened = await service.openAccount(scope, { productID: 1 as never });
  await service.changeAccount(scope, { accountId: opened.resource.id, alias: 'Payroll' });
  while ((await recordAudit(world.database)) > 0);
});
afterEach(() => world.close());

const verify = () => verifyPayments(world.database, [scope.workspaceId]);
const OF = () => `workspace_id = ${scope.workspaceId}`;

const ofAccount = (operation: string) =>
  `delete from audit_event where ${OF()} and operation = '${operation}' and resource_id = ${opened.resource.id}`;
const ofOrder = () =>
  `insert into customer_order (workspace_id, id, account_id, recipient_id, amount, type, status)
   values (${scope.workspaceId}, 777, ${opened.resource.id}, 1, 1, 'instant', 'cancelled')`;

/** Makes a change that triggers forbid, as a superuser who has them off. */
const plant = (text: string) =>
  world.owner.query(`begin; set local session_replication_role = replica; ${text}; commit`);

describe('the chain of the audit trail', () => {
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
    await plant(fault());

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
      plant(`update audit_head h set start_id = 5, start_hash = e.hash, start_at = ${at} from audit_event e
        where h.${OF()} and e.workspace_id = h.workspace_id and e.id = 5; delete from audit_event where ${OF()} and id <= 5`);
    const detail = 'the audit trail begins after entry 5, which was not a year old';

    await cut('null');
    expect(await verify()).toContainEqual({ check: AUDIT_CHAIN.check, workspaceId: scope.workspaceId, detail });
    await plant(`update audit_head set start_at = now() where ${OF()}`);
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

    await plant(fault());

    const findings = await ofEntries();
    expect(findings.length).toBeGreaterThan(0);
    for (const finding of findings) expect(finding.detail).toMatch(detail);
  });

  it('may have entries that are not recorded yet', async () => {
    await plant(`insert into audit_outbox (workspace_id, entries) select workspace_id, jsonb_build_array(jsonb_build_object('operation',
      operation, 'outcome', outcome, 'actor', actor, 'resourceType', resource_type, 'resourceId', resource_id))
      from audit_event where ${OF()}; delete from audit_event where ${OF()}; delete from audit_head where ${OF()}`);

    expect(await verify()).toEqual([]);
  });

  it('continues from the last of the old entries, which are deleted', async () => {
    const { owner } = world;
    const old = `created_at < statement_timestamp() - interval '10 years'`;
    // Rewrites the chain with two old entries, as a superuser can.
    await plant(`update audit_event set created_at = created_at - interval '11 years' where ${OF()} and id <= 2`);
    await plant(`update audit_event e set hash = next_audit_hash(null, repeat('0', 64), audit_content(e.workspace_id, e.id, e.operation,
      e.outcome, e.reason, e.count, e.resource_type, e.resource_id, e.user_id, e.actor, e.request_id, e.source_address, e.created_at))
      where ${OF()} and id = 1`);
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
