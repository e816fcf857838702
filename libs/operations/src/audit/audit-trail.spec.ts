import type { Origin, PlaceOrderInput, RecipientId, Scope, TransferAmount, UserId, WorkspaceId } from '@banking/domain';
import { Worker } from '@banking/work-queue';
import { DEMO_RATES } from '@banking/rates';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { demoDatabase } from '../testing/test-databases.js';
import { workOf } from '../worker/start-banking-worker.js';
import { releaseParkedWork } from '@banking/payouts';
import { recordAudit } from './record-audit.js';

let world: Awaited<ReturnType<typeof demoDatabase>>;
let service: LedgerBankingService;
let ada: Scope & { workspaceId: WorkspaceId; actor: UserId };

const ORIGIN: Origin = {
  issuer: 'https://issuer.example',
  subject: 'ada\u0000\ud800',
  tokenId: 'token-1',
  clientId: 'app-1',
  sourceAddress: '192.0.2.7',
};

beforeAll(async () => {
  world = await demoDatabase();
  service = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES, hasPayoutNetwork: true }, true);
  ada = {
    actor: world.demo.users['ada@northwind.example'] as UserId,
    workspaceId: world.demo.workspaces['Northwind Trading'] as WorkspaceId,
    requestId: 'request-1',
    origin: ORIGIN,
  };
  await record();
});
afterAll(() => world.close());

const record = async () => {
  while ((await recordAudit(world.database)) > 0);
};
const recorded = async () => {
  await record();
  return (await service.listAuditEvents(ada, { limit: 500 })).items;
};
const openAccount = async () => {
  const { resource } = await service.openAccount(ada, { productID: 1 as never });
  await service.fundAccount(ada, { accountId: resource.id, amount: '1000000' as TransferAmount });
  return resource.id;
};
const orderInput = (accountId: PlaceOrderInput['accountId']): PlaceOrderInput => ({
  accountId,
  recipientID: world.demo.recipients['internal'] as RecipientId,
  amount: '100' as TransferAmount,
  type: 'instant',
});

describe('the audit trail', () => {
  it('has each change with its user, credential, request and address, newest first', async () => {
    const accountId = await openAccount();
    const { resource: order } = await service.placeOrder(ada, orderInput(accountId));
    const [placed, funded, opened] = await recorded();

    expect(placed).toEqual({
      id: expect.any(Number) as number,
      createdAt: expect.stringMatching(/Z$/) as string,
      operation: 'placeOrder',
      outcome: 'done',
      resource: { type: 'order', id: order.id },
      actor: {
        type: 'user',
        userID: ada.actor,
        issuer: 'https://issuer.example',
        subject: 'ada\ufffd\ufffd',
        tokenID: 'token-1',
        clientID: 'app-1',
      },
      requestID: 'request-1',
      sourceAddress: '192.0.2.7',
      hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    expect([funded, opened]).toMatchObject([
      { operation: 'fundAccount', resource: { type: 'transfer' } },
      { operation: 'openAccount', resource: { type: 'account', id: accountId } },
    ]);
  });

  it('has nothing of a refused change, of a change without effect, and of a replay', async () => {
    const accountId = await openAccount();
    await service.openAccount(ada, { productID: 1 as never }, { idempotencyKey: 'once' });
    const [last] = await recorded();

    await service.openAccount(ada, { productID: 1 as never }, { idempotencyKey: 'once' });
    await service.changeAccount(ada, { accountId, status: 'enabled' });
    for (const refused of [
      service.changeAccount(ada, { accountId: 999_999 as never, alias: 'x' }),
      service.deleteRecipient(ada, { recipientId: 999_999 as never }),
      service.placeOrder(ada, { ...orderInput(accountId), amount: '99999999999' as TransferAmount }),
      service.cancelOrder(ada, { accountId, orderId: 999_999 as never }),
    ]) {
      await expect(refused).rejects.toMatchObject({ name: 'Refusal' });
    }

    expect((await recorded())[0]).toEqual(last);
  });

  it('chains many orders of several batches without a gap', async () => {
    const accounts = await Promise.all(Array.from({ length: 4 }, openAccount));
    await Promise.all(
      Array.from({ length: 60 }, (_, index) => service.placeOrder(ada, orderInput(accounts[index % 4]!))),
    );
    await record();

    const { rows } = await world.owner.query(
      `select count(*)::int as events, max(e.id)::int as last, count(distinct e.hash)::int as hashes, bool_and(e.hash = next_audit_hash(null,
         coalesce((select p.hash from audit_event p where (p.workspace_id, p.id) = (e.workspace_id, e.id - 1)), h.start_hash),
         audit_content(e.workspace_id, e.id, e.operation, e.outcome, e.reason, e.count, e.resource_type, e.resource_id, e.user_id, e.actor,
           e.request_id, e.source_address, e.created_at))) as chained, max(h.id)::int as head
       from audit_event e join audit_head h using (workspace_id) where e.workspace_id = $1`,
      [ada.workspaceId],
    );
    const [{ last }] = rows as [{ last: number }];
    expect(rows).toEqual([{ events: last, last, hashes: last, chained: true, head: last }]);
  });

  it('has the runs of the worker as its own, with the reason of a failed one', async () => {
    const { resource: account } = await service.openAccount(ada, { productID: 1 as never });
    const { resource: order } = await service.placeOrder(ada, {
      ...orderInput(account.id),
      type: 'scheduled',
      startAt: new Date(Date.now() + 86_400_000).toISOString(),
    });
    await world.owner.query('update work set due_at = now() where workspace_id = $1', [ada.workspaceId]);
    const worker = new Worker(workOf(world, { orders: service.orders, sandbox: true }));
    while ((await worker.step()) > 0);

    expect(
      (await recorded()).find(({ operation, resource }) => operation === 'runOrder' && resource?.id === order.id),
    ).toMatchObject({
      outcome: 'refused',
      reason: 'insufficient_funds',
      resource: { type: 'order', id: order.id },
      actor: { type: 'system' },
    });
  });

  it('has the pause of an order by the worker, once', async () => {
    const { resource: account } = await service.openAccount(ada, { productID: 1 as never });
    const { resource: order } = await service.placeOrder(ada, {
      ...orderInput(account.id),
      type: 'scheduled',
      startAt: new Date(Date.now() + 86_400_000).toISOString(),
    });
    const setStatus = (status: string) =>
      world.owner.query('update app_user set status = $2 where id = $1', [ada.actor, status]);
    const executionId = order.edges.executions!.at(-1)!.id;
    const worker = new Worker(workOf(world, { orders: service.orders, sandbox: true }));
    const run = async () => {
      await world.owner.query('update work set due_at = now() where subject_id = $1', [executionId]);
      while ((await worker.step()) > 0);
    };
    await setStatus('suspended');
    await run();
    const work = { workspaceId: ada.workspaceId, kind: 'execution', subjectId: executionId };
    expect(await releaseParkedWork(world.database, work)).toBe(true);
    await run();
    await setStatus('completed');

    expect((await recorded()).filter(({ operation }) => operation === 'pauseOrder')).toMatchObject([
      { outcome: 'done', resource: { type: 'order', id: order.id }, actor: { type: 'system' } },
    ]);
  });

  it('filters by user, operation, resource and time', async () => {
    const accountId = await openAccount();
    const all = await recorded();
    const [newest] = all;
    const listed = async (query: Parameters<typeof service.listAuditEvents>[1]) =>
      (await service.listAuditEvents(ada, { ...query, limit: 500 })).items;

    expect(await listed({ actor: ada.actor })).toEqual(all.filter(({ actor }) => actor.userID === ada.actor));
    expect(await listed({ operation: 'openAccount' })).toEqual(
      all.filter(({ operation }) => operation === 'openAccount'),
    );
    expect(await listed({ resourceType: 'account', resourceId: accountId })).toMatchObject([
      { operation: 'openAccount', resource: { id: accountId } },
    ]);
    await expect(listed({ resourceType: 'account' })).rejects.toMatchObject({ reason: 'parameter_invalid' });
    expect(await listed({ from: newest!.createdAt })).toContainEqual(newest);
    expect(await listed({ to: newest!.createdAt })).not.toContainEqual(newest);
    await expect(listed({ from: newest!.createdAt, to: '2020-01-01T00:00:00Z' })).rejects.toMatchObject({
      reason: 'timestamp_invalid',
    });
  });

  it('is hidden from other workspaces', async () => {
    const other = { ...ada, workspaceId: world.demo.workspaces['Southwind Imports'] as WorkspaceId };
    const mine = await recorded();
    const { items } = await service.listAuditEvents(other);
    const hashes = new Set(mine.map(({ hash }) => hash));

    expect(items.filter(({ hash }) => hashes.has(hash))).toEqual([]);
  });
});
