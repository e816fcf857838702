import { Refusal, type Scope, type UserId, type WorkspaceId } from '@banking/domain';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { demoDatabase } from '../testing/test-databases.js';
import { recordAudit } from './record-audit.js';
import { noteRefusals, RefusedRequests } from './refused-requests.js';

const REFUSED = {
  workspaceId: 1 as WorkspaceId,
  userId: 2 as UserId,
  operation: 'openAccount',
  reason: 'rate_limited',
};

describe('refused requests', () => {
  let nowMs: number;
  let written: unknown[];
  const counting = (entriesMax?: number) =>
    new RefusedRequests(
      async (workspaceId, entries) => {
        written.push(...entries.map(({ json }) => [workspaceId, JSON.parse(json) as unknown]));
      },
      { nowMs: () => nowMs, ...(entriesMax !== undefined && { entriesMax }) },
    );
  beforeEach(() => {
    nowMs = 120_000;
    written = [];
  });

  it('are written as one entry when their minute is over', async () => {
    const requests = counting();
    for (let count = 0; count < 3; count += 1) requests.add({ ...REFUSED, origin: { subject: 'ada', tokenId: 't' } });
    await requests.flush();
    expect(written).toEqual([]);

    nowMs += 60_000;
    await requests.flush();
    await requests.flush();

    const entry = { operation: 'openAccount', outcome: 'refused', reason: 'rate_limited', userId: 2, count: 3 };
    expect(written).toEqual([[1, { ...entry, actor: { type: 'user', subject: 'ada' } }]]);
  });

  it('are written at the end of the process', async () => {
    const requests = counting();
    requests.add(REFUSED);
    await requests.flush({ isLast: true });

    expect(written).toHaveLength(1);
  });

  it('are counted without an entry beyond the bound', async () => {
    const requests = counting(2);
    for (let id = 1; id <= 5; id += 1) requests.add({ ...REFUSED, workspaceId: id as WorkspaceId });
    requests.add(REFUSED);
    await requests.flush({ isLast: true });

    expect([written.length, requests.overflow]).toEqual([2, 3]);
  });

  it('are written by a later call if the database is not available', async () => {
    let isAvailable = false;
    const requests = new RefusedRequests(
      async (_, entries) => {
        if (!isAvailable) throw new Refusal('unavailable');
        written.push(...entries);
      },
      { nowMs: () => nowMs },
    );
    requests.add(REFUSED);
    await expect(requests.flush({ isLast: true })).rejects.toMatchObject({ reason: 'unavailable' });

    isAvailable = true;
    await requests.flush({ isLast: true });
    await requests.flush({ isLast: true });

    expect(written).toHaveLength(1);
  });

  it('become entries of a workspace that exists', async () => {
    const world = await demoDatabase();
    const workspaceId = world.demo.workspaces['Northwind Trading'] as WorkspaceId;
    const requests = new RefusedRequests((id, entries) => noteRefusals(world.database, id, entries));
    requests.add({ ...REFUSED, workspaceId });
    requests.add({ ...REFUSED, workspaceId });
    requests.add({ ...REFUSED, workspaceId: 999_999 as WorkspaceId });
    await requests.flush({ isLast: true });
    while ((await recordAudit(world.database)) > 0);

    const scope: Scope = { workspaceId };
    const { items } = await new LedgerBankingService(world.database, world.books).listAuditEvents(scope, {
      actor: REFUSED.userId,
    });
    expect(items).toMatchObject([{ outcome: 'refused', reason: 'rate_limited', count: 2, actor: { userId: 2 } }]);
    expect((await world.owner.query('select from audit_outbox')).rows).toEqual([]);
    await world.close();
  });
});
