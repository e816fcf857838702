import { CommitInDoubtError } from '@banking/postgres';
import { sql } from '@banking/postgres/testing';
import { post } from './post.js';
import { crossing, funding, payment, payout, proposal, comeback } from './testing/proposals.js';
import { account, euros, EUR, holding, NORTH, openWorld, posted, SOUTH, USD, type World } from './testing/world.js';
import { verifyBooks } from './verify-books.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const books = () => world.owner.query('select id, hash from transaction order by id').then(({ rows }) => rows);

describe('a batch with refusals', () => {
  it('posts the others in their order', async () => {
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

  it('decides in the order of the batch', async () => {
    const [ada, bob] = [await account(world), await account(world)];

    const [early, , late] = await post(world.books, [
      payment(ada, bob, euros('5.00')),
      funding(ada, euros('5.00')),
      payment(ada, bob, euros('5.00')),
    ]);

    expect([early?.refused?.reason, late?.refused]).toEqual(['insufficient_funds', undefined]);
  });

  it('writes nothing if all of it is refused', async () => {
    const [ada, before] = [await account(world), await books()];

    const outcomes = await post(world.books, [
      payout(ada, euros('1.00'), euros('0.10')),
      payment(999_999, ada, euros('1.00')),
    ]);

    expect(outcomes.map((outcome) => outcome.refused?.reason)).toEqual(['insufficient_funds', 'account_not_found']);
    expect(await books()).toEqual(before);
  });
});

describe('a batch on one account', () => {
  it('gives each transfer its version and its balance', async () => {
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

describe('a disabled account', () => {
  it('takes returned money only', async () => {
    const ada = await account(world, '20.00');
    const disable = sql(`update account set status = 'disabled' where workspace_id = $1 and id = $2`, NORTH, ada);
    await world.database.pipeline({ workspaces: [NORTH] }, [disable]);

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

describe('a payment between two workspaces', () => {
  const people = async () => ({
    ada: { workspaceId: NORTH, account: await account(world, '10.00') },
    eve: { workspaceId: SOUTH, account: await account(world, '0.00', { workspaceId: SOUTH }) },
  });

  it('has a balanced transaction in each workspace', async () => {
    const { ada, eve } = await people();

    const [outcome] = await post(world.books, [crossing(ada, eve, euros('4.00'))]);

    expect(outcome?.posted?.map(({ workspaceId }) => workspaceId)).toEqual([NORTH, SOUTH]);
    expect((await holding(world, ada.account)).balance).toBe(600n);
    expect((await holding(world, eve.account)).balance).toBe(400n);
  });

  it('posts neither entry if the second is refused', async () => {
    const { ada, eve } = await people();
    const missing = { workspaceId: SOUTH, account: 999_999 };

    const outcomes = await post(world.books, [
      crossing(ada, missing, euros('4.00')),
      crossing(ada, eve, euros('10.00')),
    ]);

    expect(outcomes.map((outcome) => outcome.refused?.reason)).toEqual(['account_not_found', undefined]);
    expect(await holding(world, ada.account)).toEqual({ balance: 0n, version: 2n });
  });

  it('does not find an account of another workspace', async () => {
    const { eve } = await people();

    const [outcome] = await post(world.books, [funding(eve.account, euros('1.00'), { workspaceId: NORTH })]);

    expect(outcome?.refused?.reason).toBe('account_not_found');
  });
});

describe('a conversion', () => {
  it('balances each currency through the own fx accounts', async () => {
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

describe('a connection lost around COMMIT', () => {
  it('throws CommitInDoubtError and posts nothing again', async () => {
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

describe('a transaction of an order with a conversion', () => {
  it('stores both digests', async () => {
    const digests = { orderDigest: 'a'.repeat(64), conversionDigest: 'b'.repeat(64) };
    const [entry] = funding(await account(world), euros('1.00')).entries;

    const [outcome] = await post(world.books, [{ entries: [{ ...entry!, ...digests }] }]);

    const { rows } = await world.owner.query(
      'select order_digest as "orderDigest", conversion_digest as "conversionDigest" from transaction where id = $1',
      [outcome!.posted![0]!.id],
    );
    expect(rows).toEqual([digests]);
  });
});

describe('our own accounts', () => {
  it('have no head, so that no posting updates their rows', async () => {
    const { rows } = await world.owner.query<{ moved: number }>(
      `select count(*)::int as moved from account where kind <> 'customer' and (head <> '' or version <> 0)`,
    );

    expect(rows).toEqual([{ moved: 0 }]);
  });
});

describe('the books of this spec', () => {
  it('have no findings', async () => {
    expect(await verifyBooks(world.database, [NORTH, SOUTH])).toMatchObject({ workspaces: 2, findings: [] });
  });
});
