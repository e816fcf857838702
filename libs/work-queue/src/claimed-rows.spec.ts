import type { SqlStatement } from '@banking/postgres';
import { PlanProbe } from '@banking/postgres/testing';
import { LOCK_CLAIMS } from './claims.js';
import { KIND, NORTH, openQueue, type Queue } from './testing/queue.js';
import { END_WORK, RELEASE_CLAIMS } from './work-changes.js';

describe('claims in a queue that was empty when it was analyzed', () => {
  const ROWS = 20_000;
  /** Some pages for each of the two claims; the queue has hundreds. */
  const COST_MAX = 60;

  const KEYS = `array[${NORTH}, ${NORTH}], array['${KIND}', '${KIND}'], array[1, ${ROWS}], array[1, 1]`;
  const TYPES = 'bigint[], text[], bigint[], bigint[]';
  const LATER = `array[0, 0], array[0, 0], array[0, 0], array['a', 'b']`;
  const STATEMENTS: Readonly<Record<string, readonly [SqlStatement<unknown>, string, string]>> = {
    'are locked': [LOCK_CLAIMS, TYPES, KEYS],
    'are ended': [END_WORK, TYPES, KEYS],
    'are released': [RELEASE_CLAIMS, `${TYPES}, float8[], int[], int[], text[]`, `${KEYS}, ${LATER}`],
  };
  let queue: Queue;

  beforeAll(async () => {
    queue = await openQueue();
    const { owner } = queue.world;
    const fill = `insert into work (workspace_id, kind, subject_id, leased_until, fence)
      select ${NORTH}, '${KIND}', n, now() + interval '1 hour', 1 from generate_series(1, ${ROWS}) n`;
    // The pages stay, so that the planner expects no row in them.
    await owner.query(`alter table work set (autovacuum_enabled = off)`);
    await owner.query(fill);
    await owner.query('delete from work');
    await owner.query('vacuum analyze work');
    await owner.query(fill);
  });
  afterAll(() => queue.world.close());

  it.each(Object.entries(STATEMENTS))('%s with few pages read', async (_, [statement, types, values]) => {
    const probe = await PlanProbe.open(queue.world, statement, types);
    // The first execution in a session also reads the catalog.
    await probe.cost(values);

    expect((await probe.cost(values)).buffers).toBeLessThan(COST_MAX);
    await probe.close();
  });
});
