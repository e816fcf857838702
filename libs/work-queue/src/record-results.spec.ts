import { bind, sqlStatement } from '@banking/postgres';
import { claimWork, type Claim } from './claims.js';
import { ResultRecorder } from './record-results.js';
import type { WorkHandler } from './work-handler.js';
import { KIND, openQueue, type Queue } from './testing/queue.js';
import { NORTH, SOUTH, type World } from './testing/world.js';
import { postponed } from './work-changes.js';

/** Fails for the subject 0. */
const DIVIDE = sqlStatement('divide_by_subject', 'select 1 / s from unnest($1::bigint[]) s');

let queue: Queue;
let world: World;

beforeAll(async () => {
  queue = await openQueue();
  world = queue.world;
});
afterEach(() => world.owner.query('delete from work'));
afterAll(() => world.close());

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
