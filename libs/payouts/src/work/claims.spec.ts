import { NORTH, openWorld, passTime, sql, type World } from '../testing/world.js';
import { claimWork, holdWork, renewClaims, type Claim } from './claims.js';
import { openWork } from './open-work.js';
import { listWork } from './list-work.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterEach(() => world.owner.query('delete from work'));
afterAll(() => world.close());

const KIND = 'test';

const lay = () => world.database.flight({}, [openWork([{ workspaceId: NORTH, kind: KIND, subjectId: 1 }])]);
const queue = () => listWork(world.database);

describe('Given a claim', () => {
  const claimed = async () => (await claimWork(world.database, [KIND], 1)) as [Claim];
  const write = (claim: Claim) =>
    world.database.flight({}, [holdWork(claim), sql(`update work set reason = 'mine' where kind = '${KIND}'`)]);
  const LOST = { code: 'BK005' };

  it('When it is held, Then its flight is carried out', async () => {
    await lay();
    const [claim] = await claimed();

    await write(claim);

    expect(await queue()).toMatchObject([{ state: 'running', reason: 'mine' }]);
  });

  it('When its lease has run out, Then nothing can be written under it, also if nobody has taken over', async () => {
    await lay();
    const [claim] = await claimed();
    await passTime(world, 30_000);

    await expect(write(claim)).rejects.toMatchObject(LOST);
    expect(await renewClaims(world.database, [claim])).toEqual([]);
  });

  it('When somebody has taken over, Then the first can write nothing, however long the lease', async () => {
    await lay();
    const [first] = await claimed();
    await passTime(world, 30_000);
    const [second] = await claimed();

    expect(second.fence).toBe(first.fence + 1n);
    await expect(write(first)).rejects.toMatchObject(LOST);
    await write(second);
  });

  it('When its heart beats, Then the lease begins again, and nobody takes over', async () => {
    await lay();
    const [claim] = await claimed();
    await passTime(world, 20_000);
    expect(await renewClaims(world.database, [claim])).toEqual([claim]);
    await passTime(world, 20_000);

    expect(await claimed()).toEqual([]);
    await write(claim);
  });

  it('When a fence shall be lowered, Then the database refuses', async () => {
    await lay();
    await claimed();

    await expect(world.owner.query('update work set fence = 0')).rejects.toMatchObject({ code: 'BK003' });
  });
});
