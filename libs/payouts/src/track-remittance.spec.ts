import { openTracking } from './open-payouts.js';
import { AMOUNT as amount, FEE as fee, NORTH, faults, openWorld, payOut, type World } from './testing/world.js';
import { recordRailEvent, recordRejection } from './track-remittance.js';

let world: World;
let transactionId: number;

const workspaceId = NORTH;
const open = openTracking;
const usd = () => world.accounts[NORTH]!;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => {
  expect(await faults(world)).toEqual([]);
  await world.close();
});

beforeEach(async () => {
  [transactionId] = (await payOut(world, { open })) as [number];
});

const hear = (providerEvent: string, status: string) =>
  recordRailEvent(world.books, workspaceId, transactionId, { providerEvent, status, reasonCode: 'G000' });
const refuse = (providerEvent: string) =>
  recordRejection(world.books, workspaceId, transactionId, { providerEvent, status: 'RJCT', reasonCode: 'AC04' });

async function seen(): Promise<{ status: string; events: string[]; balance: bigint }> {
  const { rows } = await world.owner.query<{ status: string; events: string[]; balance: bigint }>(
    `select x.status, a.balance,
            array(select e.status from remittance_event e join remittance m on m.id = e.remittance_id
                  where m.transaction_id = x.id order by e.id) as events
     from transaction x, account a where x.id = $1 and a.id = $2`,
    [transactionId, usd()],
  );
  return rows[0]!;
}

/** What our own accounts hold, by kind and currency. */
async function ours(): Promise<unknown> {
  const { rows } = await world.owner.query(
    `select a.kind, a.currency_id, sum(case t.direction when 'credit' then t.amount else -t.amount end) as held
     from account a join transfer t on (t.workspace_id, t.account_id) = (a.workspace_id, a.id)
     where a.workspace_id = $1 and a.kind in ('settlement', 'fx') group by 1, 2
     having sum(case t.direction when 'credit' then t.amount else -t.amount end) <> 0 order by 1, 2`,
    [workspaceId],
  );
  return rows;
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

  it('When the network refuses it, Then it has failed and the money is back, the fee kept, in one', async () => {
    const { balance } = await seen();

    expect(await refuse('e1')).toBe('returned');

    expect(await seen()).toEqual({ status: 'failed', events: ['RJCT'], balance: balance + amount });
    const { rows } = await world.owner.query(
      `select t.account_id, t.direction, t.amount, t.currency_id, t.type, t.description
       from transaction x join transfer t on t.transaction_id = x.id
       where x.return_of = $1 and t.account_version is not null`,
      [transactionId],
    );
    const back = { account_id: BigInt(usd()), direction: 'credit', amount, currency_id: 840 };
    expect(rows).toEqual([{ ...back, type: 'return', description: 'Returned: Invoice' }]);
  });

  it('When the network refuses it again and again, at once or later, Then the money comes back once', async () => {
    const { balance } = await seen();

    const words = [...(await Promise.all([refuse('e1'), refuse('e1'), refuse('e2')])), await refuse('e3')];

    expect(words.sort()).toEqual(['repeated', 'repeated', 'repeated', 'returned']);
    expect(await seen()).toEqual({ status: 'failed', events: ['RJCT', 'RJCT', 'RJCT'], balance: balance + amount });
  });

  it('When the network refuses it after it has credited it, Then the word is kept and no money moves', async () => {
    await hear('e1', 'ACCC');
    const { balance } = await seen();

    expect(await refuse('e2')).toBe('late');

    expect(await seen()).toEqual({ status: 'completed', events: ['ACCC', 'RJCT'], balance });
  });

  it('When the network credits it after it has refused it, Then the word is kept and it stays failed', async () => {
    await refuse('e1');

    expect(await hear('e2', 'ACCC')).toBe('late');

    expect(await seen()).toMatchObject({ status: 'failed', events: ['RJCT', 'ACCC'] });
  });

  it('When the network says both at once, Then the money has left or is back, not both', async () => {
    const { balance } = await seen();

    const [credited, refused] = await Promise.all([hear('e1', 'ACCC'), refuse('e2')]);

    const { status, balance: after } = await seen();
    expect([
      ['recorded', 'late', 'completed', balance],
      ['late', 'returned', 'failed', balance + amount],
    ]).toContainEqual([credited, refused, status, after]);
  });

  it('When a rejection is recorded as any other word, Then that is a mistake', async () => {
    await expect(hear('e1', 'RJCT')).rejects.toThrow('brings money back');
    expect(await seen()).toMatchObject({ status: 'pending', events: [] });
  });
});

describe('Given a payout with a conversion on its way', () => {
  it('When the network refuses it, Then the account and our own accounts are where they were, the fee kept', async () => {
    const [{ balance }, before] = [await seen(), await ours()];
    [transactionId] = (await payOut(world, { open, by: 'spot' })) as [number];

    await refuse('e1');

    expect(await seen()).toMatchObject({ status: 'failed', balance: balance - fee });
    expect(await ours()).toEqual(before);
  });
});

describe('Given a transaction that the network never had', () => {
  it('When a word comes for it, Then that is a mistake, and nothing changes', async () => {
    const { rows } = await world.owner.query<{ id: bigint }>(
      `select id from transaction where workspace_id = $1 and id not in (select transaction_id from remittance) limit 1`,
      [workspaceId],
    );
    transactionId = Number(rows[0]!.id);

    await expect(hear('e1', 'ACCC')).rejects.toThrow('has no remittance');
    await expect(refuse('e2')).rejects.toThrow('has no remittance');

    expect(await seen()).toMatchObject({ status: 'completed', events: [] });
  });
});
