import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { sql } from '@banking/postgres/testing';
import { settlement, writeRaw, type RawLeg } from './testing/raw-legs.js';
import { account, holding, NORTH, openWorld, USD, type World } from './testing/world.js';

const OUT_OF_BALANCE = { code: RULE_VIOLATION.unbalancedTransaction };
const NOT_CONTINUED = { code: RULE_VIOLATION.discontinuousTransfer };
const FOREIGN_KEY = { code: SQLSTATE.foreignKeyViolation };
const CHECK = { code: SQLSTATE.checkViolation };

let world: World;
/** Holds ten euros at version 1. */
let ada: number;
/** Holds five euros at version 1. */
let bob: number;
let ours: number;

beforeEach(async () => {
  ada = await account(world, '10.00');
  bob = await account(world, '5.00');
  ours = await settlement(world);
});
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const asApp = (text: string, ...values: unknown[]) =>
  world.database.pipeline({ workspaces: [NORTH] }, [sql(text, ...values)]);

/** A valid payment of two euros from Ada to Bob. */
const fromAda = (): RawLeg => ({ account: ada, direction: 'debit', amount: 200, version: 2, after: 800 });
const toBob = (): RawLeg => ({ account: bob, direction: 'credit', amount: 200, version: 2, after: 700 });
const untouched = async () => {
  expect(await holding(world, ada)).toEqual({ balance: 1_000n, version: 1n });
  expect(await holding(world, bob)).toEqual({ balance: 500n, version: 1n });
};

describe('balanced transfers written without the code of the ledger', () => {
  it('move the balances', async () => {
    await writeRaw(world, fromAda(), toBob());

    expect(await holding(world, ada)).toEqual({ balance: 800n, version: 2n });
    expect(await holding(world, bob)).toEqual({ balance: 700n, version: 2n });
  });

  it('leave the last balance of an account that moves several times', async () => {
    await writeRaw(world, { ...fromAda(), version: 3, after: 500, amount: 300 }, fromAda(), {
      account: ours,
      direction: 'credit',
      amount: 500,
    });

    expect(await holding(world, ada)).toEqual({ balance: 500n, version: 3n });
  });
});

describe('transfers that do not add up', () => {
  afterEach(untouched);

  it.each<[string, () => RawLeg[], object]>([
    ['there is one side only', () => [fromAda()], OUT_OF_BALANCE],
    ['the sides differ', () => [fromAda(), { ...toBob(), amount: 201, after: 701 }], OUT_OF_BALANCE],
    [
      'only the sum over two currencies is zero',
      () => [fromAda(), { account: ours, direction: 'credit', amount: 200, currencyId: USD }],
      {
        code: expect.stringMatching(
          `^(${RULE_VIOLATION.unbalancedTransaction}|${SQLSTATE.foreignKeyViolation})$`,
        ) as string,
      },
    ],
    [
      'a customer’s account moves without a version',
      () => [{ account: ada, direction: 'debit', amount: 200 }, toBob()],
      NOT_CONTINUED,
    ],
    [
      'our own account moves with a version',
      () => [fromAda(), { account: ours, direction: 'credit', amount: 200, version: 1, after: 200 }],
      NOT_CONTINUED,
    ],
    ['a version is left out', () => [{ ...fromAda(), version: 3 }, toBob()], NOT_CONTINUED],
    [
      'a version is left out in the middle',
      () => [fromAda(), { ...fromAda(), version: 4, after: 600 }, { account: ours, direction: 'credit', amount: 400 }],
      NOT_CONTINUED,
    ],
    ['a version is written again', () => [{ ...fromAda(), version: 1 }, toBob()], { code: SQLSTATE.uniqueViolation }],
    ['the balance after it is not what is left', () => [{ ...fromAda(), after: 900 }, toBob()], NOT_CONTINUED],
    [
      'a balance in the middle is not what is left',
      () => [
        { ...fromAda(), after: 900 },
        { ...fromAda(), version: 3, after: 600 },
        { account: ours, direction: 'credit', amount: 400 },
      ],
      NOT_CONTINUED,
    ],
    [
      'it goes below zero',
      () => [
        { ...fromAda(), amount: 1_001, after: -1 },
        { ...toBob(), amount: 1_001, after: 1_501 },
      ],
      NOT_CONTINUED,
    ],
    [
      'it goes below zero in the middle',
      () => [
        { ...fromAda(), amount: 1_001, after: -1 },
        { ...fromAda(), direction: 'credit', amount: 1_001, version: 3, after: 1_000 },
      ],
      NOT_CONTINUED,
    ],
    [
      'it takes a balance beyond what a JSON integer holds',
      () => [
        { account: ours, direction: 'debit', amount: 9_007_199_254_740_991n },
        { ...toBob(), amount: 9_007_199_254_740_991n, after: 9_007_199_254_741_491n },
      ],
      CHECK,
    ],
    [
      'it does so in the middle, where a snapshot would show it',
      () => [
        { ...toBob(), amount: 9_007_199_254_740_991n, after: 9_007_199_254_741_491n },
        { ...toBob(), direction: 'debit', amount: 9_007_199_254_740_991n, version: 3, after: 500 },
      ],
      CHECK,
    ],
    [
      'its currency is not the account’s',
      () => [
        { ...fromAda(), currencyId: USD },
        { ...toBob(), currencyId: USD },
      ],
      FOREIGN_KEY,
    ],
    [
      'it moves nothing',
      () => [
        { ...fromAda(), amount: 0, after: 1_000 },
        { ...toBob(), amount: 0, after: 500 },
      ],
      CHECK,
    ],
    [
      'the account is not there',
      () => [fromAda(), { account: 999_999, direction: 'credit', amount: 200 }],
      {
        code: expect.stringMatching(
          `^(${RULE_VIOLATION.discontinuousTransfer}|${SQLSTATE.foreignKeyViolation})$`,
        ) as string,
      },
    ],
  ])('are rejected where %s', async (_what, legs, refusal) => {
    await expect(writeRaw(world, ...legs())).rejects.toMatchObject(refusal);
  });

  it('are rejected in two statements, although they balance together', async () => {
    const halves = world.database.transaction({ workspaces: [NORTH] }, async (tx) => {
      await tx.pipeline([
        sql(
          `insert into transaction (workspace_id, id, status, hash) values ($1, 1000001, 'completed', repeat('a', 64))`,
          NORTH,
        ),
      ]);
      await tx.commit([
        sql(
          `insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, account_version, balance_after)
           values ($1, 1000001, $2, 978, 'debit', 200, 'internal', 2, 800)`,
          NORTH,
          ada,
        ),
      ]);
    });

    await expect(halves).rejects.toMatchObject(OUT_OF_BALANCE);
  });
});

describe('a disabled account', () => {
  it('takes returned money only', async () => {
    await asApp(`update account set status = 'disabled' where workspace_id = $1 and id = $2`, NORTH, bob);

    await expect(writeRaw(world, fromAda(), toBob())).rejects.toMatchObject(NOT_CONTINUED);
    await writeRaw(world, { ...toBob(), type: 'return' }, { account: ours, direction: 'debit', amount: 200 });

    expect(await holding(world, bob)).toEqual({ balance: 700n, version: 2n });
  });
});
