import { currencies, Refusal, type RefusalReason } from '@banking/domain';
import { OPERATOR_ROLE, bind, SCHEMA, sqlStatement } from '@banking/postgres';
import { openDatabase, until } from '@banking/postgres/testing';
import { type Books, openBooks, ownAccountKey, preparePosting } from './books.js';
import { decide } from './decide.js';
import { lockAndRead } from './post.js';
import type { Outcome, Proposal } from './proposal.js';
import {
  account,
  crossing,
  EUR,
  euros,
  funding,
  holding,
  NORTH,
  openWorld,
  payment,
  payout,
  plant,
  post,
  proposal,
  SOUTH,
  type World,
  writeAny,
} from './testing/world.js';
import { verifyBooks } from './verify-books.js';

let world: World;

beforeAll(async () => {
  world = await openWorld({ lockTimeoutMs: 60_000, statementTimeoutMs: 60_000 });
});

afterAll(() => world.close());

afterEach(async () => {
  expect((await verifyBooks(world.database, [NORTH, SOUTH])).findings).toEqual([]);
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
        await tx.commit(writeAny(decide(context, proposal).posted ?? []));
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
      await tx.commit(writeAny(decide(context, second!).posted ?? []));
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

describe('a leg with a refusal of its own', () => {
  it('is refused with it, also if the account has a fault', async () => {
    const [ada, bob] = [await account(world, '1.00'), await account(world)];
    await plant(world, `update account set status = 'disabled' where id = $1`, [bob]);
    const refusal = new Refusal('recipient_invalid');
    const refusedAs = (reason: RefusalReason) => (reason === 'account_disabled' ? refusal : new Refusal(reason));
    const [entry] = payment(ada, bob, euros('0.10')).entries;
    const legs = entry!.legs.map((leg) => (leg.account === bob ? { ...leg, refusedAs } : leg));
    const proposal = { entries: [{ ...entry!, legs }] };
    const posting = await preparePosting(world.books, [proposal]);

    const outcome = await world.database.transaction({ workspaces: posting.workspaces }, async (tx): Promise<Outcome> =>
      decide((await lockAndRead(tx, posting)).context, proposal),
    );

    expect(outcome).toEqual({ refused: refusal });
  });
});

describe('post together', () => {
  /** Books with separate connections and reserved ids, as in another process. */
  let others: Books;

  beforeAll(async () => {
    others = openBooks(await openDatabase({ connection: world.connection, role: OPERATOR_ROLE, schema: SCHEMA }));
  });

  afterAll(async () => {
    await others.database.end();
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
        return post(at % 2 ? world.books : others, [
          payment(from, to, euros('0.30')),
          payment(to, from, euros('0.20')),
        ]);
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
      const batch: Proposal[] = [];
      for (const currencyId of unopened) {
        batch.push(funding(await account(world, '0.00', { currencyId }), euros('1.00'), { currencyId }));
      }
      const processes = range(6).map((at) => openBooks(at % 2 ? world.database : others.database));

      const outcomes = await Promise.all(
        processes.map((books, at) => post(books, at % 2 ? batch : [...batch].reverse())),
      );

      expect(outcomes.flat().filter(({ posted }) => posted === undefined)).toEqual([]);
      const { rows } = await world.owner.query(
        `select count(*)::int as opened, count(distinct (currency_id, kind))::int as wanted from account
         where currency_id = any($1) and kind <> 'customer'`,
        [unopened],
      );
      expect(rows).toEqual([{ opened: unopened.length, wanted: unopened.length }]);
    });

    it('are found by all concurrent postings', async () => {
      for (const currencyId of unopened.slice(0, 30)) {
        const leg = {
          currencyId,
          amount: euros('1.00'),
          type: 'spot',
          account: 'settlement',
          direction: 'debit',
        } as const;
        const alone = proposal([leg], { workspaceId: SOUTH });
        const processes = range(12).map((at) => openBooks(at % 2 ? world.database : others.database));
        const prepared = await Promise.all(processes.map((books) => preparePosting(books, [alone])));
        const found = prepared.map(({ ownAccounts }) =>
          ownAccounts.get(ownAccountKey(SOUTH, currencyId, 'settlement')),
        );

        expect(found).toEqual(Array(12).fill(expect.any(Number)));
        expect(new Set(found).size).toBe(1);
      }
    });
  });
});
