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

describe('Given claims whose holder has locked them in a batch', () => {
  const hold = ({ workspaceId, kind, subjectId, fence }: Claim) =>
    world.owner.query('select hold_work($1, $2, $3, $4)', [workspaceId, kind, subjectId, fence]);
  const leases = async () => {
    const { rows } = await world.owner.query<{ seconds: number }>(
      `select extract(epoch from leased_until - clock_timestamp())::float8 as seconds from work order by subject_id`,
    );
    return rows.map(({ seconds }) => seconds > 15);
  };
  /** Whether a session of ours waits for a lock; or else `work` has ended, and will never wait. */
  async function waitsOrEnds(work: Promise<unknown>): Promise<void> {
    let hasEnded = false;
    void work.finally(() => (hasEnded = true)).catch(() => undefined);
    for (;;) {
      const { rows } = await world.owner.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      if (rows.length > 0 || hasEnded) return;
    }
  }

  beforeEach(() =>
    world.database.flight({}, [
      openWork([1, 2, 3].map((subjectId) => ({ workspaceId: NORTH, kind: KIND, subjectId }))),
    ]),
  );
  const claimThree = async () => {
    const claims = await claimWork(world.database, [KIND], 3);
    return claims.sort((a, b) => a.subjectId - b.subjectId) as [Claim, Claim, Claim];
  };

  it('When they are renewed in another order, Then neither waits for the other, and none counts as lost', async () => {
    const [first, second, third] = await claimThree();
    await passTime(world, 20_000);
    await world.owner.query('begin');
    await hold(first);

    const renewed = renewClaims(world.database, [third, second, first]);
    await waitsOrEnds(renewed);
    await hold(second);
    await hold(third);
    await world.owner.query('commit');

    expect((await renewed).map(({ subjectId }) => subjectId).sort()).toEqual([1, 2, 3]);
    // The locked one is being finished under the lease that it has.
    expect(await leases()).toEqual([false, true, true]);
  });

  it('When their holder ends them while they are renewed, Then they are gone, and the next renewal says so', async () => {
    const [first, second] = await claimThree();
    await world.owner.query('begin');
    await hold(first);
    await world.owner.query(`delete from work where subject_id = 1`);

    expect(await renewClaims(world.database, [second, first])).toHaveLength(2);
    await world.owner.query('commit');

    expect(await renewClaims(world.database, [second, first])).toEqual([second]);
  });
});
