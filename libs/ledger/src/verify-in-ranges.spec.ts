import { openBooks } from './books.js';
import type { RangeProgress } from './ranges.js';
import { crossing, funding, payment, payout } from './testing/proposals.js';
import { account, euros, NORTH, openWorld, plant, posted, SOUTH, type World } from './testing/world.js';
import { verifyBooks } from './verify-books.js';

let world: World;
let ada: number;
let bob: number;
let eve: number;

beforeEach(async () => {
  world = await openWorld();
  ada = await account(world, '100.00');
  bob = await account(world, '0.00');
  eve = await account(world, '5.00', { workspaceId: SOUTH });
  for (let count = 0; count < 6; count += 1) await posted(world, ...movements());
});
afterEach(() => world.close());

const movements = () => [
  payment(ada, bob, euros('1.00')),
  payout(bob, euros('0.10'), euros('0.01')),
  crossing({ workspaceId: NORTH, account: ada }, { workspaceId: SOUTH, account: eve }, euros('0.50')),
  crossing({ workspaceId: SOUTH, account: eve }, { workspaceId: NORTH, account: bob }, euros('0.25')),
];

const verify = (workspaces: readonly number[], onRange?: (progress: RangeProgress) => Promise<void>) =>
  verifyBooks(world.database, workspaces, { isWhole: workspaces.length === 2, rangeRows: 3, onRange });

/** Books whose next ids are lower than existing ids, so that their transactions are in later ranges. */
async function booksWithLowIds(): Promise<World> {
  const low = { ...world, books: openBooks(world.database) };
  await posted(low, funding(ada, euros('1.00')));
  await posted({ ...world, books: openBooks(world.database) }, funding(ada, euros('1.00')));
  return low;
}

describe('a verification in ranges of a few rows', () => {
  it.each([[[NORTH, SOUTH]], [[NORTH]]])(
    'has no findings while money moves between the ranges of workspaces %j',
    async (workspaces) => {
      const low = await booksWithLowIds();
      const before = await verify(workspaces);
      let ranges = 0;

      const { findings, ...proof } = await verify(workspaces, async () => {
        ranges += 1;
        if (ranges > 30) return;
        await posted(low, ...movements());
        await account(low, '0.10');
      });

      expect(findings).toEqual([]);
      expect(ranges).toBeGreaterThan(30);
      // A workspace is proved as of the start of its own reading.
      if (workspaces.length === 1) expect(proof).toEqual({ ...before, findings: undefined });
    },
  );

  it('has no open database transaction between ranges', async () => {
    const open: number[] = [];

    await verify([NORTH, SOUTH], async () => {
      const { rows } = await world.owner.query<{ open: number }>(
        `select count(*)::int as open from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null and backend_type = 'client backend'`,
      );
      open.push(rows[0]!.open);
    });

    expect(open.length).toBeGreaterThan(30);
    expect(new Set(open)).toEqual(new Set([0]));
  });

  it('finds a fault behind the first range once', async () => {
    await plant(world, `update account set balance = balance + 1 where id = $1`, [bob]);
    await plant(world, `update transfer set balance_after = 1 where account_id = $1 and account_version = 7`, [bob]);

    const details = (await verify([NORTH])).findings
      .map(({ detail }) => detail)
      .filter((detail) => detail.includes(`account ${bob}`));

    expect(details).toEqual([
      expect.stringMatching(`does not continue account ${bob}`),
      expect.stringMatching(`account ${bob} holds`),
    ]);
  });
});
