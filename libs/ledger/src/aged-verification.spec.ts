import { type BoundStatement, sqlStatement } from '@banking/postgres';
import { PlanProbe, testOrProve } from '@banking/postgres/testing';
import { readBooked } from './booked-transactions.js';
import { preparePosting } from './books.js';
import { decide } from './decide.js';
import { lockAndRead, postingValues } from './post.js';
import { type Proposal, requirePosted } from './proposal.js';
import { MOVED, returnEntry } from './return-entry.js';
import { account, euros, NORTH, openWorld, payment, payout, plant, post, posted, type World } from './testing/world.js';
import { DELETE_VERIFIED, deleteVerified, NEXT_UNVERIFIED, nextUnverified } from './verify-stored.js';
import { findAccountFaults, findMisfits, findStepFaults } from './verify-chain.js';

const TRANSFERS = testOrProve(40_000, 200_000);
const NEW = 5;
/** The most pages that a statement may read for each new transaction, and rows that it may drop. */
const COST_MAX = 60;
let world: World;
let ada: number;
const planned: Record<string, PlanProbe> = {};

/** The statements of a run with the types of their parameters. */
const STATEMENTS: Readonly<Record<string, readonly [Pick<BoundStatement<unknown>, 'statement'>, string]>> = {
  'the new transactions are found': [{ statement: NEXT_UNVERIFIED }, 'bigint, int, bigint[]'],
  'they are read': [readBooked(NORTH, []), 'bigint, bigint[]'],
  'their transfers are compared': [findStepFaults(NORTH, []), 'bigint, bigint[], bigint[], bigint[]'],
  'the kinds of their accounts are compared': [findMisfits(NORTH, []), 'bigint, bigint[], boolean[]'],
  'their accounts are compared': [findAccountFaults(NORTH, []), 'bigint, bigint[]'],
  'they are noted as verified': [{ statement: DELETE_VERIFIED }, 'bigint[]'],
};

beforeAll(async () => {
  world = await openWorld({ statementTimeoutMs: 120_000 });
  ada = await account(world, '100.00');
  const bob = await account(world, '1.00');
  for (const [name, [{ statement }, types]] of Object.entries(STATEMENTS)) {
    planned[name] = await PlanProbe.open(world, statement, types);
    // Plans are cached, and this one is made for tables with a few rows.
    await planned[name].cost(
      types
        .split(', ')
        .map((type) => `null::${type}`)
        .join(', '),
      [NORTH],
    );
  }
  await plant(
    world,
    `with made as (
       insert into transaction (workspace_id, status, hash)
       select ${NORTH}, 'completed', decode(repeat('0', 64), 'hex') from generate_series(1, $2::int / 2) returning id),
     numbered as (select id, row_number() over (order by id) as n from made),
     own as (select id from account where kind = 'settlement' and workspace_id = ${NORTH})
     insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, account_version, balance_after, own_legs)
     select ${NORTH}, m.id, $1, 978, 'credit', 1, 'funding', m.n + 1, 10000 + m.n,
            array[row(nextval('transfer_id_seq'), (select id from own), 978, 'funding', -1)::own_leg]
     from numbered m order by m.n`,
    [ada, TRANSFERS],
  );
  await plant(
    world,
    `update account set version = $2::int / 2 + 1, balance = 10000 + $2::int / 2,
                        balance_id = (select max(id) from transfer where account_id = $1) where id = $1`,
    [ada, TRANSFERS],
  );
  await deleteVerified(world.database, await unverified());
  for (let count = 0; count < NEW; count += 1) await posted(world, payment(ada, bob, euros('0.01')));
});
afterAll(async () => {
  await Promise.all(Object.values(planned).map((probe) => probe.close()));
  await world.close();
});

const unverified = async () => (await nextUnverified(world.database, 0, 100)).transactions;

async function values(): Promise<Readonly<Record<string, string>>> {
  const rows = await unverified();
  expect(rows).toHaveLength(NEW);
  const list = (ids: readonly (number | boolean)[]) => `array[${ids.join(', ')}]`;
  const transactions = list(rows.map(({ transactionId }) => transactionId));
  const last = TRANSFERS / 2 + 1 + NEW;
  return {
    'the new transactions are found': "0, 1000, '{}'",
    'they are read': `${NORTH}, ${transactions}`,
    'their transfers are compared': `${NORTH}, ${list([ada])}, ${list([last - NEW + 1])}, ${list([last])}`,
    'the kinds of their accounts are compared': `${NORTH}, ${list([ada])}, ${list([true])}`,
    'their accounts are compared': `${NORTH}, ${list([ada])}`,
    'they are noted as verified': list(rows.map(({ postingId }) => postingId)),
  };
}

async function expensive(isIncluded = (_name: string) => true): Promise<Readonly<Record<string, number>>> {
  const costs: Record<string, number> = {};
  for (const [name, text] of Object.entries(await values()).filter(([one]) => isIncluded(one))) {
    const [{ statement }, types] = STATEMENTS[name]!;
    const fresh = await PlanProbe.open(world, statement, types);
    for (const [when, probe] of [
      ['before', planned[name]!],
      ['now', fresh],
    ] as const) {
      const { buffers, filtered } = await probe.cost(text, [NORTH]);
      if (buffers + filtered > NEW * COST_MAX) costs[`${name}, planned ${when}`] = buffers + filtered;
    }
    await fresh.close();
  }
  return costs;
}

describe(`${NEW} new transactions of an account with very many transfers`, () => {
  it('are found and noted with few pages read before the tables have statistics', async () => {
    const ofQueue = ['the new transactions are found', 'they are noted as verified'];

    expect(await expensive((name) => ofQueue.includes(name))).toEqual({});
  });

  it('are verified with few pages read once they have statistics', async () => {
    // Autovacuum does this after some time. It also replaces the plans of sessions.
    await world.owner.query('analyze');

    expect(await expensive()).toEqual({});
  });
});

describe('a return beside very many transactions', () => {
  it('is made and posted with few pages read', async () => {
    const { database, books } = world;
    const [outcome] = await post(books, [payout(ada, euros('1.00'), euros('0.10'))]);
    const [paid] = requirePosted(outcome!);
    const returned: Proposal = { entries: [await returnEntry(database, NORTH, paid!.id)] };
    const prepared = await preparePosting(books, [returned]);
    const moved = await PlanProbe.open(world, MOVED, 'bigint[], bigint[]');
    const writes = await PlanProbe.open(
      world,
      sqlStatement('probed_returns', 'select post_returns($1, $2)'),
      'posted_transaction[], posted_transfer[]',
    );

    const { buffers, filtered } = await moved.cost(`array[${NORTH}], array[${paid!.id}]`, [NORTH]);
    expect(buffers + filtered).toBeLessThan(COST_MAX);
    const decided = await database.transaction({ workspaces: [NORTH] }, async (tx) => {
      const { context } = await lockAndRead(tx, prepared);
      return requirePosted(decide(context, returned));
    });
    const [transactions, transfers] = postingValues(decided) as [string[], string[]];
    const list = (values: readonly string[]) => `array[${values.map((value) => `'${value}'`).join(', ')}]`;
    const values = `${list(transactions)}::posted_transaction[], ${list(transfers)}::posted_transfer[]`;
    // The first call of a session also reads the catalog, for its plans.
    await writes.cost(values, [NORTH]);
    const cost = await writes.cost(values, [NORTH]);
    expect(cost.buffers + cost.filtered).toBeLessThan(10 * COST_MAX);

    await moved.close();
    await writes.close();
  });
});
