import { parseAmount } from '@banking/domain';
import { post, verifyBooks, type Entry } from '@banking/ledger';
import { recordRailEvent, recordRejection, openRemittance } from './track-remittance.js';
import { demoWorld } from './testing/worlds.js';

let world: Awaited<ReturnType<typeof demoWorld>>;
let workspaceId: number;
let usd: number;
let transactionId: number;

beforeAll(async () => {
  world = await demoWorld();
  workspaceId = world.demo.workspaces['Northwind Trading']!;
  usd = world.demo.accounts['Northwind Trading USD']!;
});
afterAll(async () => {
  expect((await verifyBooks(world.database, Object.values(world.demo.workspaces))).findings).toEqual([]);
  await world.close();
});

const amount = parseAmount('100.00', 'USD');
const between = (
  type: string,
  customer: 'debit' | 'credit',
  ours: 'debit' | 'credit',
  status: Entry['status'],
): Entry => ({
  workspaceId,
  status,
  valueDate: '2026-11-21',
  legs: [
    { account: usd, currencyId: 840, direction: customer, amount, type },
    { account: 'settlement', currencyId: 840, direction: ours, amount, type },
  ],
});
const back = () => between('return', 'credit', 'debit', 'completed');

/** A payout of a hundred dollars on its way. */
beforeEach(async () => {
  const [outcome] = await post(
    world.books,
    [{ entries: [between('payout', 'debit', 'credit', 'pending')] }],
    ([decided]) => [openRemittance(decided!.posted![0]!)],
  );
  transactionId = outcome!.posted![0]!.id;
});

const hear = (providerEvent: string, status: string) =>
  recordRailEvent(world.books, workspaceId, transactionId, { providerEvent, status, reasonCode: 'G000' });

async function seen(): Promise<{ status: string; events: string[]; balance: bigint }> {
  const { rows } = await world.owner.query<{ status: string; events: string[]; balance: bigint }>(
    `select x.status, a.balance,
            array(select e.status from remittance_event e join remittance m on m.id = e.remittance_id
                  where m.transaction_id = x.id order by e.id) as events
     from transaction x, account a where x.id = $1 and a.id = $2`,
    [transactionId, usd],
  );
  return rows[0]!;
}

describe('Given a payout on its way', () => {
  it('When the network says the same twice, Then it is recorded once', async () => {
    await hear('e1', 'ACSP');
    await hear('e1', 'ACSP');

    expect(await seen()).toMatchObject({ status: 'pending', events: ['ACSP'] });
  });

  it('When the network has credited it, Then it is completed, and stays so', async () => {
    await hear('e1', 'ACCC');
    await hear('e2', 'ACSP');
    await hear('e3', 'ACCC');

    expect(await seen()).toMatchObject({ status: 'completed', events: ['ACCC', 'ACSP', 'ACCC'] });
  });

  it('When the network refuses it, Then it has failed and the money is back, in one', async () => {
    const { balance } = await seen();

    await recordRejection(
      world.books,
      transactionId,
      { providerEvent: 'e1', status: 'RJCT', reasonCode: 'AC04' },
      back(),
    );

    expect(await seen()).toEqual({ status: 'failed', events: ['RJCT'], balance: balance + amount });
  });

  it('When the network refuses it twice, at once or later, Then the money comes back once', async () => {
    const { balance } = await seen();
    const refuse = (providerEvent: string) =>
      recordRejection(world.books, transactionId, { providerEvent, status: 'RJCT' }, back()).then(
        () => 'returned',
        (error: { code?: string }) => error.code,
      );

    const words = [...(await Promise.all([refuse('e1'), refuse('e1')])), await refuse('e2')];

    expect(words.sort()).toEqual(['23505', '23505', 'returned']);
    expect(await seen()).toEqual({ status: 'failed', events: ['RJCT'], balance: balance + amount });
  });
});
