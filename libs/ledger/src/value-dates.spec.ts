import { SQLSTATE } from '@banking/postgres';
import * as fc from 'fast-check';
import { minorUnits } from '@banking/domain';
import { sql } from '@banking/postgres/testing';
import { post } from './post.js';
import { funding, payment, proposal } from './testing/proposals.js';
import { account, euros, NORTH, openWorld, plant, posted, SOUTH, type World } from './testing/world.js';
import { verifyBooks } from './verify-books.js';
import { VALUE_DATES_CHECK } from './verify-value-dates.js';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const dayOf = (day: number) => `2026-03-${String(day).padStart(2, '0')}`;
const findings = async () => (await verifyBooks(world.database, [NORTH, SOUTH])).findings;

/** A payment between the accounts with a value date. */
function dated(from: number, to: number, day: number) {
  const [entry] = payment(from, to, minorUnits(1n)).entries;
  return proposal(entry!.legs, { valueDate: dayOf(day) });
}

/** Runs of an account: what starts each, and whether it is a highest one. */
async function runsOf(accountId: number) {
  const { rows } = await world.owner.query<{ run: string }>(
    `select format('%s %s %s%s', first_version, to_char(value_date, 'MM-DD'), opening_balance, case when is_highest then ' highest' end) as run
     from value_date_run where account_id = $1 order by first_version`,
    [accountId],
  );
  return rows.map(({ run }) => run);
}

/** The back-valued amounts of an account by day. */
async function totalsOf(accountId: number) {
  const { rows } = await world.owner.query<{ total: string }>(
    `select to_char(value_date, 'MM-DD') || ' ' || amount as total from back_valued_total where account_id = $1 order by value_date`,
    [accountId],
  );
  return rows.map(({ total }) => total);
}

const batches = fc.array(
  fc.array(fc.record({ day: fc.integer({ min: 1, max: 6 }), isBack: fc.boolean() }), { minLength: 1, maxLength: 6 }),
  { minLength: 1, maxLength: 6 },
);

describe('payments with value dates in any order, several in one INSERT', () => {
  it('store the value dates of the transfers', async () => {
    await fc.assert(
      fc.asyncProperty(batches, async (list) => {
        const [ada, bob] = [await account(world, '10.00'), await account(world, '10.00')];
        for (const batch of list) {
          const proposals = batch.map(({ day, isBack }) => (isBack ? dated(bob, ada, day) : dated(ada, bob, day)));
          for (const outcome of await post(world.books, proposals)) expect(outcome).toHaveProperty('posted');
        }
        expect(await findings()).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });
});

describe('an account', () => {
  it('has one run for the transfers of one day', async () => {
    const [ada, bob] = [await account(world), await account(world)];
    await posted(world, funding(ada, euros('1.00')));
    for (let times = 0; times < 3; times += 1) await posted(world, payment(ada, bob, euros('0.10')));

    expect(await runsOf(ada)).toEqual(['1 11-21 0 highest']);
    expect(await runsOf(bob)).toEqual(['1 11-21 0 highest']);
    expect(await totalsOf(ada)).toEqual([]);
  });

  it('has runs with their balances, and days with their amounts, for back-valued transfers', async () => {
    const [ada, bob] = [await account(world), await account(world)];
    await posted(world, funding(ada, euros('1.00')));
    await posted(world, dated(ada, bob, 20), dated(ada, bob, 20));
    await posted(world, dated(ada, bob, 20));
    await posted(world, dated(ada, bob, 22), funding(ada, euros('1.00')));

    expect(await runsOf(ada)).toEqual(['1 11-21 0 highest', '2 03-20 100', '5 03-22 97', '6 11-21 96']);
    expect(await totalsOf(ada)).toEqual(['03-20 -3', '03-22 -1', '11-21 4']);
    expect(await findings()).toEqual([]);
  });
});

describe('the role of the app', () => {
  it.each([
    ['writes a run', `insert into value_date_run values (1, 1, 1, '2026-01-01', 0, true)`],
    ['edits a run', 'update value_date_run set opening_balance = 0'],
    ['removes a run', 'delete from value_date_run'],
    ['writes a total', `insert into back_valued_total values (1, 1, '2026-01-01', 0)`],
    ['edits a total', 'update back_valued_total set amount = 0'],
    ['removes a total', 'delete from back_valued_total'],
    ['edits the value date of an account', 'update account set value_date = null'],
  ])('has no right if it %s', async (_what, text) => {
    await expect(world.database.pipeline({ workspaces: [NORTH] }, [sql(text)])).rejects.toMatchObject({
      code: SQLSTATE.insufficientPrivilege,
    });
  });
});

describe('a fault in the value dates', () => {
  let ada: number;
  beforeEach(async () => {
    ada = await account(world);
    const bob = await account(world);
    await posted(world, funding(ada, euros('1.00')));
    await posted(world, dated(ada, bob, 20), dated(ada, bob, 22));
    expect(await findings()).toEqual([]);
  });
  afterEach(async () => {
    await world.close();
    world = await openWorld();
  });

  it.each([
    ['a run is missing', 'delete from value_date_run where account_id = $1 and first_version = 2'],
    [
      'a run has another day',
      `update value_date_run set value_date = '2026-03-19' where account_id = $1 and first_version = 2`,
    ],
    [
      'a run has another balance',
      'update value_date_run set opening_balance = 1 where account_id = $1 and first_version = 2',
    ],
    [
      'a run passes for a highest one',
      'update value_date_run set is_highest = true where account_id = $1 and first_version = 2',
    ],
    ['a run too many', `insert into value_date_run values (1, $1, 4, '2026-03-22', 98, false)`],
    ['a total is missing', `delete from back_valued_total where account_id = $1 and value_date = '2026-03-20'`],
    ['a total has another amount', 'update back_valued_total set amount = amount + 1 where account_id = $1'],
    ['a total too many', `insert into back_valued_total values (1, $1, '2026-03-01', 1)`],
    ['an account has a value date of its own', `update account set value_date = '2026-03-22' where id = $1`],
  ])('is found where %s', async (_what, text) => {
    await plant(world, text, [ada]);

    const found = await findings();

    expect(new Set(found.map(({ check }) => check))).toEqual(new Set([VALUE_DATES_CHECK]));
    expect(found.every(({ detail, workspaceId }) => detail.includes(`account ${ada} `) && workspaceId === NORTH)).toBe(
      true,
    );
  });
});
