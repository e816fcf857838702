import { Refusal } from '@banking/domain';
import { bind, RULE_VIOLATION, sqlStatement } from '@banking/postgres';
import { sql, until } from '@banking/postgres/testing';
import { type Claim, claimWork, holdWork, lockClaims, renewClaims } from './claims.js';
import { ResultRecorder } from './run-claimed-work.js';
import { KIND, NORTH, openQueue, openWork, passTime, type Queue, SOUTH, type World } from './testing/queue.js';
import { postponed } from './work-changes.js';
import type { WorkHandler } from './work-handler.js';

let queue: Queue;
let world: World;

beforeAll(async () => {
  queue = await openQueue();
  world = queue.world;
});

afterEach(() => world.owner.query('delete from work'));

afterAll(() => world.close());

describe('a claim', () => {
  const claimed = async () => (await claimWork(world.database, [KIND], 1)) as [Claim];
  const write = (claim: Claim) =>
    world.database.pipeline({}, [holdWork(claim), sql(`update work set reason = 'mine' where kind = '${KIND}'`)]);
  const LOST = { code: RULE_VIOLATION.claimLost };

  it('permits a pipeline', async () => {
    await queue.enqueue();
    const [claim] = await claimed();

    await write(claim);

    expect(await queue.list()).toMatchObject([{ state: 'running', reason: 'mine' }]);
  });

  it('permits no write after its lease has expired, even if no worker has taken over', async () => {
    await queue.enqueue();
    const [claim] = await claimed();
    await passTime(world, 30_000);

    await expect(write(claim)).rejects.toMatchObject(LOST);
    expect(await renewClaims(world.database, [claim])).toEqual([]);
  });

  it('permits no write after another worker has taken over', async () => {
    await queue.enqueue();
    const [first] = await claimed();
    await passTime(world, 30_000);
    const [second] = await claimed();

    expect(second.fence).toBe(first.fence + 1n);
    await expect(write(first)).rejects.toMatchObject(LOST);
    await write(second);
  });

  it('is renewed by the heartbeat', async () => {
    await queue.enqueue();
    const [claim] = await claimed();
    await passTime(world, 20_000);
    expect(await renewClaims(world.database, [claim])).toEqual([claim]);
    await passTime(world, 20_000);

    expect(await claimed()).toEqual([]);
    await write(claim);
  });

  it('has a fence that the database refuses to lower', async () => {
    await queue.enqueue();
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

  beforeEach(() => openWork(world, KIND, [1, 2, 3]));
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

  beforeEach(() => openWork(world, KIND, [1, 2, 3]));

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

describe('work that is due at the same instant', () => {
  it('is claimed in the order of its subjects', async () => {
    await openWork(world, KIND, [5, 2, 6, 1, 4, 3], NORTH, '2026-01-01T00:00:00Z');
    const claimed = async () => (await claimWork(world.database, [KIND], 2)).map(({ subjectId }) => subjectId).sort();

    expect([await claimed(), await claimed(), await claimed()]).toEqual([
      [1, 2],
      [3, 4],
      [5, 6],
    ]);
  });
});

describe('work of several workspaces', () => {
  const open = (workspaceId: number, subjects: readonly number[], dueAt: string) =>
    openWork(world, KIND, subjects, workspaceId, dueAt);
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

/** Fails for the subject 0. */
const DIVIDE = sqlStatement('divide_by_subject', 'select 1 / s from unnest($1::bigint[]) s');
const handler: WorkHandler = { run: async () => 'done' };

async function claimed(count: number): Promise<readonly Claim[]> {
  await queue.enqueue(count);
  await queue.enqueue(count, SOUTH);
  return claimWork(world.database, [KIND], 2 * count);
}

const states = async () => (await queue.list()).map(({ state, reason }) => [state, reason ?? null]);

describe('results of tries', () => {
  it('of every kind and of several workspaces are recorded in one database transaction', async () => {
    const [ended, postponedOne, parked, retried] = (await claimed(2)) as [Claim, Claim, Claim, Claim];
    const recorder = new ResultRecorder(world.database);
    const transaction = jest.spyOn(world.database, 'transaction');

    await Promise.all([
      recorder.record({ claim: ended, handler, change: { kind: 'end' } }),
      recorder.record({ claim: postponedOne, handler, change: postponed(60_000) }),
      recorder.record({ claim: parked, handler, change: { kind: 'park', reason: 'closed' } }),
      recorder.record({
        claim: retried,
        handler,
        change: { kind: 'release', delayMs: 1_000, tries: 3, delays: 2, reason: 'later' },
      }),
    ]);

    expect(transaction).toHaveBeenCalledTimes(1);
    transaction.mockRestore();
    const rows = await queue.list();
    const find = ({ workspaceId, subjectId }: Claim) =>
      rows.find((row) => row.workspaceId === workspaceId && row.subjectId === subjectId);
    expect(rows).toHaveLength(3);
    expect(find(postponedOne)).toMatchObject({ state: 'waiting', tries: 0 });
    expect(find(parked)).toMatchObject({ state: 'parked', tries: 1, reason: 'closed' });
    expect(find(retried)).toMatchObject({ state: 'waiting', tries: 3, delays: 2, reason: 'later' });
  });

  it('whose claim is lost are left out, and the others are recorded', async () => {
    const claims = await claimed(3);
    const [lost, ...kept] = claims as [Claim, ...Claim[]];
    await world.owner.query('update work set fence = fence + 1 where workspace_id = $1 and subject_id = $2', [
      lost.workspaceId,
      lost.subjectId,
    ]);
    const noted: (readonly Claim[])[] = [];
    const noting: WorkHandler = { ...handler, notePostponed: (some) => (noted.push(some), []) };
    const recorder = new ResultRecorder(world.database);

    const results = await Promise.allSettled(
      claims.map((claim) => recorder.record({ claim, handler: noting, change: postponed(1_000), isPostponed: true })),
    );

    expect(results.filter(({ status }) => status === 'rejected')).toMatchObject([
      { reason: { name: 'LostClaimError' } },
    ]);
    expect(noted).toEqual([kept]);
    expect((await states()).filter(([state]) => state === 'running')).toHaveLength(1);
  });

  it('whose writes the database rejects fail alone', async () => {
    const claims = await claimed(4);
    const bad = claims[5]!;
    const dividing: WorkHandler = {
      ...handler,
      notePostponed: (some) => [
        bind(
          DIVIDE,
          some.map((claim) => (claim === bad ? 0 : claim.subjectId)),
        ),
      ],
    };
    const recorder = new ResultRecorder(world.database);

    const results = await Promise.allSettled(
      claims.map((claim) => recorder.record({ claim, handler: dividing, change: postponed(1_000), isPostponed: true })),
    );

    expect(results.map(({ status }) => status)).toEqual(
      claims.map((claim) => (claim === bad ? 'rejected' : 'fulfilled')),
    );
    expect((await states()).filter(([state]) => state === 'running')).toHaveLength(1);
    expect(new Set(claims.map(({ workspaceId }) => workspaceId))).toEqual(new Set([NORTH, SOUTH]));
  });
});

describe('the status of the queue', () => {
  it('counts parked work and work of other kinds, and is read again after 4 s', async () => {
    const [first, second] = await queue.enqueue(3);
    await openWork(world, 'other', [1]);
    const park = (id?: number) =>
      world.owner.query('update work set parked_at = now() where subject_id = $1 and kind = $2', [id, KIND]);
    await park(first);
    await passTime(world, 90_000);
    const worker = queue.workerOf(async () => 'done');
    const status = await worker.readStatus();
    await park(second);

    expect(status).toEqual({ parked: { [KIND]: 1 }, unserved: { other: 1 }, oldestDueSeconds: expect.any(Number) });
    expect(status.oldestDueSeconds).toBeGreaterThanOrEqual(90);
    expect(await worker.readStatus()).toBe(status);
    expect((await queue.workerOf(async () => 'done').readStatus()).parked).toEqual({ [KIND]: 2 });
  });

  it('is empty when nothing is parked or due', async () => {
    await queue.enqueue(1, NORTH, '2999-01-01T00:00:00Z');

    expect(await queue.workerOf(async () => 'done').readStatus()).toEqual({
      parked: {},
      unserved: {},
      oldestDueSeconds: 0,
    });
  });

  it('is read once a second while it cannot be read', async () => {
    const worker = queue.workerOf(async () => 'done');
    const now = jest.spyOn(performance, 'now').mockReturnValue(50_000);
    const pipeline = jest.spyOn(world.database, 'pipeline').mockRejectedValue(new Refusal('unavailable'));
    const refused = async () =>
      worker.readStatus().then(
        () => undefined,
        ({ reason }: Refusal) => reason,
      );

    const together = await Promise.all([refused(), refused(), refused()]);
    now.mockReturnValue(51_000);
    const within = await refused();
    const asked = pipeline.mock.calls.length;
    pipeline.mockRestore();
    now.mockReturnValue(51_001);

    expect([...together, within, asked]).toEqual(['unavailable', 'unavailable', 'unavailable', 'unavailable', 1]);
    expect(await worker.readStatus()).toEqual({ parked: {}, unserved: {}, oldestDueSeconds: 0 });
    now.mockRestore();
  });
});
