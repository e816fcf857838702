import { openDatabase } from '@banking/postgres/testing';
import { currencies } from '@banking/domain';
import { APP_ROLE, SCHEMA } from '@banking/postgres';
import { openBooks, type Books } from './books.js';
import { post } from './post.js';
import type { Outcome } from './proposal.js';
import { crossing, funding, payment, payout, proposal } from './testing/proposals.js';
import { account, EUR, euros, holding, NORTH, openWorld, plant, SOUTH, type World } from './testing/world.js';
import { verifyBooks } from './verify-books.js';

let world: World;
/** Books with separate connections and reserved ids, as in another process. */
let others: Books;

beforeAll(async () => {
  world = await openWorld();
  others = openBooks(await openDatabase({ connection: world.connection, role: APP_ROLE, schema: SCHEMA }));
});
afterAll(async () => {
  await others.database.end();
  await world.close();
});
afterEach(async () => {
  expect((await verifyBooks(world.database, [NORTH, SOUTH])).findings).toEqual([]);
});

const range = (length: number) => Array.from({ length }, (_, index) => index);

describe('concurrent postings', () => {
  it('spend no more than the account holds', async () => {
    const [ada, bob] = [await account(world, '10.00'), await account(world)];

    const work = range(40).map((at) => post(at % 2 ? world.books : others, [payment(ada, bob, euros('0.40'))]));
    const outcomes = (await Promise.all(work)).flat();

    expect(outcomes.filter((outcome) => outcome.posted)).toHaveLength(25);
    expect(await holding(world, ada)).toEqual({ balance: 0n, version: 26n });
    expect(await holding(world, bob)).toEqual({ balance: 1_000n, version: 25n });
  });

  it('keep the history of each account in order of time', async () => {
    const hot = await account(world, '10.00');
    const [early, late] = [await account(world), await account(world)];

    const work = range(40).map((at) =>
      post(at % 2 ? world.books : others, [payment(hot, at % 3 ? early : late, euros('0.01'))]),
    );
    await Promise.all(work);

    const { rows } = await world.owner.query(
      `select t.account_id, t.account_version from transfer t
       join transfer b on b.account_id = t.account_id and b.account_version = t.account_version - 1
       join transaction x on x.id = t.transaction_id
       join transaction y on y.id = b.transaction_id
       where t.created_at < b.created_at or x.created_at < y.created_at
       union all
       select a.id, a.version from account a
       join transfer t on t.account_id = a.id and t.account_version = a.version
       where a.balance_at <> t.created_at`,
    );
    expect(rows).toEqual([]);
  });

  it('keep the sum of all balances', async () => {
    const ring: number[] = [];
    while (ring.length < 6) ring.push(await account(world, '1.00'));

    const work = range(48).map((at) => {
      const [from, to] = [ring[at % 6]!, ring[(at * 5 + 1) % 6]!];
      return post(at % 2 ? world.books : others, [payment(from, to, euros('0.30')), payment(to, from, euros('0.20'))]);
    });
    await Promise.all(work);

    const { rows } = await world.owner.query('select sum(balance) as held from account where id = any($1)', [ring]);
    expect(rows).toEqual([{ held: '600' }]);
  });

  it('have distinct ids', async () => {
    const hot = await account(world);

    const work = range(30).map(() =>
      post(
        world.books,
        range(20).map(() => funding(hot, euros('0.01'))),
      ),
    );
    const transactions = (await Promise.all(work)).flat().flatMap((outcome) => outcome.posted ?? []);

    expect(new Set(transactions.map(({ id }) => id)).size).toBe(600);
  });
});

describe('two processes with the same accounts in opposite order', () => {
  it('do not deadlock', async () => {
    const here = [await account(world, '9.00'), await account(world, '9.00'), await account(world, '9.00')];
    const there = [
      await account(world, '9.00', { workspaceId: SOUTH }),
      await account(world, '9.00', { workspaceId: SOUTH }),
    ];
    const batch = [
      ...here.map((from) => payout(from, euros('0.02'), euros('0.01'))),
      ...there.map((to) =>
        crossing({ workspaceId: NORTH, account: here[0]! }, { workspaceId: SOUTH, account: to }, euros('0.01')),
      ),
    ];
    // The database breaks a deadlock by failing one of the two, so that a batch would have no outcomes.
    for (let round = 0; round < 15; round++) {
      const outcomes = await Promise.all([post(world.books, batch), post(others, [...batch].reverse())]);

      expect(outcomes.flat().filter(({ posted }) => posted === undefined)).toEqual([]);
    }
  });
});

describe('own accounts that are not open yet', () => {
  const unopened = currencies()
    .map(({ numeric }) => numeric)
    .filter((numeric) => numeric !== EUR);
  beforeAll(() =>
    plant(
      world,
      `insert into currency (id, code, name) select n, chr(65 + n / 676) || chr(65 + n / 26 % 26) || chr(65 + n % 26), 'Currency' from unnest($1::int[]) n
       on conflict do nothing`,
      [unopened],
    ),
  );

  it('are opened once by concurrent postings in any order', async () => {
    const batch = unopened.map((currencyId) => {
      const leg = { currencyId, amount: euros('1.00'), type: 'spot' };
      return proposal([
        { ...leg, account: 'fx', direction: 'debit' },
        { ...leg, account: 'settlement', direction: 'credit' },
      ]);
    });
    const processes = range(6).map((at) => openBooks(at % 2 ? world.database : others.database));

    await Promise.all(processes.map((books, at) => post(books, at % 2 ? batch : [...batch].reverse())));

    const { rows } = await world.owner.query(
      `select count(*)::int as opened, count(distinct (currency_id, kind))::int as wanted from account where currency_id = any($1)`,
      [unopened],
    );
    expect(rows).toEqual([{ opened: unopened.length * 2, wanted: unopened.length * 2 }]);
  });

  it('are found by all concurrent postings', async () => {
    const outcomes: Outcome[] = [];
    for (const currencyId of unopened.slice(0, 30)) {
      const leg = { currencyId, amount: euros('1.00'), type: 'spot', account: 'settlement' } as const;
      const alone = proposal(
        [
          { ...leg, direction: 'debit' },
          { ...leg, direction: 'credit' },
        ],
        { workspaceId: SOUTH },
      );
      const processes = range(12).map((at) => openBooks(at % 2 ? world.database : others.database));
      outcomes.push(...(await Promise.all(processes.map((books) => post(books, [alone])))).flat());
    }

    expect(outcomes.filter(({ posted }) => posted === undefined)).toEqual([]);
  });
});
