import { post } from './post.js';
import { returnEntry } from './return-entry.js';
import { comeback, payment, payout, proposal } from './testing/proposals.js';
import { account, EUR, euros, holding, NORTH, openWorld, SOUTH, USD, type World } from './testing/world.js';
import type { Proposal } from './proposal.js';
import { verifyBooks } from './verify-books.js';

let world: World;
let ada: number;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => {
  expect((await verifyBooks(world.database, [NORTH, SOUTH])).findings).toEqual([]);
  await world.close();
});
beforeEach(async () => {
  ada = await account(world, '100.00');
});

/** Posts a proposal and returns the id of its transaction. */
async function idOf(one: Proposal): Promise<number> {
  const [outcome] = await post(world.books, [one]);
  return outcome!.posted![0]!.id;
}
describe('the return of a payout', () => {
  it('reverses each transfer without the fee', async () => {
    const id = await idOf(payout(ada, euros('10.00'), euros('0.50')));

    const entry = await returnEntry(world.database, NORTH, id);

    const leg = { currencyId: EUR, amount: euros('10.00'), type: 'return' };
    expect(entry).toEqual({
      workspaceId: NORTH,
      status: 'completed',
      returnOf: id,
      legs: [
        { ...leg, account: ada, direction: 'credit', description: 'Returned: Invoice 2107' },
        { ...leg, account: 'settlement', direction: 'debit', description: undefined },
      ],
    });
  });

  it('takes the money again where it is returned itself', async () => {
    const id = await idOf(payout(ada, euros('10.00'), euros('0.50')));
    const returnId = await idOf({ entries: [await returnEntry(world.database, NORTH, id)] });
    expect((await holding(world, ada)).balance).toBe(euros('99.50'));

    const entry = await returnEntry(world.database, NORTH, returnId);
    await idOf({ entries: [entry] });

    expect(entry).toMatchObject({
      returnOf: returnId,
      legs: [
        { account: ada, direction: 'debit', description: 'Reclaimed: Returned: Invoice 2107' },
        { account: 'settlement', direction: 'credit' },
      ],
    });
    expect((await holding(world, ada)).balance).toBe(euros('89.50'));
  });

  it('reverses a conversion with the amounts of both currencies', async () => {
    const [credited, debited] = [euros('10.00'), euros('11.70')];
    const id = await idOf(
      proposal([
        { account: ada, currencyId: EUR, direction: 'debit', amount: credited, type: 'spot' },
        { account: 'fx', currencyId: EUR, direction: 'credit', amount: credited, type: 'spot' },
        { account: 'fx', currencyId: USD, direction: 'debit', amount: debited, type: 'spot' },
        { account: 'settlement', currencyId: USD, direction: 'credit', amount: debited, type: 'spot' },
      ]),
    );

    const { legs } = await returnEntry(world.database, NORTH, id);

    expect(legs).toMatchObject([
      { account: ada, currencyId: EUR, direction: 'credit', amount: credited },
      { account: 'fx', currencyId: EUR, direction: 'debit', amount: credited },
      { account: 'fx', currencyId: USD, direction: 'credit', amount: debited },
      { account: 'settlement', currencyId: USD, direction: 'debit', amount: debited },
    ]);
  });
});

describe('the return of a transaction', () => {
  it.each<[string, (bob: number) => Proposal]>([
    ['that credited a customer', () => comeback(ada, euros('1.00'))],
    ['between two customers', (bob) => payment(ada, bob, euros('1.00'))],
  ])('%s has no description where the transfers have none', async (_what, proposalTo) => {
    const id = await idOf(proposalTo(await account(world)));

    const { legs } = await returnEntry(world.database, NORTH, id);

    expect(legs.map(({ description }) => description)).toEqual([undefined, undefined]);
  });

  it('fails where the workspace has no such transaction', async () => {
    const id = await idOf(payout(ada, euros('1.00'), euros('0.10')));

    await expect(returnEntry(world.database, SOUTH, id)).rejects.toThrow(`there is no transaction ${id} to return`);
    await expect(returnEntry(world.database, NORTH, id + 1_000_000)).rejects.toThrow('to return');
  });
});
