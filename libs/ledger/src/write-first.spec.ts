import { bind, SQLSTATE, sqlStatement } from '@banking/postgres';
import { until } from '@banking/postgres/testing';
import { decide } from './decide.js';
import { lockAndRead } from './lock-and-read.js';
import { preparePosting } from './prepare-posting.js';
import { funding } from './testing/proposals.js';
import { account, euros, holding, NORTH, openWorld, type World } from './testing/world.js';
import { writeFirst } from './write.js';

const fail = bind(sqlStatement('write_first.fail', 'select 1 / 0'));

let world: World;
let ada: number;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  ada = await account(world);
});

/** Posts so many fundings of a euro, with the rest. */
async function fund(count: number, rest: () => Promise<ReturnType<typeof bind>[]>): Promise<void> {
  const proposals = Array.from({ length: count }, () => funding(ada, euros('1.00')));
  const posting = await preparePosting(world.books, proposals);
  await world.database.transaction({ workspaces: [NORTH] }, async (tx) => {
    const { context } = await lockAndRead(tx, posting);
    await writeFirst(
      tx,
      proposals.flatMap((proposal) => decide(context, proposal).posted ?? []),
      rest,
    );
  });
}

const balance = async () => (await holding(world, ada)).balance;
const isIdle = () => world.database.stats().idle === world.database.stats().total;

describe.each([1, 64])('a posting of %i transactions with other statements', (count) => {
  it('is committed with them', async () => {
    let isMade = false;
    await fund(count, async () => {
      isMade = true;
      return [bind(sqlStatement('write_first.note', 'select 1'))];
    });

    expect([isMade, await balance()]).toEqual([true, BigInt(count) * 100n]);
  });

  it('is rolled back where they cannot be made, with that error', async () => {
    const error = new Error('not made');

    await expect(fund(count, () => Promise.reject(error))).rejects.toBe(error);
    expect([await balance(), isIdle()]).toEqual([0n, true]);
  });

  it('is rolled back where one of them fails', async () => {
    await expect(fund(count, () => Promise.resolve([fail]))).rejects.toMatchObject({ code: SQLSTATE.divisionByZero });
    expect([await balance(), isIdle()]).toEqual([0n, true]);
  });
});

it('writes many transactions while the other statements are made', async () => {
  const isWriting = async () => {
    const { rows } = await world.owner.query(
      `select from pg_locks l join pg_class c on c.oid = l.relation
       where c.relname = 'transfer' and l.mode = 'RowExclusiveLock'`,
    );
    return rows.length > 0;
  };

  await fund(64, async () => {
    await until(isWriting);
    return [];
  });

  expect(await balance()).toBe(6_400n);
});
