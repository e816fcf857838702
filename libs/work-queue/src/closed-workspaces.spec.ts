import { openDatabase } from '@banking/postgres/testing';
import { API_ROLE, type Database, SCHEMA } from '@banking/postgres';
import { claimWork, type Claim } from './claims.js';
import { ResultRecorder } from './run-claimed-work.js';
import { KIND, NORTH, openQueue, passTime, type Queue, SOUTH } from './testing/queue.js';
import { postponed } from './work-changes.js';
import { TRIES_MAX, WORK_RETRY_POLICIES } from './work-handler.js';
import { Worker } from './worker.js';

/** As `SCOPE_CHECK` of libs/operations. */
const IS_OPEN = `exists (select from cell_workspace c where c.workspace_id = $1 and c.state = 'open')`;

let queue: Queue;
/** As a process opens the database of a cell. */
let database: Database;

beforeAll(async () => {
  queue = await openQueue();
  const { connection, owner } = queue.world;
  const limits = { acquireTimeoutMs: 20_000, statementTimeoutMs: 20_000 };
  const scopeCheck = { listFunction: 'require_open_workspaces', isReadable: IS_OPEN };
  database = await openDatabase({ connection, role: API_ROLE, schema: SCHEMA, scopeCheck, ...limits });
  await owner.query('insert into cell_workspace (workspace_id) values ($1), ($2) on conflict do nothing', [
    NORTH,
    SOUTH,
  ]);
});
afterEach(async () => {
  await setState(NORTH, 'open');
  await queue.world.owner.query('delete from work');
});
afterAll(async () => {
  await database?.end();
  await queue?.world.close();
});

const setState = (workspaceId: number, state: string) =>
  queue.world.owner.query('update cell_workspace set state = $2 where workspace_id = $1', [workspaceId, state]);

describe('work of a workspace that is closed in its database', () => {
  it.each(['moving', 'gone'])('is not claimed while the workspace is %s, however much of it is due', async (state) => {
    await queue.enqueue(1_100, NORTH, '2026-01-01T00:00:00Z');
    await queue.enqueue(1, SOUTH);
    await setState(NORTH, state);

    expect(await claimWork(database, [KIND], 5)).toMatchObject([{ workspaceId: SOUTH }]);
    await setState(NORTH, 'open');
    expect(await claimWork(database, [KIND], 2)).toMatchObject([{ workspaceId: NORTH }, { workspaceId: NORTH }]);
  });

  it('has no turn beside the backlog of another', async () => {
    await queue.enqueue(1_100, NORTH, '2026-01-01T00:00:00Z');
    await queue.enqueue(1, SOUTH);
    await setState(SOUTH, 'moving');

    const claims = await claimWork(database, [KIND], 5);
    await setState(SOUTH, 'open');

    expect(claims.map(({ workspaceId }) => workspaceId)).toEqual(Array(5).fill(NORTH));
  });

  it('is delayed where the workspace closes while it runs, and uses no try', async () => {
    await queue.enqueue();
    const errors: unknown[] = [];
    const run = async ({ workspaceId }: Claim) => {
      await setState(NORTH, 'moving');
      await database.pipeline({ workspaces: [workspaceId] }, []);
      return 'done' as const;
    };
    const worker = new Worker({ database, handlers: { [KIND]: { run } }, onError: (error) => errors.push(error) });

    for (let time = 0; time <= TRIES_MAX; time++) {
      expect(await worker.step()).toBe(1);
      expect(await worker.step()).toBe(0);
      await setState(NORTH, 'open');
      await passTime(queue.world, WORK_RETRY_POLICIES.work.maxMs);
    }

    expect(await queue.list()).toMatchObject([{ state: 'waiting', tries: 0 }]);
    // A move is part of normal operation.
    expect(errors).toEqual([]);
  });

  it('is delayed with its reason where the workspace is open again when the result is recorded', async () => {
    await queue.enqueue();
    const run = async ({ workspaceId }: Claim) => {
      await setState(NORTH, 'moving');
      await database.pipeline({ workspaces: [workspaceId] }, []).finally(() => setState(NORTH, 'open'));
      return 'done' as const;
    };

    await new Worker({ database, handlers: { [KIND]: { run } } }).step();

    const reason = 'the workspace is being moved to another database';
    expect(await queue.list()).toMatchObject([{ state: 'waiting', tries: 0, delays: 1, reason }]);
  });

  it('does not prevent that results of other workspaces are recorded', async () => {
    await queue.enqueue(3, NORTH);
    await queue.enqueue(3, SOUTH);
    const claims = await claimWork(database, [KIND], 6);
    await setState(NORTH, 'moving');
    const recorder = new ResultRecorder(database);
    const handler = { run: async () => 'done' as const };

    const results = await Promise.allSettled(
      claims.map((claim) => recorder.record({ claim, handler, change: postponed(1_000), isPostponed: true })),
    );

    expect(results.map(({ status }) => status)).toEqual(
      claims.map(({ workspaceId }) => (workspaceId === NORTH ? 'rejected' : 'fulfilled')),
    );
  });
});
