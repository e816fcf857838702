import { setTimeout as pause } from 'node:timers/promises';
import { BankingClient, type WorkspaceView } from '@banking/client';
import type { AccountId, Order, OrderWish, RecipientId, TransferAmount } from '@banking/domain';
import { bind, Database, joinEmbeddedServer, OWNER_ROLE, statement, type EmbeddedServer } from '@banking/postgres'; // prettier-ignore
import { banking } from '../banking.js';
import { launch } from '../launch.js';
import { newDataDir, RunningService } from '../running-service.js';
import { ADA, localToken } from '../service.js';
import { idOf, readWorld } from '../world.js';

const MAKE_DUE = statement(
  'e2e.make_due',
  `update banking.work set due_at = clock_timestamp() where kind = 'execution' and subject_id = $1`,
);
const LEASES_OVER = statement('e2e.leases_over', `update banking.work set leased_until = clock_timestamp() where leased_until is not null`); // prettier-ignore
const HANDED_OVER = statement<{ key: string; submissions: number }>(
  'e2e.handed_over',
  'select key, submissions from banking.sandbox_rail_payment order by key',
);
const PAYOUTS_LEFT = statement<{ subject_id: bigint }>(
  'e2e.payouts_left',
  `select subject_id from banking.work where kind = 'payout'`,
);

describe('Given a service that leaves to workers what is due', () => {
  let folder: Awaited<ReturnType<typeof newDataDir>>;
  let service: RunningService;
  let server: EmbeddedServer;
  let owner: Database;
  let northwind: WorkspaceView;
  let from: AccountId;
  let ordinary: RecipientId;

  beforeAll(async () => {
    folder = await newDataDir();
    service = await RunningService.start({ dataDir: folder.path, environment: { WORKER: 'off' } });
    server = await joinEmbeddedServer({ dataDir: folder.path });
    owner = await Database.open({ connection: server.connection, role: OWNER_ROLE });
    const world = await readWorld(folder.path);
    const client = new BankingClient({ baseUrl: service.url, token: await localToken(folder.path, ADA) });
    northwind = client.workspace(idOf(world, 'workspaces', 'Northwind Trading'));
    from = idOf(world, 'accounts', 'Northwind Trading EUR') as AccountId;
    ordinary = idOf(world, 'recipients', 'international') as RecipientId;
    await northwind.sandbox.fund({ accountId: from, amount: '10000000' as TransferAmount });
  }, 120_000);
  afterAll(async () => {
    await owner.end();
    await server.leave();
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
        expect({ ...(await worker.ended), said: worker.output.stderr }).toEqual({ code: 0, signal: null, said: '' });
      },
    };
  }

  const place = async (more: Partial<OrderWish> = {}): Promise<Order> => {
    const wish = { accountId: from, recipientID: ordinary, amount: '10000' as TransferAmount, type: 'instant', purposeCode: 'IR001', ...more } as const; // prettier-ignore
    return (await northwind.orders.place(wish)).resource;
  };
  const transactionOf = ({ edges }: Order) => edges.executions?.[0]?.edges.transaction;
  /** What has become of an order, once it is this. */
  async function come(order: Order, status: string): Promise<Order> {
    for (;;) {
      const read = await northwind.orders.get(from, order.id);
      if (transactionOf(read)?.status === status) return read;
      await pause(50);
    }
  }
  const handedOver = async () => (await owner.flight({}, [bind(HANDED_OVER)] as const))[0];

  it('When one works, Then what was ordered abroad is credited, and what has become due is run', async () => {
    const [now, later] = [await place(), await place({ type: 'scheduled', startAt: '2099-01-01T00:00:00Z' })];
    const worker = await startWorker();
    await owner.flight({}, [bind(MAKE_DUE, later.edges.executions?.[0]?.id)]);

    const [credited, ran] = [await come(now, 'completed'), await come(later, 'completed')];

    const events = transactionOf(credited)?.edges.internationalRemittance?.edges.events ?? [];
    expect(events.map(({ status, reasonCode }) => [status, reasonCode])).toEqual([['ACSP', 'G000'], ['ACSP', 'G001'], ['ACCC', undefined]]); // prettier-ignore
    expect(ran).toMatchObject({ status: 'completed', edges: { executions: [{ sequence: 1, status: 'completed' }] } });
    await worker.stop();
  });

  it('When one is killed between handing a payment over and noting it, Then another finds it with the network, and gives it nothing again', async () => {
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
    const before = new Set((await handedOver()).map(({ key }) => key));
    const first = await startWorker();
    const order = await place({ recipientID: silent.id });
    // The network has it, and leaves whoever gave it without an answer.
    while ((await handedOver()).every(({ key }) => before.has(key))) await pause(20);

    await first.kill();
    await owner.flight({}, [bind(LEASES_OVER)]);
    const second = await startWorker();
    await come(order, 'completed');

    expect((await handedOver()).filter(({ key }) => !before.has(key))).toMatchObject([{ submissions: 1 }]);
    await second.stop();
  });

  it('When two work, Then each payment is handed over once, and nothing is left to do', async () => {
    const before = (await handedOver()).length;
    const workers = await Promise.all([startWorker(), startWorker()]);

    const orders = await Promise.all(Array.from({ length: 40 }, () => place()));
    await Promise.all(orders.map((order) => come(order, 'completed')));

    const all = await handedOver();
    expect(all.slice(before)).toHaveLength(40);
    expect(all.filter(({ submissions }) => submissions !== 1)).toEqual([]);
    expect((await owner.flight({}, [bind(PAYOUTS_LEFT)] as const))[0]).toEqual([]);
    await Promise.all(workers.map((worker) => worker.stop()));
  });
});
