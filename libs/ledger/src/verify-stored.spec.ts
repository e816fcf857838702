import { keepRows } from '@banking/postgres/testing';
import { type BookedTransaction, bookedTransactions } from './booked-transactions.js';
import { openBooks, preparePosting } from './books.js';
import { decide, hashOf } from './decide.js';
import { lockAndRead } from './post.js';
import { requirePosted } from './proposal.js';
import type { RangeProgress } from './ranges.js';
import {
  account,
  comeback,
  crossing,
  euros,
  funding,
  NORTH,
  openWorld,
  otherOwnLegs,
  payment,
  payout,
  plant,
  post,
  posted,
  SOUTH,
  type World,
  writeAny,
} from './testing/world.js';
import { CHECKS, verifyBooks } from './verify-books.js';
import { deleteVerified, nextUnverified, transactionsByWorkspace, verifyStored } from './verify-stored.js';

let world: World;
let ada: number;
let bob: number;
let restore: () => Promise<void>;

afterEach(() => restore());

describe('verify stored', () => {
  /** Of the payout: its transfer on Ada's account, and its transaction. */
  let transferId: number;
  let transactionId: number;

  beforeAll(async () => {
    world = await openWorld();
    ada = await account(world, '100.00');
    bob = await account(world, '0.00');
    const eve = { workspaceId: SOUTH, account: await account(world, '5.00', { workspaceId: SOUTH }) };
    await deleteVerified(world.database, await unverified());
    const [outcome] = await post(world.books, [payout(ada, euros('10.00'), euros('0.50'))]);
    const transaction = outcome!.posted![0]!;
    [transactionId, transferId] = [transaction.id, transaction.transfers[0]!.id];
    await posted(
      world,
      payment(ada, bob, euros('20.00')),
      comeback(ada, euros('10.00')),
      crossing({ workspaceId: NORTH, account: ada }, eve, euros('1.00')),
      payment(bob, ada, euros('2.00')),
    );
    restore = await keepRows(world.owner);
  });

  afterAll(() => world.close());

  const unverified = async () => (await nextUnverified(world.database, 0, 1_000)).transactions;
  const verifyNew = async () => verifyStored(world.database, transactionsByWorkspace(await unverified()));

  describe('new transactions', () => {
    it('are those since the last verification, in every workspace', async () => {
      const batch = await unverified();

      expect(batch).toHaveLength(6);
      expect(batch.map(({ workspaceId }) => workspaceId)).toEqual([1, 1, 1, 1, 1, 2]);
      expect(await verifyNew()).toEqual([]);
    });

    it('are new no longer once they are verified', async () => {
      await deleteVerified(world.database, await unverified());
      await posted(world, funding(bob, euros('1.00')));

      expect(await unverified()).toHaveLength(1);
      expect(await verifyNew()).toEqual([]);
    });

    it('include one that commits after later ones were verified', async () => {
      await deleteVerified(world.database, await unverified());
      const { database, books } = world;
      const slow = payment(ada, bob, euros('3.00'));
      await database.transaction({ workspaces: [NORTH] }, async (tx) => {
        const { context } = await lockAndRead(tx, await preparePosting(books, [slow]));
        const decided = requirePosted(decide(context, slow));

        await account(world, '7.00');
        const later = await unverified();
        expect(later.map(({ transactionId: id }) => id > decided[0]!.id)).toEqual([true]);
        expect(await verifyNew()).toEqual([]);
        await deleteVerified(database, later);
        await tx.commit(writeAny(decided));
      });

      const [late, ...others] = await unverified();

      expect(others).toEqual([]);
      await plant(world, 'update transfer set amount = amount + 1 where transaction_id = $1', [late!.transactionId]);
      expect(await verifyNew()).not.toEqual([]);
    });

    it('are not verified by two processes at a time', async () => {
      await world.owner.query('begin');
      await world.owner.query(`select pg_advisory_xact_lock(hashtextextended('banking.verification', 0))`);
      expect(await verifyNew()).toBeUndefined();
      await world.owner.query('commit');

      expect(await verifyNew()).toEqual([]);
    });
  });

  describe('a fault planted in new transactions', () => {
    const [BALANCED, LEGS, BALANCES, VERSIONS, BELOW_ZERO, HASHES] = [0, 1, 2, 3, 4, 6].map(
      (index) => CHECKS[index]!,
    ) as [string, string, string, string, string, string];

    it.each<[string, () => [string, unknown[]], string[]]>([
      [
        'an amount is edited',
        () => ['update transfer set amount = amount + 1 where id = $1', [transferId]],
        [BALANCED, VERSIONS, HASHES],
      ],
      [
        'a transfer is deleted',
        () => ['delete from transfer where id = $1', [transferId]],
        [BALANCED, VERSIONS, HASHES],
      ],
      [
        'a transaction loses its transfers',
        () => ['delete from transfer where transaction_id = $1', [transactionId]],
        [LEGS, VERSIONS, HASHES],
      ],
      ['a transaction is deleted', () => ['delete from transaction where id = $1', [transactionId]], [LEGS, HASHES]],
      [
        'a transfer lies on another account',
        () => ['update transfer set account_id = $2, account_version = 3 where id = $1', [transferId, bob]],
        [BALANCES, VERSIONS, HASHES],
      ],
      [
        'a transfer of our own lies on a customer account',
        () => [
          `update transfer set ${otherOwnLegs({ account_id: '$2' }, ['payout', 'fee'])} where transaction_id = $1 and own_legs is not null`,
          [transactionId, bob],
        ],
        [VERSIONS, HASHES],
      ],
      ['a balance is edited', () => ['update account set balance = balance + 1 where id = $1', [ada]], [BALANCES]],
      ['a version is edited', () => ['update account set version = version + 1 where id = $1', [ada]], [BALANCES]],
      [
        'a balance after is edited',
        () => ['update transfer set balance_after = balance_after + 1 where id = $1', [transferId]],
        [VERSIONS, HASHES],
      ],
      [
        'a time of booking is edited',
        () => [`update transaction set created_at = created_at - interval '1 us' where id = $1`, [transactionId]],
        [HASHES],
      ],
      [
        'a transfer has another time than its transaction',
        () => [`update transfer set created_at = created_at - interval '1 us' where id = $1`, [transferId]],
        [HASHES],
      ],
      [
        'a customer account is below zero',
        () => ['update transfer set balance_after = -1 where id = $1', [transferId]],
        [VERSIONS, BELOW_ZERO, HASHES],
      ],
      [
        'a hash is edited',
        () => [`update transaction set hash = decode(repeat('0', 64), 'hex') where id = $1`, [transactionId]],
        [HASHES],
      ],
      [
        'two hashes are swapped',
        () => [
          `update transaction x set hash = y.hash from transaction y
         where x.id in ($1::bigint, $1::bigint + 1) and y.id in ($1::bigint, $1::bigint + 1) and x.id <> y.id and x.workspace_id = 1 and y.workspace_id = 1`,
          [transactionId],
        ],
        [HASHES],
      ],
      [
        'a currency is unknown',
        () => ['update transfer set currency_id = 12345 where transaction_id = $1', [transactionId]],
        [BALANCED, HASHES],
      ],
      [
        'a head is edited',
        () => [`update account set head = decode(repeat('0', 64), 'hex') where id = $1`, [ada]],
        [HASHES],
      ],
    ])('is found where %s', async (_what, fault, checks) => {
      await plant(world, ...fault());

      const findings = (await verifyNew())!;

      expect(new Set(findings.map(({ check }) => check))).toEqual(new Set(checks));
      expect(new Set(findings.map(({ workspaceId }) => workspaceId))).toEqual(new Set([NORTH]));
    });

    it('is found by the account if it is an edited balance without a new transaction', async () => {
      await plant(world, 'update account set balance = balance + 1 where id = $1', [bob]);

      const findings = await verifyStored(world.database, [
        { workspaceId: NORTH, transactionIds: [], accountIds: [ada, bob] },
      ]);

      expect(findings).toEqual([
        expect.objectContaining({ check: BALANCES, detail: expect.stringContaining(`account ${bob} holds`) }),
      ]);
    });
  });

  it('proves a transaction from the one before it, also beyond its batch', async () => {
    const batch = await unverified();
    for (const row of batch) expect(await verifyStored(world.database, transactionsByWorkspace([row]))).toEqual([]);

    const all: BookedTransaction[] = [];
    for await (const range of bookedTransactions(world.database, NORTH)) all.push(...range);
    const { content } = all.find(({ content: { transactionId: id } }) => id === transactionId)!;
    await plant(world, `update transfer set type = 'gift' where transaction_id = $1`, [transactionId]);
    await plant(world, `update transaction set hash = decode($2, 'hex') where id = $1`, [
      transactionId,
      hashOf({ ...content, transfers: content.transfers.map((transfer) => ({ ...transfer, type: 'gift' })) }),
    ]);

    const next = batch.filter(({ transactionId: id }) => id === transactionId + 1);
    expect(await verifyStored(world.database, transactionsByWorkspace(next))).toEqual([
      expect.objectContaining({ detail: `transaction ${transactionId + 1} does not have its hash` }),
    ]);
  });
});

describe('unverified transactions', () => {
  beforeAll(async () => {
    world = await openWorld();
    ada = await account(world, '100.00');
    await deleteVerified(world.database, (await next(0, 1_000)).transactions);
    restore = await keepRows(world.owner);
  });

  afterAll(() => world.close());

  const next = (afterId: number, limit: number) => nextUnverified(world.database, afterId, limit);

  /** Posts transactions with one INSERT of transfers. */
  const fund = (count: number) => posted(world, ...Array.from({ length: count }, () => funding(ada, euros('0.01'))));

  const postings = async () =>
    (
      await world.owner.query<{ size: number }>(
        'select cardinality(transaction_ids) as size from unverified_posting order by id',
      )
    ).rows;

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

describe('a verification in ranges of a few rows', () => {
  let eve: number;

  beforeAll(async () => {
    world = await openWorld();
    ada = await account(world, '100.00');
    bob = await account(world, '0.00');
    eve = await account(world, '5.00', { workspaceId: SOUTH });
    for (let count = 0; count < 6; count += 1) await posted(world, ...movements());
    restore = await keepRows(world.owner);
  });

  afterAll(() => world.close());

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
