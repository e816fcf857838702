import { Refusal } from '@banking/domain';
import { API_ROLE, type Database, SCHEMA } from '@banking/postgres';
import { Interleaving, testOrProve, openDatabase } from '@banking/postgres/testing';
import * as fc from 'fast-check';
import { holdWork, type Claim } from './claims.js';
import type { WorkOutcome } from './work-handler.js';
import { openQueue, passTime, type Queue, type World } from './testing/queue.js';
import { Worker } from './worker.js';

const RUNS = testOrProve(60, 500);
const LEASE_MS = 31_000;
/** Longer than every delay before the next try. */
const LATER_MS = 3_600_000;
const WORKERS = ['worker 1', 'worker 2'] as const;
const seed = Date.now() & 0x7fffffff;

/** How a piece of work ends. The last one locks its row in a database transaction of its own before it is recorded. */
type Course = 'done' | 'later' | 'fails' | 'unavailable' | 'done in two steps';

interface Plan {
  readonly subjects: number;
  /** How often each worker claims work, sends a heartbeat, and how often all leases end. */
  readonly claims: number;
  readonly beats: number;
  readonly ends: number;
  readonly courses: readonly Course[];
}

const PLANS: fc.Arbitrary<Plan> = fc.record({
  subjects: fc.integer({ min: 1, max: 3 }),
  claims: fc.integer({ min: 1, max: 3 }),
  beats: fc.nat(2),
  ends: fc.nat(3),
  courses: fc.array(fc.constantFrom<Course>('done', 'later', 'fails', 'unavailable', 'done in two steps'), {
    maxLength: 6,
  }),
});

let queue: Queue;
let world: World;
let interleaving: Interleaving;
const databases: Database[] = [];

beforeAll(async () => {
  queue = await openQueue();
  world = queue.world;
  interleaving = await Interleaving.open(world.connection);
  for (const applicationName of WORKERS) {
    const options = { connection: world.connection, role: API_ROLE, schema: SCHEMA, statementTimeoutMs: 20_000 };
    databases.push(await openDatabase({ ...options, applicationName, lockTimeoutMs: 20_000 }));
  }
  // What a worker changes of claimed work: the fence and the lease are those of the row, and not those that the worker sent.
  await world.owner.query(`
    create table work_change (worker text, subject_id bigint, fence bigint, is_live boolean, is_end boolean);
    create function note_work_change() returns trigger language plpgsql security definer set search_path from current as $$
    begin
      if current_setting('application_name') like 'worker%' and (tg_op = 'DELETE' or new.fence = old.fence) then
        insert into work_change values (current_setting('application_name'), old.subject_id, old.fence,
          coalesce(old.leased_until > clock_timestamp(), false), tg_op = 'DELETE');
      end if;
      return null;
    end $$;
    create trigger note_work_change after update or delete on work for each row execute function note_work_change()`);
});
afterEach(() => world.owner.query('delete from work'));
afterAll(async () => {
  await interleaving.close();
  for (const database of databases) await database.end();
  await world.close();
});

type OwnClaim = Pick<Claim, 'subjectId' | 'fence'> & { readonly worker: string };

/** Workers that note their claims, each with a database of its own. */
function workersOf(courses: Course[], claims: OwnClaim[]): readonly Worker[] {
  return WORKERS.map((worker, index) => {
    const database = interleaving.databaseOf(databases[index]!);
    const run = async (claim: Claim): Promise<WorkOutcome> => {
      claims.push({ worker, subjectId: claim.subjectId, fence: claim.fence });
      const course = courses.pop() ?? 'done';
      await interleaving.turn('request to the network');
      if (course === 'fails') throw new Error(course);
      if (course === 'unavailable') throw new Refusal(course);
      if (course === 'done in two steps') {
        await database.transaction({}, async (tx) => {
          await tx.pipeline([holdWork(claim)]);
          await tx.commit();
        });
      }
      return course === 'later' ? { laterMs: LEASE_MS } : 'done';
    };
    return new Worker({ database, handlers: { test: { run } } });
  });
}

const repeat = async (times: number, act: () => Promise<unknown>) => {
  for (let count = 0; count < times; count += 1) await act();
};

/** Ends the remaining work without a concurrent worker. */
async function workOff(): Promise<void> {
  const worker = new Worker({ database: databases[0]!, handlers: { test: { run: async () => 'done' } } });
  await passTime(world, LATER_MS);
  while ((await worker.step()) > 0);
}

describe(`two workers whose leases end between any two of their steps (seed ${seed})`, () => {
  it('change only what they have claimed and not lost, and end each piece of work once', async () => {
    let [takeovers, changes] = [0, 0];
    const property = fc.asyncProperty(fc.scheduler(), PLANS, async (scheduler, plan) => {
      await world.owner.query('delete from work; delete from work_change');
      const subjects = await queue.enqueue(plan.subjects);
      const claims: OwnClaim[] = [];
      const workers = workersOf([...plan.courses], claims);

      await interleaving.run(scheduler, () =>
        Promise.all([
          ...workers.map((worker) => repeat(plan.claims, () => worker.step())),
          ...workers.map((worker) =>
            repeat(plan.beats, () => interleaving.turn('heartbeat').then(() => worker.beat())),
          ),
          repeat(plan.ends, () => interleaving.step('leases end', () => passTime(world, LEASE_MS))),
        ]),
      );

      const { rows } = await world.owner.query<OwnClaim & { is_live: boolean }>(
        `select worker, subject_id::int as "subjectId", fence, is_live from work_change`,
      );
      for (const { is_live, ...change } of rows) {
        expect(claims).toContainEqual(change);
        expect(is_live).toBe(true);
      }
      expect(new Set(claims.map(({ subjectId, fence }) => `${subjectId}/${fence}`)).size).toBe(claims.length);
      takeovers += claims.filter(({ fence }) => fence > 1n).length;
      changes += rows.length;

      await workOff();
      const ended = await world.owner.query<{ id: number }>(
        `select subject_id::int as id from work_change where is_end order by 1`,
      );
      expect(ended.rows.map(({ id }) => id)).toEqual(subjects);
      expect(await queue.list()).toEqual([]);
    });
    await fc.assert(property, { numRuns: RUNS, seed });
    expect(takeovers).toBeGreaterThan(RUNS / 10);
    expect(changes).toBeGreaterThan(RUNS);
  }, 300_000);
});
