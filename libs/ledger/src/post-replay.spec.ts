import { DatabaseError } from '@banking/postgres';
import { post } from './post.js';
import type { Outcome, Proposal } from './proposal.js';
import { comeback, funding, payment, payout } from './testing/proposals.js';
import { account, euros, holding, NORTH, openWorld, sql, type World } from './testing/world.js';
import { verifyBooks } from './verify.js';

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
const wordOf = ({ posted, refused, failed }: Outcome) =>
  posted ? 'posted' : (refused?.reason ?? (failed as DatabaseError).code);

describe('Given a batch that returns one transaction twice', () => {
  it('When it is posted, Then only the second return fails, and the rest is written in its order', async () => {
    const outcomes = await post(world.books, [
      giveBack(),
      payment(ada, bob, euros('19.00')),
      giveBack(),
      payment(ada, bob, euros('5.00')),
      funding(bob, euros('1.00')),
    ]);

    expect(outcomes.map(wordOf)).toEqual(['posted', 'posted', '23505', 'insufficient_funds', 'posted']);
    expect((await holding(world, ada)).balance).toBe(50n);
    expect((await holding(world, bob)).balance).toBe(2_000n);
  });

  it('When it writes alongside, Then each write goes the way of its proposal', async () => {
    const batch = [giveBack(), giveBack(), funding(bob, euros('1.00'))];
    const aliases = new Map([ada, ada, bob].map((id, index) => [batch[index]!, [id, `by ${index}`] as const]));
    const name = 'update account set alias = $3 where workspace_id = $1 and id = $2';

    await post(world.books, batch, (outcomes, proposals) =>
      outcomes.flatMap(({ posted }, at) => (posted ? [sql(name, NORTH, ...aliases.get(proposals[at]!)!)] : [])),
    );

    const { rows } = await world.owner.query('select alias from account where id in ($1, $2) order by id', [ada, bob]);
    expect(rows).toEqual([{ alias: 'by 0' }, { alias: 'by 2' }]);
  });

  it('When a return comes alone after the first, Then it fails for whoever proposed it', async () => {
    await post(world.books, [giveBack()]);

    await expect(post(world.books, [giveBack()])).rejects.toBeInstanceOf(DatabaseError);
  });
});
