import { post } from './post.js';
import { crossing, payout } from './testing/proposals.js';
import { account, EUR, euros, NORTH, openWorld, plant, SOUTH, type World } from './testing/world.js';
import { CHECKS, verifyBooks } from './verify-books.js';
import { INTERWORKSPACE_CHECK } from './verify-interworkspace.js';
import { verifyStored } from './verify-stored.js';

const [BALANCED, LEGS, BALANCES, VERSIONS, , CLOSED] = CHECKS as readonly string[];

let world: World;
let ada: number;
let transactionId: number;

beforeEach(async () => {
  world = await openWorld();
  ada = await account(world, '100.00');
  const eve = { workspaceId: SOUTH, account: await account(world, '5.00', { workspaceId: SOUTH }) };
  const proposals = [
    payout(ada, euros('10.00'), euros('0.50')),
    crossing({ workspaceId: NORTH, account: ada }, eve, euros('1.00')),
  ];
  const [paid] = await post(world.books, proposals);
  transactionId = paid!.posted![0]!.id;
});
afterEach(() => world.close());

const verify = (isWhole = false) => verifyBooks(world.database, [NORTH, SOUTH], { isWhole });

describe('a finding of verifyBooks', () => {
  it('names the currency and the sum where the books of a workspace do not close', async () => {
    await plant(
      world,
      `update transfer set amount = amount + 7 where transaction_id = $1 and type = 'fee' and account_version is null`,
      [transactionId],
    );

    const { findings } = await verify();

    expect(findings).toContainEqual({ check: CLOSED, workspaceId: NORTH, detail: `currency ${EUR} is out by 7` });
    expect(findings).toContainEqual({
      ...{ check: BALANCED, workspaceId: NORTH },
      detail: `transaction ${transactionId} is out of balance by 7 in EUR`,
    });
  });

  it.each([
    ['a transfer of our own has a version', 'is null', 'account_version = 99, balance_after = 0'],
    ['a transfer of a customer has none', 'is not null', 'account_version = null, balance_after = null'],
  ])('names the account where %s', async (_what, version, fault) => {
    const which = `transaction_id = $1 and type = 'fee' and account_version ${version}`;
    const { rows } = await world.owner.query<{ id: bigint }>(`select account_id as id from transfer where ${which}`, [
      transactionId,
    ]);
    await plant(world, `update transfer set ${fault} where ${which}`, [transactionId]);

    const detail = `account ${rows[0]!.id} has transfers that do not fit its kind`;
    expect((await verify()).findings).toContainEqual({ check: VERSIONS, workspaceId: NORTH, detail });
    const stored = await verifyStored(world.database, [{ workspaceId: NORTH, transactionIds: [transactionId] }]);
    expect(stored).toContainEqual({ check: VERSIONS, workspaceId: NORTH, detail });
  });

  it('is between workspaces only where all of them are verified', async () => {
    await plant(
      world,
      `update transfer set amount = amount + 1 where transaction_id in (
         select transaction_id from transfer t join account a on a.id = t.account_id and a.kind = 'interworkspace' where t.workspace_id = 2)`,
    );

    const of = async (isWhole: boolean) =>
      (await verify(isWhole)).findings.filter(({ check }) => check === INTERWORKSPACE_CHECK).length;

    expect([await of(false), await of(true)]).toEqual([0, 2]);
  });
});

describe('a finding of verifyStored', () => {
  it('names each transaction that is not stored', async () => {
    expect(
      await verifyStored(world.database, [
        { workspaceId: NORTH, transactionIds: [transactionId, 900_001] },
        { workspaceId: SOUTH, transactionIds: [900_002] },
      ]),
    ).toEqual([
      { check: LEGS, workspaceId: NORTH, detail: 'transaction 900001 is not stored' },
      { check: LEGS, workspaceId: SOUTH, detail: 'transaction 900002 is not stored' },
    ]);
  });

  it('names a transaction whose content cannot be hashed', async () => {
    await plant(world, 'update transfer set currency_id = 12345 where transaction_id = $1', [transactionId]);

    expect(await verifyStored(world.database, [{ workspaceId: NORTH, transactionIds: [transactionId] }])).toEqual([
      {
        check: CHECKS[6],
        workspaceId: NORTH,
        detail: `transaction ${transactionId} has no content that can be hashed`,
      },
    ]);
  });

  it('names an account whose balance is not that of its last transfer', async () => {
    await plant(world, 'update account set balance = balance + 1 where id = $1', [ada]);

    const found = await verifyStored(world.database, [{ workspaceId: NORTH, transactionIds: [transactionId] }]);

    expect(found).toEqual([
      {
        check: BALANCES,
        workspaceId: NORTH,
        detail: expect.stringContaining(`account ${ada} holds 8851 at version 4`),
      },
    ]);
  });
});
