import type { Scope, UserId, WorkspaceId } from '@banking/domain';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { recordAudit } from '../audit/record-audit.js';
import { demoDatabase } from '../testing/test-databases.js';
import { verifyPayments } from '../testing/verify-payments.js';
import { AUDIT_CHAIN } from './verify-audit.js';

let world: Awaited<ReturnType<typeof demoDatabase>>;
let scope: Scope & { workspaceId: WorkspaceId };

beforeEach(async () => {
  world = await demoDatabase();
  const service = new LedgerBankingService(world.database, world.books);
  scope = {
    actor: world.demo.users['ada@northwind.example'] as UserId,
    workspaceId: world.demo.workspaces['Northwind Trading'] as WorkspaceId,
  };
  for (let count = 0; count < 5; count += 1) await service.openAccount(scope, { productID: 1 as never });
  while ((await recordAudit(world.database)) > 0);
});
afterEach(() => world.close());

const verify = () => verifyPayments(world.database, [scope.workspaceId]);
const OF = () => `workspace_id = ${scope.workspaceId}`;

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

    expect(await verify()).toEqual(
      details.map((detail) => ({
        check: AUDIT_CHAIN.check,
        workspaceId: scope.workspaceId,
        detail: expect.stringMatching(detail) as string,
      })),
    );
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
