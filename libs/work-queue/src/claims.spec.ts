import { RULE_VIOLATION } from '@banking/postgres';
import { NORTH, openWorld, passTime, type World } from './testing/world.js';
import { sql } from '@banking/postgres/testing';
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

const enqueue = () => world.database.pipeline({}, [openWork([{ workspaceId: NORTH, kind: KIND, subjectId: 1 }])]);
const queue = () => listWork(world.database);

describe('a claim', () => {
  const claimed = async () => (await claimWork(world.database, [KIND], 1)) as [Claim];
  const write = (claim: Claim) =>
    world.database.pipeline({}, [holdWork(claim), sql(`update work set reason = 'mine' where kind = '${KIND}'`)]);
  const LOST = { code: RULE_VIOLATION.claimLost };

  it('permits a pipeline', async () => {
    await enqueue();
    const [claim] = await claimed();

    await write(claim);

    expect(await queue()).toMatchObject([{ state: 'running', reason: 'mine' }]);
  });

  it('permits no write after its lease has expired, even if no worker has taken over', async () => {
    await enqueue();
    const [claim] = await claimed();
    await passTime(world, 30_000);

    await expect(write(claim)).rejects.toMatchObject(LOST);
    expect(await renewClaims(world.database, [claim])).toEqual([]);
  });

  it('permits no write after another worker has taken over', async () => {
    await enqueue();
    const [first] = await claimed();
    await passTime(world, 30_000);
    const [second] = await claimed();

    expect(second.fence).toBe(first.fence + 1n);
    await expect(write(first)).rejects.toMatchObject(LOST);
    await write(second);
  });

  it('is renewed by the heartbeat', async () => {
    await enqueue();
    const [claim] = await claimed();
    await passTime(world, 20_000);
    expect(await renewClaims(world.database, [claim])).toEqual([claim]);
    await passTime(world, 20_000);

    expect(await claimed()).toEqual([]);
    await write(claim);
  });

  it('has a fence that the database refuses to lower', async () => {
    await enqueue();
    await claimed();

    await expect(world.owner.query('update work set fence = 0')).rejects.toMatchObject({
      code: RULE_VIOLATION.recordChanged,
    });
  });
});

describe('claims that their worker has locked in a batch', () => {
  const lock = ({ workspaceId, kind, subjectId, fence }: Claim) =>
    world.owner.query('select hold_work($1, $2, $3, $4)', [workspaceId, kind, subjectId, fence]);
  const leases = async () => {
    const { rows } = await world.owner.query<{ seconds: number }>(
      `select extract(epoch from leased_until - clock_timestamp())::float8 as seconds from work order by subject_id`,
    );
    return rows.map(({ seconds }) => seconds > 15);
  };
  /** Resolves when a session of this spec waits for a lock, or `work` has ended without a wait. */
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
    world.database.pipeline({}, [
      openWork([1, 2, 3].map((subjectId) => ({ workspaceId: NORTH, kind: KIND, subjectId }))),
    ]),
  );
  const claimThree = async () => {
    const claims = await claimWork(world.database, [KIND], 3);
    return claims.sort((a, b) => a.subjectId - b.subjectId) as [Claim, Claim, Claim];
  };

  it('are renewed in another order without a wait, and none counts as lost', async () => {
    const [first, second, third] = await claimThree();
    await passTime(world, 20_000);
    await world.owner.query('begin');
    await lock(first);

    const renewed = renewClaims(world.database, [third, second, first]);
    await waitsOrEnds(renewed);
    await lock(second);
    await lock(third);
    await world.owner.query('commit');

    expect((await renewed).map(({ subjectId }) => subjectId).sort()).toEqual([1, 2, 3]);
    // The locked claim is being finished under its present lease.
    expect(await leases()).toEqual([false, true, true]);
  });

  it('count as lost at the renewal after their worker has ended them', async () => {
    const [first, second] = await claimThree();
    await world.owner.query('begin');
    await lock(first);
    await world.owner.query(`delete from work where subject_id = 1`);

    expect(await renewClaims(world.database, [second, first])).toHaveLength(2);
    await world.owner.query('commit');

    expect(await renewClaims(world.database, [second, first])).toEqual([second]);
  });
});
