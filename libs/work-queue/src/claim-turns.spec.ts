import { PlanProbe, testOrProve, until } from '@banking/postgres/testing';
import { CLAIM_BY_INDEX, CLAIM_WORK, claimWork, type Turns } from './claims.js';
import { KIND, NORTH, openQueue, openWork, type Queue, SOUTH } from './testing/queue.js';

/** As a worker has it. */
const SPACE = 64;

const LONG_AGO = '2026-01-01T00:00:00Z';

let queue: Queue;

beforeAll(async () => {
  queue = await openQueue();
});
afterEach(() => queue.world.owner.query('delete from work'));
afterAll(() => queue.world.close());

/** Puts `count` pieces into the queue for each of these workspaces, a second apart. All of the first workspace are due before the second's. */
const open = (from: number, to: number, count: number, dueAt: string, kind = KIND) =>
  queue.world.owner.query(
    `insert into work (workspace_id, kind, subject_id, due_at)
     select w, $3, n, $5::timestamptz + ((w - $1) * $4 + n) * interval '1 s' from generate_series($1::int, $2) w, generate_series(1, $4::int) n`,
    [from, to, kind, count, dueAt],
  );

const claim = (turns?: Turns, kinds: readonly string[] = [KIND]) =>
  claimWork(queue.world.database, kinds, SPACE, turns);

describe('workspaces beside one with a backlog', () => {
  const now = () => new Date().toISOString();

  beforeEach(() => open(NORTH, NORTH, 6_000, LONG_AGO));

  it('have a turn in the next claim, however much has been due for longer', async () => {
    await queue.enqueue(1, SOUTH);

    expect(await claim()).toContainEqual(expect.objectContaining({ workspaceId: SOUTH }));
  });

  it('have a turn in the next claim for what a worker that has died held', async () => {
    await queue.enqueue(1, SOUTH);
    await queue.world.owner.query(
      'update work set leased_until = clock_timestamp(), fence = 1 where workspace_id = $1',
      [SOUTH],
    );

    expect(await claim()).toContainEqual(expect.objectContaining({ workspaceId: SOUTH, fence: 2n }));
  });

  it('share the space with it, each by the time when its work fell due', async () => {
    await open(SOUTH, SOUTH, 100, '2026-02-01T00:00:00Z');
    const first = (workspaceId: number) =>
      Array.from({ length: SPACE / 2 }, (_, index) => expect.objectContaining({ workspaceId, subjectId: index + 1 }));

    const claims = await claim();

    expect(claims.sort((a, b) => a.workspaceId - b.workspaceId || a.subjectId - b.subjectId)).toEqual([
      ...first(NORTH),
      ...first(SOUTH),
    ]);
  });

  it('leave it the space that they do not use', async () => {
    await queue.enqueue(1, SOUTH);

    expect(await claim()).toHaveLength(SPACE);
  });

  it('have a turn after those whose work is due later, of which a claim passes 500', async () => {
    await open(NORTH + 1, 1_200, 1, '2999-01-01T00:00:00Z');
    await openWork(queue.world, KIND, [1], 1_201, now());
    const turns: Turns = new Map();

    const claims = [...(await claim(turns)), ...(await claim(turns)), ...(await claim(turns))];

    expect(claims).toContainEqual(expect.objectContaining({ workspaceId: 1_201 }));
  });

  it('have a turn in the claims of a worker with space for one piece', async () => {
    await queue.enqueue(1, SOUTH);
    const run: number[] = [];
    const worker = queue.workerOf(async ({ workspaceId }) => (run.push(workspaceId), 'done'), { concurrency: 1 });

    for (let step = 0; step < 2; step++) await worker.step();

    expect(run).toEqual([NORTH, SOUTH]);
  });
});

describe('many workspaces with backlogs', () => {
  it('have a turn each before any has a second', async () => {
    await open(1, 10 * SPACE, 4, LONG_AGO);
    const turns: Turns = new Map();
    const served = new Set<number>();

    for (let claims = 1; claims <= 10; claims++) {
      for (const { workspaceId } of await claim(turns)) served.add(workspaceId);
      expect(served.size).toBe(claims * SPACE);
    }
  });

  it('do not delay another kind of work', async () => {
    await open(1, 2 * SPACE, 10, LONG_AGO);
    await openWork(queue.world, 'other', [1]);

    expect(await claim(undefined, [KIND, 'other'])).toContainEqual(expect.objectContaining({ kind: 'other' }));
  });
});

describe('a claim beside a backlog', () => {
  const ROWS = testOrProve(20_000, 100_000);
  const WORKSPACES = testOrProve(2_000, 10_000);

  /**
   * Each of the longest due pieces takes the page of its row and two of the state of its workspace, each of the visited workspaces four of
   * the index besides, and each claimed piece ten.
   */
  const COST_MAX = 250 * 3 + 500 * 7 + SPACE * 10;

  const BACKLOG = `insert into work (workspace_id, kind, subject_id, due_at)
    select 5, '${KIND}', n, now() - interval '1 day' + n * interval '1 ms' from generate_series(1, ${ROWS}) n;`;
  const ONE_EACH = `insert into work (workspace_id, kind, subject_id, due_at)
    select n, '${KIND}', 1, now() + interval '1 day' * $1 from generate_series(10, ${WORKSPACES} + 9) n`;

  const cases: Readonly<Record<string, string>> = {
    'of one workspace': BACKLOG,
    'of one workspace, and many with one piece': BACKLOG + ONE_EACH.replace('$1', '0'),
    'of one workspace, and many whose work is due later': BACKLOG + ONE_EACH.replace('$1', '1'),
    'of very many workspaces': `insert into work (workspace_id, kind, subject_id, due_at)
      select n % ${WORKSPACES}, '${KIND}', n, now() - interval '1 day' + n * interval '1 ms' from generate_series(1, ${ROWS}) n`,
    'with dead rows since the last vacuum': `${BACKLOG.replace('5,', 'n % 100,')}
      delete from work; ${BACKLOG} ${ONE_EACH.replace('$1', '0')}`,
  };

  beforeAll(() => queue.world.owner.query('alter table work set (autovacuum_enabled = off)'));

  it.each(Object.entries(cases))('%s reads few pages', async (_, fill) => {
    const { owner } = queue.world;
    // The pages stay, so that the planner expects no row in them.
    await owner.query('vacuum analyze work');
    await owner.query(fill);
    for (const isAnalyzed of [false, true]) {
      if (isAnalyzed) await owner.query('analyze work');
      const probe = await PlanProbe.open(
        queue.world,
        CLAIM_WORK,
        'text[], text[], int[], bigint[]',
        CLAIM_BY_INDEX.statement,
      );
      const cost = async () =>
        (await probe.cost(`array['${KIND}', 'other'], array['', ''], array[${SPACE}, ${SPACE}], array[0, 0]`)).buffers;

      // The first claim also reads the catalog, and marks the entries of dead rows: unless an ANALYZE of the server still sees them.
      await until(cost, (buffers) => buffers < COST_MAX);
      await probe.close();
    }
  });
});
