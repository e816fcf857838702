import type { Timestamp } from '@banking/domain';
import type { TransferContent } from '@banking/domain/proof';
import type { BookedTransaction } from './booked-transactions.js';
import { type AccountAt, type AccountHead, booksAt, headsAt, wasBooked } from './books-at.js';
import {
  account,
  EUR,
  euros,
  funding,
  NORTH,
  openWorld,
  payment,
  payout,
  posted,
  SOUTH,
  USD,
  type World,
} from './testing/world.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

describe('booksAt', () => {
  it('reads the accounts of one workspace with their versions, sums and kinds', async () => {
    const [ada, bob] = [await account(world, '10.00'), await account(world)];
    const dollars = await account(world, '3.00', { currencyId: USD });
    await account(world, '7.00', { workspaceId: SOUTH });
    await posted(world, payment(ada, bob, euros('4.00')), payout(bob, euros('1.00'), euros('0.10')));
    const seen: AccountAt[] = [];
    const books = await booksAt(world.database, NORTH, (one) => seen.push(one));

    expect(books).toMatchObject({ workspaceId: NORTH, accounts: 6, at: expect.stringMatching(/Z$/) });
    expect(Object.fromEntries(books.versions)).toEqual({ [ada]: 2, [bob]: 3, [dollars]: 1 });
    expect(Object.fromEntries(books.held)).toEqual({ [EUR]: euros('8.90'), [USD]: euros('3.00') });
    expect([...books.ownAccounts.values()].map(({ kind, currencyId }) => `${kind} ${currencyId}`).sort()).toEqual([
      `fees ${EUR}`,
      `settlement ${USD}`,
      `settlement ${EUR}`,
    ]);
    expect(seen.map(({ id }) => id)).toEqual(
      [...books.versions.keys(), ...books.ownAccounts.keys()].sort((a, b) => a - b),
    );
    expect(seen.find(({ id }) => id === bob)).toMatchObject({ kind: 'customer', balance: euros('2.90'), version: 3 });
  });

  it('reads an empty workspace', async () => {
    expect(await booksAt(world.database, 3)).toMatchObject({ accounts: 0 });
  });
});

describe('wasBooked', () => {
  const at = '2026-11-22T10:00:00.000000Z' as Timestamp;
  const books = {
    ...{ workspaceId: NORTH, at, accounts: 2, held: new Map(), ownAccounts: new Map() },
    versions: new Map([
      [1, 5],
      [2, 0],
    ]),
  };
  const transaction = (createdAt: string, ...steps: readonly (readonly [number, number | undefined])[]) =>
    ({
      content: {
        createdAt,
        transfers: steps.map(([accountId, accountVersion]) => ({ accountId, accountVersion }) as TransferContent),
      },
    }) as unknown as BookedTransaction;
  const later = '2026-11-22T10:00:00.000001Z';

  it.each<[boolean, string, BookedTransaction]>([
    [true, 'its account had reached its version', transaction(later, [1, 5], [7, undefined])],
    [false, 'its account had not reached its version', transaction(at, [1, 6], [7, undefined])],
    [false, 'one of its accounts had not', transaction(at, [1, 4], [2, 1])],
    [false, 'its account is not among those of the instant', transaction(at, [3, 1])],
    [true, 'it has own accounts only and is not later', transaction(at, [7, undefined])],
    [false, 'it has own accounts only and is later', transaction(later, [7, undefined])],
  ])('is %s of a transaction where %s', (expected, _what, booked) => {
    expect(wasBooked(books, booked)).toBe(expected);
  });
});

describe('headsAt', () => {
  // Whole workspaces, without the accounts of the tests above.
  beforeAll(async () => {
    await world.close();
    world = await openWorld();
  });

  it('reads the heads of all customer accounts as of one instant, in portions', async () => {
    const [ada, bob, idle] = [await account(world, '9.00'), await account(world, '1.00'), await account(world)];
    const eve = await account(world, '5.00', { workspaceId: SOUTH });
    await posted(world, payment(ada, bob, euros('2.00')));
    const portions: (readonly AccountHead[])[] = [];

    const at = await headsAt(
      world.database,
      [NORTH, SOUTH],
      async (heads) => {
        // Money that moves meanwhile is not in the snapshot.
        await posted(world, funding(eve, euros('1.00'), { workspaceId: SOUTH }), funding(idle, euros('1.00')));
        portions.push(heads);
      },
      { portion: 2 },
    );

    const hash = expect.stringMatching(/^[0-9a-f]{64}$/) as string;
    expect(portions).toEqual([
      [
        { workspaceId: NORTH, accountId: ada, version: 2, hash },
        { workspaceId: NORTH, accountId: bob, version: 2, hash },
      ],
      [
        { workspaceId: NORTH, accountId: idle, version: 0, hash: '' },
        { workspaceId: SOUTH, accountId: eve, version: 1, hash },
      ],
      [],
    ]);
    expect(portions[0]![0]!.hash).toBe(portions[0]![1]!.hash);
    expect(at).toMatch(/^20.*Z$/);
  });
});
