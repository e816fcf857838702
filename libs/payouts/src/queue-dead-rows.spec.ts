import { PlanProbe, until } from '@banking/postgres/testing';
import { CLAIM_BY_INDEX, CLAIM_WORK } from '@banking/work-queue';
import { openWorld, type World } from './testing/world.js';

const DONE = 20_000;
/** The dead entries are on some eighty pages of the index, their rows on hundreds of pages. */
const COST_MAX = 200;

describe('a queue with the dead rows of very much work since the last vacuum', () => {
  let world: World;

  beforeAll(async () => {
    world = await openWorld();
    await world.owner.query(`
      alter table work set (autovacuum_enabled = off);
      insert into work (workspace_id, kind, subject_id) select 1, 'payout', n from generate_series(1, ${DONE}) n;
      analyze work`);
    await world.owner.query('delete from work where subject_id > 3');
    await world.owner.query('analyze work');
  });
  afterAll(() => world.close());

  it('is claimed from with few pages read, once no snapshot sees those rows', async () => {
    const probe = await PlanProbe.open(world, CLAIM_WORK, 'text[], int', CLAIM_BY_INDEX.statement);
    const claim = async () => (await probe.cost(`array['payout'], 16`)).buffers;

    // The first claim reads the catalog too, and marks the entries of the dead rows: unless an ANALYZE of the server still sees them.
    await until(claim, (buffers) => buffers < COST_MAX);

    await probe.close();
  });
});
