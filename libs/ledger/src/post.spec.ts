import { minorUnits } from '@banking/domain';
import { CommitInDoubtError, DatabaseError, SQLSTATE } from '@banking/postgres';
import { sql } from '@banking/postgres/testing';
import type { Leg, Proposal } from './proposal.js';
import { returnEntry } from './return-entry.js';
import {
  account,
  CENTS,
  comeback,
  crossing,
  EUR,
  euros,
  funding,
  holding,
  NORTH,
  openWorld,
  payment,
  payout,
  post,
  posted,
  proposal,
  SOUTH,
  USD,
  type World,
} from './testing/world.js';
import { verifyBooks } from './verify-books.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

let ada: number;
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
    const orderDigest = 'a'.repeat(64);
    const legs: Leg[] = [
      {
        account: await account(world, '1.00'),
        currencyId: EUR,
        direction: 'debit',
        amount: euros('1.00'),
        type: 'spot',
      },
      { account: 'fx', currencyId: EUR, direction: 'credit', amount: euros('1.00'), type: 'spot' },
      { account: 'fx', currencyId: USD, direction: 'debit', amount: minorUnits(110n), type: 'spot' },
      {
        account: await account(world, '0', { currencyId: USD }),
        currencyId: USD,
        direction: 'credit',
        amount: minorUnits(110n),
        type: 'spot',
      },
    ];
    const [outcome] = await post(world.books, [proposal(legs, { orderDigest, conversion: CENTS })]);

    const { rows } = await world.owner.query(
      `select encode(order_digest, 'hex') as "orderDigest", encode(conversion_digest, 'hex') as "conversionDigest" from transaction where id = $1`,
      [outcome!.posted![0]!.id],
    );
    expect(rows).toEqual([{ orderDigest, conversionDigest: CENTS.digest }]);
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

describe('a batch that the database rejects', () => {
  let bob: number;

  /** Of Ada's payout of ten euros. */
  let transactionId: number;

  afterAll(async () => {
    expect((await verifyBooks(world.database, [NORTH])).findings).toEqual([]);
  });

  beforeEach(async () => {
    [ada, bob] = [await account(world, '20.00'), await account(world)];
    const [outcome] = await post(world.books, [payout(ada, euros('10.00'), euros('0.50'))]);
    transactionId = outcome!.posted![0]!.id;
  });

  const giveBack = (): Proposal => ({
    entries: comeback(ada, euros('10.00')).entries.map((entry) => ({ ...entry, returnOf: transactionId })),
  });

  it('writes nothing and throws, if it returns one transaction twice', async () => {
    const batch = [giveBack(), payment(ada, bob, euros('19.00')), giveBack(), funding(bob, euros('1.00'))];

    await expect(post(world.books, batch)).rejects.toBeInstanceOf(DatabaseError);

    expect((await holding(world, ada)).balance).toBe(950n);
    expect((await holding(world, bob)).balance).toBe(0n);
  });

  it('is rejected if it is a second return alone', async () => {
    await post(world.books, [giveBack()]);

    await expect(post(world.books, [giveBack()])).rejects.toMatchObject({ code: SQLSTATE.uniqueViolation });
  });
});

describe('return entry', () => {
  afterAll(async () => {
    expect((await verifyBooks(world.database, [NORTH, SOUTH])).findings).toEqual([]);
  });

  beforeEach(async () => {
    ada = await account(world, '100.00');
  });

  /** Posts a proposal and returns the id of its transaction. */
  async function idOf(one: Proposal): Promise<number> {
    const [outcome] = await post(world.books, [one]);
    return outcome!.posted![0]!.id;
  }

  describe('the return of a payout', () => {
    it('reverses each transfer without the fee', async () => {
      const id = await idOf(payout(ada, euros('10.00'), euros('0.50')));
      const entry = await returnEntry(world.database, NORTH, id);
      const leg = { currencyId: EUR, amount: euros('10.00'), type: 'return' };
      expect(entry).toEqual({
        workspaceId: NORTH,
        status: 'completed',
        returnOf: id,
        legs: [
          { ...leg, account: ada, direction: 'credit', description: 'Returned: Invoice 2107' },
          { ...leg, account: 'settlement', direction: 'debit', description: undefined },
        ],
      });
    });

    it('takes the money again where it is returned itself', async () => {
      const id = await idOf(payout(ada, euros('10.00'), euros('0.50')));
      const returnId = await idOf({ entries: [await returnEntry(world.database, NORTH, id)] });
      expect((await holding(world, ada)).balance).toBe(euros('99.50'));

      const entry = await returnEntry(world.database, NORTH, returnId);
      await idOf({ entries: [entry] });

      expect(entry).toMatchObject({
        returnOf: returnId,
        legs: [
          { account: ada, direction: 'debit', description: 'Reclaimed: Returned: Invoice 2107' },
          { account: 'settlement', direction: 'credit' },
        ],
      });
      expect((await holding(world, ada)).balance).toBe(euros('89.50'));
    });

    it('reverses a conversion with the amounts of both currencies', async () => {
      const [credited, debited] = [euros('10.00'), euros('11.70')];
      const id = await idOf(
        proposal([
          { account: ada, currencyId: EUR, direction: 'debit', amount: credited, type: 'spot' },
          { account: 'fx', currencyId: EUR, direction: 'credit', amount: credited, type: 'spot' },
          { account: 'fx', currencyId: USD, direction: 'debit', amount: debited, type: 'spot' },
          { account: 'settlement', currencyId: USD, direction: 'credit', amount: debited, type: 'spot' },
        ]),
      );

      const { legs } = await returnEntry(world.database, NORTH, id);

      expect(legs).toMatchObject([
        { account: ada, currencyId: EUR, direction: 'credit', amount: credited },
        { account: 'fx', currencyId: EUR, direction: 'debit', amount: credited },
        { account: 'fx', currencyId: USD, direction: 'credit', amount: debited },
        { account: 'settlement', currencyId: USD, direction: 'debit', amount: debited },
      ]);
    });
  });

  describe('the return of a transaction', () => {
    it.each<[string, (bob: number) => Proposal]>([
      ['that credited a customer', () => comeback(ada, euros('1.00'))],
      ['between two customers', (bob) => payment(ada, bob, euros('1.00'))],
    ])('%s has no description where the transfers have none', async (_what, proposalTo) => {
      const id = await idOf(proposalTo(await account(world)));
      const { legs } = await returnEntry(world.database, NORTH, id);

      expect(legs.map(({ description }) => description)).toEqual([undefined, undefined]);
    });

    it('fails where the workspace has no such transaction', async () => {
      const id = await idOf(payout(ada, euros('1.00'), euros('0.10')));

      await expect(returnEntry(world.database, SOUTH, id)).rejects.toThrow(`there is no transaction ${id} to return`);
      await expect(returnEntry(world.database, NORTH, id + 1_000_000)).rejects.toThrow('to return');
    });
  });
});
