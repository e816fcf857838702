import { CommitInDoubtError } from '@banking/postgres';
import { post } from './post.js';
import { crossing, funding, payment, payout, proposal, comeback } from './testing/proposals.js';
import {
  account,
  euros,
  EUR,
  holding,
  NORTH,
  openWorld,
  posted,
  SOUTH,
  sql,
  USD,
  type World,
} from './testing/world.js';
import { verifyBooks } from './verify.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const books = () => world.owner.query('select id, hash from transaction order by id').then(({ rows }) => rows);

describe('Given a batch with a refusal in the middle', () => {
  it('When it is posted, Then the others are, in their order, and the refused one left nothing', async () => {
    const [ada, bob] = [await account(world, '10.00'), await account(world)];

    const outcomes = await post(world.books, [
      payment(ada, bob, euros('8.00')),
      payment(ada, bob, euros('3.00')),
      payment(ada, bob, euros('2.00')),
    ]);

    expect(outcomes.map((outcome) => outcome.refused?.reason)).toEqual([undefined, 'insufficient_funds', undefined]);
    expect(await holding(world, ada)).toEqual({ balance: 0n, version: 3n });
    expect(await holding(world, bob)).toEqual({ balance: 1_000n, version: 2n });
  });

  it('When the order of two decides, Then the first has the money', async () => {
    const [ada, bob] = [await account(world), await account(world)];

    const [early, , late] = await post(world.books, [
      payment(ada, bob, euros('5.00')),
      funding(ada, euros('5.00')),
      payment(ada, bob, euros('5.00')),
    ]);

    expect([early?.refused?.reason, late?.refused]).toEqual(['insufficient_funds', undefined]);
  });

  it('When all of it is refused, Then nothing is written', async () => {
    const [ada, before] = [await account(world), await books()];

    const outcomes = await post(world.books, [
      payout(ada, euros('1.00'), euros('0.10')),
      payment(999_999, ada, euros('1.00')),
    ]);

    expect(outcomes.map((outcome) => outcome.refused?.reason)).toEqual(['insufficient_funds', 'account_not_found']);
    expect(await books()).toEqual(before);
  });
});

describe('Given one account that everybody pays to', () => {
  it('When a batch holds nothing else, Then each movement has its version and its balance', async () => {
    const hot = await account(world);

    const outcomes = await post(
      world.books,
      Array.from({ length: 50 }, () => funding(hot, euros('0.10'))),
    );

    const after = outcomes.map(({ posted: [transaction] = [] }) => transaction?.transfers[0]);
    expect(after.map((transfer) => [transfer?.accountVersion, transfer?.balanceAfter])).toEqual(
      Array.from({ length: 50 }, (_, index) => [index + 1, BigInt(index + 1) * 10n]),
    );
    expect(await holding(world, hot)).toEqual({ balance: 500n, version: 50n });
  });
});

describe('Given an account that has been disabled', () => {
  it('When it is debited and credited, Then it takes only money that comes back', async () => {
    const ada = await account(world, '20.00');
    const disable = sql(`update account set status = 'disabled' where workspace_id = $1 and id = $2`, NORTH, ada);
    await world.database.flight({ workspaces: [NORTH] }, [disable]);

    const outcomes = await post(world.books, [
      payout(ada, euros('1.00'), euros('0.10')),
      funding(ada, euros('1.00')),
      comeback(ada, euros('2.00')),
    ]);

    expect(outcomes.map((outcome) => outcome.refused?.reason)).toEqual([
      'account_disabled',
      'account_disabled',
      undefined,
    ]);
    expect(await holding(world, ada)).toEqual({ balance: 2_200n, version: 2n });
  });
});

describe('Given accounts in two workspaces', () => {
  const people = async () => ({
    ada: { workspaceId: NORTH, account: await account(world, '10.00') },
    eve: { workspaceId: SOUTH, account: await account(world, '0.00', { workspaceId: SOUTH }) },
  });

  it('When money passes between them, Then each workspace has its own balanced transaction', async () => {
    const { ada, eve } = await people();

    const [outcome] = await post(world.books, [crossing(ada, eve, euros('4.00'))]);

    expect(outcome?.posted?.map(({ workspaceId }) => workspaceId)).toEqual([NORTH, SOUTH]);
    expect((await holding(world, ada.account)).balance).toBe(600n);
    expect((await holding(world, eve.account)).balance).toBe(400n);
  });

  it('When the second entry is refused, Then the first has not happened either', async () => {
    const { ada, eve } = await people();
    const nobody = { workspaceId: SOUTH, account: 999_999 };

    const outcomes = await post(world.books, [
      crossing(ada, nobody, euros('4.00')),
      crossing(ada, eve, euros('10.00')),
    ]);

    expect(outcomes.map((outcome) => outcome.refused?.reason)).toEqual(['account_not_found', undefined]);
    expect(await holding(world, ada.account)).toEqual({ balance: 0n, version: 2n });
  });

  it('When one is named in the other’s workspace, Then there is no such account', async () => {
    const { eve } = await people();

    const [outcome] = await post(world.books, [funding(eve.account, euros('1.00'), { workspaceId: NORTH })]);

    expect(outcome?.refused?.reason).toBe('account_not_found');
  });
});

describe('Given a conversion', () => {
  it('When it is posted, Then each currency balances through our own fx accounts', async () => {
    const [from, to] = [await account(world, '100.00'), await account(world, '0.00', { currencyId: USD })];

    await posted(
      world,
      proposal([
        { account: from, currencyId: EUR, direction: 'debit', amount: euros('100.00'), type: 'spot' },
        { account: 'fx', currencyId: EUR, direction: 'credit', amount: euros('100.00'), type: 'spot' },
        { account: 'fx', currencyId: USD, direction: 'debit', amount: euros('108.00'), type: 'spot' },
        { account: to, currencyId: USD, direction: 'credit', amount: euros('108.00'), type: 'spot' },
      ]),
    );

    expect((await holding(world, to)).balance).toBe(10_800n);
  });
});

describe('Given writes that travel alongside', () => {
  const rename = (id: number, alias: string) =>
    sql('update account set alias = $3 where workspace_id = $1 and id = $2', NORTH, id, alias);
  const aliasOf = async (id: number) =>
    (await world.owner.query<{ alias: string | null }>('select alias from account where id = $1', [id])).rows[0]?.alias;

  it('When the books are written, Then they are too', async () => {
    const ada = await account(world);

    await post(world.books, [funding(ada, euros('1.00'))], ([outcome]) => [rename(ada, outcome!.posted![0]!.hash)]);

    expect(await aliasOf(ada)).toMatch(/^[0-9a-f]{64}$/);
  });

  it('When they fail, Then the books are as they were', async () => {
    const ada = await account(world);

    const work = post(world.books, [funding(ada, euros('1.00'))], () => [rename(ada, 'gone'), sql('select 1 / 0')]);

    await expect(work).rejects.toMatchObject({ code: '22012' });
    expect(await holding(world, ada)).toEqual({ balance: 0n, version: 0n });
    expect(await aliasOf(ada)).toBeNull();
  });
});

describe('Given a COMMIT whose answer is lost', () => {
  it('When the books are written, Then the doubt is the caller’s, and nothing was posted again', async () => {
    const ada = await account(world);
    const transaction: World['database']['transaction'] = async (...work) => {
      await world.database.transaction(...work);
      throw new CommitInDoubtError(new Error('the connection was lost'));
    };
    const doubtful = Object.assign(Object.create(world.database) as World['database'], { transaction });

    const work = post({ ...world.books, database: doubtful }, [funding(ada, euros('1.00'))]);

    await expect(work).rejects.toBeInstanceOf(CommitInDoubtError);
    expect(await holding(world, ada)).toEqual({ balance: 100n, version: 1n });
  });
});

describe('Given all that was posted here', () => {
  it('When the books are verified, Then nothing is found', async () => {
    expect(await verifyBooks(world.database, [NORTH, SOUTH])).toMatchObject({ workspaces: 2, findings: [] });
  });
});
