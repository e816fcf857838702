import { Refusal } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { until } from '@banking/postgres/testing';
import { decide } from './decide.js';
import { lockAndRead } from './lock-and-read.js';
import { preparePosting } from './prepare-posting.js';
import type { Outcome, Proposal } from './proposal.js';
import { payment } from './testing/proposals.js';
import { account, euros, holding, NORTH, openWorld, plant, type World } from './testing/world.js';
import { verifyBooks } from './verify-books.js';
import { write } from './write.js';

let world: World;

beforeAll(async () => {
  // Longer than a test, so that a busy machine ends no wait.
  world = await openWorld({ lockTimeoutMs: 60_000, statementTimeoutMs: 60_000 });
});
afterAll(() => world.close());
afterEach(async () => {
  expect((await verifyBooks(world.database, [NORTH])).findings).toEqual([]);
});

/** How many sessions wait for a lock. */
async function countWaiting(): Promise<number> {
  const { rows } = await world.owner.query<{ count: bigint }>(
    `select pg_stat_clear_snapshot(), count(*) as count from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return Number(rows[0]?.count);
}

describe('lockAndRead', () => {
  it('reads after it has locked', async () => {
    const [ada, bob] = [await account(world, '1.00'), await account(world)];
    const proposal = payment(ada, bob, euros('0.40'));
    const readBalance = sqlStatement<{ balance: bigint }>('spec.balance', 'select balance from account where id = $1');
    const spend = async () => {
      const posting = await preparePosting(world.books, [proposal]);
      return world.database.transaction({ workspaces: posting.workspaces }, async (tx) => {
        const { context, rows } = await lockAndRead(tx, posting, [bind(readBalance, ada)] as const);
        await write(tx, decide(context, proposal).posted ?? []);
        return rows[0][0]?.balance;
      });
    };

    const balances = await Promise.all([spend(), spend()]);

    expect(new Set(balances)).toEqual(new Set([100n, 60n]));
  });

  it('locks in the order of ids, also if a proposal names a later account first', async () => {
    const [first, second] = [await account(world, '1.00'), await account(world, '1.00')];
    const posting = await preparePosting(world.books, [payment(second, first, euros('0.10'))]);
    await world.owner.query('begin');
    await world.owner.query('select from account where id = $1 for update', [first]);

    let isOver = false;
    const locking = world.database
      .transaction({ workspaces: posting.workspaces }, (tx) => lockAndRead(tx, posting))
      .finally(() => (isOver = true));
    await until(async () => isOver || (await countWaiting()) > 0);
    const free = await world.owner.query('select id from account where id = $1 for update skip locked', [second]);
    await world.owner.query('rollback');
    await locking;

    expect(free.rows).toEqual([{ id: BigInt(second) }]);
  });

  it('leaves out accounts that another session has locked, if asked to', async () => {
    const [locked, free, bob] = [await account(world, '1.00'), await account(world, '1.00'), await account(world)];
    await world.owner.query('begin');
    await world.owner.query('select from account where id = $1 for update', [locked]);
    const proposals: readonly Proposal[] = [
      payment(locked, bob, euros('0.10')),
      payment(free, bob, euros('0.10')),
      payment(free, locked, euros('0.10')),
      { entries: [], accountToLock: { workspaceId: NORTH, accountId: locked } },
    ];

    const posting = await preparePosting(world.books, proposals);
    const isLocked = await world.database.transaction({ workspaces: posting.workspaces }, async (tx) => {
      const { context } = await lockAndRead(tx, posting, [], { skipsLocked: true });
      const [, second] = proposals;
      await write(tx, decide(context, second!).posted ?? []);
      return proposals.map((proposal) => context.hasLocked(proposal));
    });
    await world.owner.query('rollback');

    expect(isLocked).toEqual([false, true, false, false]);
    expect(await holding(world, locked)).toMatchObject({ balance: 100n });
    expect(await holding(world, bob)).toMatchObject({ balance: 10n });
  });

  it('locks the account of a proposal that moves no money', async () => {
    const ada = await account(world, '1.00');
    const posting = await preparePosting(world.books, [
      { entries: [], accountToLock: { workspaceId: NORTH, accountId: ada } },
    ]);

    const rows = await world.database.transaction({ workspaces: posting.workspaces }, async (tx) => {
      await lockAndRead(tx, posting);
      return (await world.owner.query('select id from account where id = $1 for update skip locked', [ada])).rows;
    });

    expect(rows).toEqual([]);
  });
});

describe('write', () => {
  const rename = sqlStatement<{ alias: string }>(
    'spec.rename',
    'update account set alias = $2 where id = $1 returning alias',
  );

  it('commits statements alongside the books and returns their rows', async () => {
    const [ada, bob] = [await account(world, '1.00'), await account(world)];
    const proposal = payment(ada, bob, euros('0.40'));
    const posting = await preparePosting(world.books, [proposal]);

    const rows = await world.database.transaction({ workspaces: posting.workspaces }, async (tx) => {
      const { context } = await lockAndRead(tx, posting);
      return write(tx, decide(context, proposal).posted ?? [], [bind(rename, ada, 'Paid')] as const);
    });

    expect(rows).toEqual([[{ alias: 'Paid' }]]);
    expect(await holding(world, ada)).toMatchObject({ balance: 60n });
  });

  it('commits statements where nothing was posted', async () => {
    const ada = await account(world);
    const posting = await preparePosting(world.books, [
      { entries: [], accountToLock: { workspaceId: NORTH, accountId: ada } },
    ]);

    await world.database.transaction({ workspaces: posting.workspaces }, async (tx) => {
      await lockAndRead(tx, posting);
      await write(tx, [], [bind(rename, ada, 'Renamed')]);
    });

    const { rows } = await world.owner.query('select alias from account where id = $1', [ada]);
    expect(rows).toEqual([{ alias: 'Renamed' }]);
  });
});

describe('a leg with a refusal of its own', () => {
  it('is refused with it, also if the account has a fault', async () => {
    const [ada, bob] = [await account(world, '1.00'), await account(world)];
    await plant(world, `update account set status = 'disabled' where id = $1`, [bob]);
    const refusedAs = new Refusal('recipient_invalid');
    const [entry] = payment(ada, bob, euros('0.10')).entries;
    const legs = entry!.legs.map((leg) => (leg.account === bob ? { ...leg, refusedAs } : leg));
    const proposal = { entries: [{ ...entry!, legs }] };
    const posting = await preparePosting(world.books, [proposal]);

    const outcome = await world.database.transaction({ workspaces: posting.workspaces }, async (tx): Promise<Outcome> =>
      decide((await lockAndRead(tx, posting)).context, proposal),
    );

    expect(outcome).toEqual({ refused: refusedAs });
  });
});
