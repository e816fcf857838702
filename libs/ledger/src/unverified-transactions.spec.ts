import { crossing, funding } from './testing/proposals.js';
import { account, euros, NORTH, openWorld, posted, SOUTH, type World } from './testing/world.js';
import { deleteVerified, nextUnverified } from './unverified-transactions.js';

let world: World;
let ada: number;

beforeEach(async () => {
  world = await openWorld();
  ada = await account(world, '100.00');
  await deleteVerified(world.database, (await next(0, 1_000)).transactions);
});
afterEach(() => world.close());

const next = (afterId: number, limit: number) => nextUnverified(world.database, afterId, limit);
/** Posts transactions with one INSERT of transfers. */
const fund = (count: number) => posted(world, ...Array.from({ length: count }, () => funding(ada, euros('0.01'))));
const postings = async () =>
  (
    await world.owner.query<{ size: number }>(
      'select cardinality(transaction_ids) as size from unverified_posting order by id',
    )
  ).rows;

describe('unverified transactions', () => {
  it('are noted in one row for each INSERT of transfers', async () => {
    await fund(64);
    await fund(1);

    expect(await postings()).toEqual([{ size: 64 }, { size: 1 }]);
  });

  it('are noted with their workspaces', async () => {
    const eve = { workspaceId: SOUTH, account: await account(world, '0.00', { workspaceId: SOUTH }) };

    await posted(world, crossing({ workspaceId: NORTH, account: ada }, eve, euros('1.00')));

    const { transactions } = await next(0, 1_000);
    expect(transactions.map(({ workspaceId }) => workspaceId)).toEqual([NORTH, SOUTH]);
    const { rows } = await world.owner.query(
      `select from transaction x where (workspace_id, id) in (($1, $2), ($3, $4))`,
      transactions.flatMap(({ workspaceId, transactionId }) => [workspaceId, transactionId]),
    );
    expect(rows).toHaveLength(2);
  });

  it('are read in batches of whole postings up to the limit', async () => {
    for (const count of [3, 4, 5, 2]) await fund(count);

    const first = await next(0, 8);
    const second = await next(first.transactions.at(-1)!.postingId, 8);

    expect([first.transactions.length, first.hasMore]).toEqual([7, true]);
    expect([second.transactions.length, second.hasMore]).toEqual([7, false]);
    const ids = [...first.transactions, ...second.transactions].map(({ transactionId }) => transactionId);
    expect(new Set(ids).size).toBe(14);
  });

  it('are a batch of their own if one posting has more than the limit', async () => {
    for (const count of [20, 1]) await fund(count);

    const { transactions, hasMore } = await next(0, 8);

    expect([transactions.length, hasMore]).toEqual([20, true]);
  });

  it('stay if their posting is not of the batch that was verified', async () => {
    for (const count of [2, 3]) await fund(count);

    await deleteVerified(world.database, (await next(0, 2)).transactions);

    expect(await postings()).toEqual([{ size: 3 }]);
    expect(await next(0, 2)).toMatchObject({ hasMore: false });
  });
});
