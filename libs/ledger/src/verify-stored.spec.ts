import { sql } from '@banking/postgres/testing';
import { bookedTransactions, type BookedTransaction } from './booked-transactions.js';
import { decide } from './decide.js';
import { hashOf } from './hash-of.js';
import { lockAndRead } from './lock-and-read.js';
import { post } from './post.js';
import { preparePosting } from './prepare-posting.js';
import { requirePosted } from './proposal.js';
import { comeback, crossing, funding, payment, payout } from './testing/proposals.js';
import { account, euros, NORTH, openWorld, plant, posted, SOUTH, type World } from './testing/world.js';
import { deleteVerified, nextUnverified, transactionsByWorkspace } from './unverified-transactions.js';
import { CHECKS } from './verify-books.js';
import { verifyStored } from './verify-stored.js';
import { write } from './write.js';

let world: World;
let ada: number;
let bob: number;
/** Of the payout: its transfer on Ada's account, and its transaction. */
let transferId: number;
let transactionId: number;

beforeEach(async () => {
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
});
afterEach(() => world.close());

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

  it('include an old transaction to which transfers are added', async () => {
    await deleteVerified(world.database, await unverified());
    const legs = sql(
      `insert into transfer (workspace_id, id, transaction_id, account_id, currency_id, direction, amount, type)
       select workspace_id, nextval('transfer_id_seq'), transaction_id, account_id, currency_id, d, amount, type
       from transfer, unnest(array['debit', 'credit']) d
       where transaction_id = ${transactionId} and type = 'fee' and account_version is null`,
    );
    await world.database.pipeline({ workspaces: [NORTH] }, [legs]);

    expect(await verifyNew()).toEqual([
      { check: CHECKS.at(-1), workspaceId: NORTH, detail: `transaction ${transactionId} does not have its hash` },
    ]);
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
      await write(tx, decided);
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
    ['a transfer is deleted', () => ['delete from transfer where id = $1', [transferId]], [BALANCED, VERSIONS, HASHES]],
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
        'update transfer set account_id = $2 where transaction_id = $1 and account_version is null',
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
      () => [`update transaction set hash = repeat('0', 64) where id = $1`, [transactionId]],
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
      [HASHES],
    ],
    ['a head is edited', () => [`update account set head = repeat('0', 64) where id = $1`, [ada]], [HASHES]],
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
  await plant(world, 'update transaction set hash = $2 where id = $1', [
    transactionId,
    hashOf({ ...content, transfers: content.transfers.map((transfer) => ({ ...transfer, type: 'gift' })) }),
  ]);

  const next = batch.filter(({ transactionId: id }) => id === transactionId + 1);
  expect(await verifyStored(world.database, transactionsByWorkspace(next))).toEqual([
    expect.objectContaining({ detail: `transaction ${transactionId + 1} does not have its hash` }),
  ]);
});
