import type { AccountId, RecipientId, TransferAmount, UserId, WorkspaceId } from '@banking/domain';
import { listDiscrepancies, recordEvent, resolveDiscrepancy, SANDBOX_ROUTING } from '@banking/payouts';
import { makeDemoData } from '../demo/index.js';
import { readDemoIds, type DemoIds } from '../demo/index.js';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { DEMO_RATES } from '@banking/reference';
import { NOT_DATE } from '@banking/postgres/testing';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';

describe.each(['2001-01-01T00:00:00Z', '2099-12-31T23:59:59Z'])('a process whose clock says %s', (now) => {
  let world: TestDatabase;
  let demo: DemoIds;
  let service: LedgerBankingService;
  let ada: { workspaceId: WorkspaceId; actor: UserId };

  beforeAll(async () => {
    world = await emptyDatabase();
    jest.useFakeTimers({ now: Date.parse(now), doNotFake: NOT_DATE });
    await makeDemoData(world);
    demo = (await readDemoIds(world.database))!;
    service = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES, rails: SANDBOX_ROUTING });
    ada = {
      workspaceId: demo.workspaces['Northwind Trading'] as WorkspaceId,
      actor: demo.users['ada@northwind.example'] as UserId,
    };
  });
  afterAll(async () => {
    jest.useRealTimers();
    await world.close();
  });

  it('posts all money on the day of the database', async () => {
    const accountId = demo.accounts['Northwind Trading EUR'] as AccountId;
    await service.fundAccount(ada, { accountId, amount: '1000' as TransferAmount });
    const recipientID = (await service.listRecipients(ada, {})).items.find(
      ({ name }) => name === 'Northwind Trading Berlin',
    )!.id as RecipientId;
    const order = {
      accountId,
      recipientID,
      amount: '10000' as TransferAmount,
      type: 'instant',
      purposeCode: 'IR001',
    } as const;
    const { resource: quote } = await service.createQuote(ada, {
      accountID: accountId,
      recipientID,
      amount: order.amount,
    });
    const { resource: paid } = await service.placeOrder(ada, { ...order, quoteID: quote.id });
    const transactionId = paid.edges.executions![0]!.edges.transaction!.id;
    for (const status of ['RJCT', 'ACCC']) {
      await recordEvent(world.books, ada.workspaceId, transactionId, { providerEvent: status, status });
    }
    const [open] = await listDiscrepancies(world.database, [ada.workspaceId]);
    const discrepancyId = open?.id ?? 0;
    await resolveDiscrepancy(world.books, {
      workspaceId: ada.workspaceId,
      discrepancyId,
      resolution: 'reclaimed',
    });

    const { rows } = await world.owner.query(
      `select distinct created_at::date = now()::date as today, return_of is null as out from transaction order by 2`,
    );
    expect(rows).toEqual([
      { today: true, out: false },
      { today: true, out: true },
    ]);
  });

  it('checks a later order by the clock of the database', async () => {
    const accountId = demo.accounts['Northwind Trading EUR'] as AccountId;
    const recipientID = (await service.listRecipients(ada, {})).items[0]!.id as RecipientId;
    const { rows } = await world.owner.query<{ tomorrow: string; yesterday: string }>(
      `select rfc3339(now() + interval '1 day') as tomorrow, rfc3339(now() - interval '1 day') as yesterday`,
    );
    const { tomorrow, yesterday } = rows[0]!;
    const place = (startAt: string) =>
      service.placeOrder(ada, {
        accountId,
        recipientID,
        amount: '10000' as TransferAmount,
        type: 'scheduled',
        startAt,
        purposeCode: 'IR001',
      });

    expect((await place(tomorrow)).resource.status).toBe('active');
    await expect(place(yesterday)).rejects.toMatchObject({ reason: 'schedule_invalid' });
  });
});
