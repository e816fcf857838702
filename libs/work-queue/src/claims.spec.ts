import { RULE_VIOLATION } from '@banking/postgres';
import { NORTH, openWorld, passTime, SOUTH, type World } from './testing/world.js';
import { sql, until } from '@banking/postgres/testing';
import { claimWork, holdWork, lockClaims, renewClaims, type Claim } from './claims.js';
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
    await until(async () => {
      // A database transaction sees the sessions as they were at its first look.
      await world.owner.query('select pg_stat_clear_snapshot()');
      const { rowCount } = await world.owner.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return hasEnded || rowCount !== 0;
    });
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

describe('a claim of a batch', () => {
  const locked = async (claims: readonly Claim[]) => {
    const held = await world.database.transaction({}, (tx) => lockClaims(tx, claims));
    return [...held].map(({ subjectId }) => subjectId).sort();
  };

  beforeEach(() =>
    world.database.pipeline({}, [
      openWork([1, 2, 3].map((subjectId) => ({ workspaceId: NORTH, kind: KIND, subjectId }))),
    ]),
  );

  it('that another worker has taken over is left out', async () => {
    const claims = await claimWork(world.database, [KIND], 3);
    await world.owner.query('update work set fence = fence + 1 where subject_id = 2');

    expect(await locked(claims)).toEqual([1, 3]);
  });

  it('of work that its own worker has claimed again is left out, and the new claim stays', async () => {
    const [claim] = (await claimWork(world.database, [KIND], 1)) as [Claim];
    await world.owner.query('update work set fence = fence + 1 where subject_id = $1', [claim.subjectId]);
    const again = { ...claim, fence: claim.fence + 1n };

    const held = await world.database.transaction({}, (tx) => lockClaims(tx, [claim, again]));

    expect([...held]).toEqual([again]);
  });

  it('whose lease has expired is left out', async () => {
    const claims = await claimWork(world.database, [KIND], 3);
    await world.owner.query(`update work set leased_until = clock_timestamp() where subject_id = 3`);

    expect(await locked(claims)).toEqual([1, 2]);
  });

  it('whose work has ended is left out', async () => {
    const claims = await claimWork(world.database, [KIND], 3);
    await world.owner.query(`delete from work where subject_id = 1`);

    expect(await locked(claims)).toEqual([2, 3]);
  });

  it('stays locked to the end of the database transaction', async () => {
    const [first, ...others] = (await claimWork(world.database, [KIND], 3)) as [Claim, ...Claim[]];

    await world.database.transaction({}, async (tx) => {
      await lockClaims(tx, [first]);
      const { rows } = await world.owner.query<{ id: number }>(
        'select subject_id::int as id from work order by 1 for update skip locked',
      );
      expect(rows.map(({ id }) => id)).toEqual(others.map(({ subjectId }) => subjectId).sort());
    });
  });
});

describe('work of several workspaces', () => {
  const open = (workspaceId: number, subjects: readonly number[], dueAt: string) =>
    world.database.pipeline({}, [
      openWork(subjects.map((subjectId) => ({ workspaceId, kind: KIND, subjectId, dueAt }))),
    ]);
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1);

  it('is claimed in turns, so that the backlog of one workspace does not delay another', async () => {
    await open(NORTH, hundred, '2026-01-01T00:00:00Z');
    await open(SOUTH, [1, 2], '2026-02-01T00:00:00Z');

    const claims = await claimWork(world.database, [KIND], 5);

    expect(claims.filter(({ workspaceId }) => workspaceId === SOUTH)).toHaveLength(2);
  });

  it('is claimed by a second worker beside an open claim of the first', async () => {
    await open(NORTH, hundred, '2026-01-01T00:00:00Z');
    await world.owner.query('begin');
    await world.owner.query('select from work where subject_id <= 60 for update');

    const claims = await claimWork(world.database, [KIND], 40);
    await world.owner.query('rollback');

    expect(claims.map(({ subjectId }) => subjectId).sort((a, b) => a - b)).toEqual(hundred.slice(60));
  });
});
