import { DatabaseError, SQLSTATE } from '@banking/postgres';
import { post } from './post.js';
import type { Proposal } from './proposal.js';
import { comeback, funding, payment, payout } from './testing/proposals.js';
import { account, euros, holding, NORTH, openWorld, type World } from './testing/world.js';
import { verifyBooks } from './verify-books.js';

let world: World;
let ada: number;
let bob: number;
/** Of Ada's payout of ten euros. */
let transactionId: number;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => {
  expect((await verifyBooks(world.database, [NORTH])).findings).toEqual([]);
  await world.close();
});
beforeEach(async () => {
  [ada, bob] = [await account(world, '20.00'), await account(world)];
  const [outcome] = await post(world.books, [payout(ada, euros('10.00'), euros('0.50'))]);
  transactionId = outcome!.posted![0]!.id;
});

const giveBack = (): Proposal => ({
  entries: comeback(ada, euros('10.00')).entries.map((entry) => ({ ...entry, returnOf: transactionId })),
});

describe('a batch that the database rejects', () => {
  it('writes nothing and throws, if it returns one transaction twice', async () => {
    const batch = [giveBack(), payment(ada, bob, euros('19.00')), giveBack(), funding(bob, euros('1.00'))];

    await expect(post(world.books, batch)).rejects.toBeInstanceOf(DatabaseError);

    expect((await holding(world, ada)).balance).toBe(950n);
    expect((await holding(world, bob)).balance).toBe(0n);
  });

  it('is rejected if it is a second return alone', async () => {
    await post(world.books, [giveBack()]);

    await expect(post(world.books, [giveBack()])).rejects.toMatchObject({ code: SQLSTATE.uniqueViolation });
  });
});
