import { BankingClient, type WorkspaceView } from '@banking/client';
import type { AccountId, Order, PlaceOrderInput, RecipientId, TransferAmount } from '@banking/domain';
import { bind, type Database, OWNER_ROLE, sqlStatement } from '@banking/postgres';
import { until, openDatabase } from '@banking/postgres/testing';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { banking } from '../banking.js';
import { launch } from '../launch.js';
import { demoDataDir, RunningService, type TestDataDir } from '../running-service.js';
import { ADA, localToken } from '../service.js';
import { idOf, readDemoIds } from '../world.js';

const MAKE_DUE = sqlStatement(
  'e2e.make_due',
  `update banking.work set due_at = clock_timestamp() where kind = 'execution' and subject_id = $1`,
);
const LEASES_OVER = sqlStatement(
  'e2e.leases_over',
  `update banking.work set leased_until = clock_timestamp() where leased_until is not null`,
);
const SUBMISSIONS = sqlStatement<{ key: string; submissions: number }>(
  'e2e.handed_over',
  'select key, submissions from banking.sandbox_rail_payment order by key',
);
const PAYOUTS_LEFT = sqlStatement<{ subject_id: bigint }>(
  'e2e.payouts_left',
  `select subject_id from banking.work where kind = 'payout'`,
);

describe('workers', () => {
  let folder: TestDataDir;
  let service: RunningService;
  let server: EmbeddedServer;
  let owner: Database;
  let northwind: WorkspaceView;
  let from: AccountId;
  let ordinary: RecipientId;

  beforeAll(async () => {
    folder = await demoDataDir();
    service = await RunningService.start({ dataDir: folder.path, environment: { WORKER: 'off' } });
    server = await attachEmbeddedServer({ dataDir: folder.path });
    owner = await openDatabase({ connection: server.connection, role: OWNER_ROLE });
    const world = await readDemoIds(folder.path);
    const client = new BankingClient({ baseUrl: service.url, token: await localToken(folder.path, ADA) });
    northwind = client.workspace(idOf(world, 'workspaces', 'Northwind Trading'));
    from = idOf(world, 'accounts', 'Northwind Trading EUR') as AccountId;
    ordinary = idOf(world, 'recipients', 'international') as RecipientId;
    await northwind.sandbox.fund({ accountId: from, amount: '10000000' as TransferAmount });
  });
  afterAll(async () => {
    await owner.end();
    await server.detach();
    await service.stop();
    await folder.remove();
  });
  afterEach(async () => {
    // Ends with an error for any finding.
    await banking(folder.path, 'verify');
  });

  async function startWorker() {
    const worker = launch('worker', { dataDir: folder.path });
    await worker.output.matched(/"msg":"working"/);
    return {
      kill: () => worker.child.kill('SIGKILL') && worker.ended,
      async stop() {
        worker.child.kill('SIGTERM');
        expect({ ...(await worker.ended), stderr: worker.output.stderr }).toEqual({
          code: 0,
          signal: null,
          stderr: '',
        });
      },
    };
  }

  const place = async (more: Partial<PlaceOrderInput> = {}): Promise<Order> => {
    const input = {
      accountId: from,
      recipientID: ordinary,
      amount: '10000' as TransferAmount,
      type: 'instant',
      purposeCode: 'IR001',
      ...more,
    } as const;
    return (await northwind.orders.place(input)).resource;
  };
  const transactionOf = ({ edges }: Order) => edges.executions?.[0]?.edges.transaction;
  /** Waits until the transaction of an order has a status. */
  const waitForStatus = (order: Order, status: string) =>
    until(
      () => northwind.orders.get(from, order.id),
      (read) => transactionOf(read)?.status === status,
    );
  const submissionsByKey = async () => (await owner.pipeline({}, [bind(SUBMISSIONS)] as const))[0];

  it('credits international payments and executes due orders', async () => {
    const [now, later] = [await place(), await place({ type: 'scheduled', startAt: '2099-01-01T00:00:00Z' })];
    const worker = await startWorker();
    await owner.pipeline({}, [bind(MAKE_DUE, later.edges.executions?.[0]?.id)]);

    const [credited, ran] = [await waitForStatus(now, 'completed'), await waitForStatus(later, 'completed')];

    const events = transactionOf(credited)?.edges.internationalRemittance?.edges.events ?? [];
    expect(events.map(({ status, reasonCode }) => [status, reasonCode])).toEqual([
      ['ACSP', 'G000'],
      ['ACSP', 'G001'],
      ['ACCC', undefined],
    ]);
    expect(ran).toMatchObject({ status: 'completed', edges: { executions: [{ sequence: 1, status: 'completed' }] } });
    await worker.stop();
  });

  it('submits a payment once if a worker is killed between submitting and recording it', async () => {
    const data = {
      beneficiaryName: 'Ravi Kumar',
      beneficiaryAccountType: 'Individual',
      beneficiaryAccountNumber: '50100123459020',
      beneficiaryCountryCode: 'IN',
      destinationCountry: 'IN',
      routingCodeType1: 'IFSC',
      routingCodeValue1: 'HDFC0000001',
    };
    const corridor = { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' } as const;
    const { resource: silent } = await northwind.recipients.addInternational({ ...corridor, data });
    const before = new Set((await submissionsByKey()).map(({ key }) => key));
    const first = await startWorker();
    const order = await place({ recipientID: silent.id });
    // The network has accepted the payout, and does not respond.
    await until(submissionsByKey, (rows) => rows.some(({ key }) => !before.has(key)));

    await first.kill();
    await owner.pipeline({}, [bind(LEASES_OVER)]);
    const second = await startWorker();
    await waitForStatus(order, 'completed');

    expect((await submissionsByKey()).filter(({ key }) => !before.has(key))).toMatchObject([{ submissions: 1 }]);
    await second.stop();
  });

  it('submits each payment once with two workers, and leaves nothing to do', async () => {
    const before = (await submissionsByKey()).length;
    const workers = await Promise.all([startWorker(), startWorker()]);

    const orders = await Promise.all(Array.from({ length: 40 }, () => place()));
    await Promise.all(orders.map((order) => waitForStatus(order, 'completed')));

    const all = await submissionsByKey();
    expect(all.slice(before)).toHaveLength(40);
    expect(all.filter(({ submissions }) => submissions !== 1)).toEqual([]);
    expect((await owner.pipeline({}, [bind(PAYOUTS_LEFT)] as const))[0]).toEqual([]);
    await Promise.all(workers.map((worker) => worker.stop()));
  });
});
