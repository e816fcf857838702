import { type BookedTransaction, bookedTransactions } from './booked-transactions.js';
import { hashOf } from './hash-of.js';
import { post } from './post.js';
import { comeback, crossing, funding, payment, payout } from './testing/proposals.js';
import { account, euros, NORTH, openWorld, plant, posted, SOUTH, type World } from './testing/world.js';
import { CHECKS, verifyBooks } from './verify-books.js';

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

const verify = () => verifyBooks(world.database, [NORTH, SOUTH], { isWhole: true });

describe('intact books', () => {
  it('have no findings, and the rows are counted', async () => {
    const seen: number[] = [];

    const onWorkspace = (workspaceId: number) => seen.push(workspaceId);
    const proof = await verifyBooks(world.database, [NORTH, SOUTH], { onWorkspace });

    const counted = { workspaces: 2, accounts: 8, transactions: 8, transfers: 18 };
    expect(proof).toEqual({ ...counted, fxPositions: [], findings: [] });
    expect(seen).toEqual([NORTH, SOUTH]);
  });

  it('are verified beyond one range of transactions', async () => {
    await posted(world, ...Array.from({ length: 1_200 }, () => funding(bob, euros('0.01'))));
    // Autovacuum does this after some time.
    await world.owner.query('analyze');

    const proof = await verify();
    await plant(world, `update transaction set hash = repeat('0', 64) where id = (select max(id) from transaction)`);
    const { findings } = await verify();

    expect(proof).toMatchObject({ transactions: 1_208, findings: [] });
    expect(findings).toHaveLength(2);
  });
});

describe('a planted fault', () => {
  const [BALANCED, LEGS, BALANCES, VERSIONS, BELOW_ZERO, CLOSED, HASHES] = CHECKS as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ];

  it.each<[string, () => [string, unknown[]], string[]]>([
    [
      'an amount is edited',
      () => ['update transfer set amount = amount + 1 where id = $1', [transferId]],
      [BALANCED, BALANCES, VERSIONS, HASHES],
    ],
    [
      'a side of our own is edited',
      () => [
        `update transfer set amount = 1 where transaction_id = $1 and type = 'fee' and account_version is null`,
        [transactionId],
      ],
      [BALANCED, CLOSED, HASHES],
    ],
    [
      'two currencies make up for each other',
      () => [
        `update transfer set currency_id = 840 where transaction_id = $1 and type = 'fee' and account_version is null`,
        [transactionId],
      ],
      [BALANCED, CLOSED, HASHES],
    ],
    [
      'a whole transaction is in another currency',
      () => ['update transfer set currency_id = 840 where transaction_id = $1', [transactionId]],
      [CLOSED, HASHES],
    ],
    [
      'a transaction goes the other way',
      () => [
        `update transfer set direction = case direction when 'debit' then 'credit' else 'debit' end where transaction_id = $1`,
        [transactionId],
      ],
      [BALANCES, VERSIONS, CLOSED, HASHES],
    ],
    [
      'a transfer lies on another account',
      () => ['update transfer set account_id = $2, account_version = 3 where id = $1', [transferId, bob]],
      [BALANCES, VERSIONS, HASHES],
    ],
    [
      'a transaction loses its transfers',
      () => ['delete from transfer where transaction_id = $1', [transactionId]],
      [LEGS, BALANCES, VERSIONS, CLOSED, HASHES],
    ],
    [
      'a transaction without transfers is added',
      () => [`insert into transaction (workspace_id, status, hash) values (1, 'completed', repeat('a', 64))`, []],
      [LEGS, HASHES],
    ],
    [
      'a balance is edited',
      () => ['update account set balance = balance + 1 where id = $1', [ada]],
      [BALANCES, CLOSED],
    ],
    ['a version is edited', () => ['update account set version = version + 1 where id = $1', [ada]], [BALANCES]],
    [
      'a version is left out',
      () => ['update transfer set account_version = 1000 where id = $1', [transferId]],
      [VERSIONS, HASHES],
    ],
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
      'both sides are deleted with their money',
      () => ['delete from transfer where transaction_id = $1 and account_version is null', [transactionId]],
      [BALANCED, CLOSED, HASHES],
    ],
    [
      'a hash is edited',
      () => [`update transaction set hash = repeat('0', 64) where id = $1`, [transactionId]],
      [HASHES],
    ],
    [
      'a transaction is said to bring another back',
      () => [
        'update transaction set return_of = $1 where id = (select max(id) from transaction where workspace_id = 1)',
        [transactionId],
      ],
      [HASHES],
    ],
    ['a type is edited', () => [`update transfer set type = 'return' where id = $1`, [transferId]], [HASHES]],
    ...['order_digest', 'conversion_digest'].map((column): [string, () => [string, unknown[]], string[]] => [
      `a transaction gets another ${column}`,
      () => [`update transaction set ${column} = repeat('e', 64) where id = $1`, [transactionId]],
      [HASHES],
    ]),
    [
      'the digest of a recipient is edited',
      () => [`update transfer set recipient_digest = repeat('e', 64) where id = $1`, [transferId]],
      [HASHES],
    ],
    ...['description', 'purpose', 'fee_amount', 'recipient_id'].map(
      (column): [string, () => [string, unknown[]], string[]] => [
        `the ${column} is edited`,
        () => [`update transfer set ${column} = '77' where id = $1`, [transferId]],
        [HASHES],
      ],
    ),
    [
      'balanced transfers are added to an old transaction',
      () => [
        `insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type)
         select workspace_id, transaction_id, account_id, currency_id, d, amount, type
         from transfer, unnest(array['debit', 'credit']) d where transaction_id = $1 and type = 'fee' and account_version is null`,
        [transactionId],
      ],
      [HASHES],
    ],
    ['a head is edited', () => [`update account set head = repeat('0', 64) where id = $1`, [ada]], [HASHES]],
  ])('is found where %s', async (_what, fault, checks) => {
    await plant(world, ...fault());

    const { findings } = await verify();

    expect(new Set(findings.map(({ check }) => check))).toEqual(new Set(checks));
    expect(new Set(findings.map(({ workspaceId }) => workspaceId))).toEqual(new Set([NORTH]));
  });

  it('is found by the next transaction of the account if the edited transaction is hashed again', async () => {
    await plant(world, `update transfer set type = 'gift' where transaction_id = $1`, [transactionId]);
    await hashAnew(transactionId);

    const { findings } = await verify();

    // Ada's next transaction contains the former hash. The later ones contain the hash of the next, which is unchanged.
    const detail = `transaction ${transactionId + 1} does not have its hash`;
    expect(findings).toEqual([{ check: HASHES, workspaceId: NORTH, detail }]);
  });

  it('is found by the heads of the accounts if it was the latest transaction', async () => {
    const { rows } = await world.owner.query<{ id: bigint }>('select max(id) as id from transaction');
    const latest = Number(rows[0]!.id);
    await plant(world, `update transfer set type = 'gift' where transaction_id = $1`, [latest]);
    await hashAnew(latest);

    const { findings } = await verify();

    expect(new Set(findings.map(({ detail }) => detail))).toEqual(
      new Set([ada, bob].map((id) => `account ${id} does not end its chain of hashes`)),
    );
  });
});

/** Recomputes the hash of an edited transaction, as an attacker who knows the algorithm could. */
async function hashAnew(id: number): Promise<void> {
  const all: BookedTransaction[] = [];
  for await (const range of bookedTransactions(world.database, NORTH)) all.push(...range);
  const { content } = all.find(({ content: { transactionId: of } }) => of === id)!;
  await plant(world, 'update transaction set hash = $2 where id = $1', [id, hashOf(content)]);
}
