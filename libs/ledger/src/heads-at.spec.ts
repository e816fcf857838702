import { type AccountHead, headsAt } from './heads-at.js';
import { funding, payment } from './testing/proposals.js';
import { account, euros, NORTH, openWorld, posted, SOUTH, type World } from './testing/world.js';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

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
