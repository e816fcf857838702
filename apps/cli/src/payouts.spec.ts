import { World } from './testing/world.js';

const world = new World();

beforeAll(() => world.openDemo());
afterAll(() => world.close());

const edit = (by: string) => world.query(`update account set balance = balance + ${by} where id = 1`);
const stop = () =>
  world.query(
    `insert into payout_stop (id, finding_count, workspace_ids, findings) values (7, 2, '{1}', '[]') on conflict do nothing`,
  );
const resumed = () => world.query('select resumed_by from payout_stop where resumed_at is not null');

describe('banking payouts resume', () => {
  it('is refused where payouts are not stopped', async () => {
    const { exitCode, stderr } = await world.run(['payouts', 'resume']);

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^Payouts are not stopped\.$/m);
  });

  it('is refused while the books of a workspace with findings are not in order', async () => {
    await stop();
    await edit('1');

    const { exitCode, stderr } = await world.run(['payouts', 'resume']);

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^The books are not in order in workspace 1, so payouts stay stopped\. Run banking verify/m);
    expect(await resumed()).toEqual([]);
  });

  it('is shown by work list and verify until payouts are resumed', async () => {
    await stop();
    await edit('1');

    const listed = await world.run(['work', 'list', '--parked']);
    const verified = await world.run(['verify']);

    expect(listed.stdout).toMatch(/1 +payout stop +7 +open .+ a verification of the books had 2 findings$/m);
    expect(verified.stdout).toMatch(/1 +payouts are stopped since 2\S+Z: a verification of the books had findings$/m);
    expect(verified.exitCode).toBe(1);
  });

  it('resumes payouts once the books are in order, and records the operator', async () => {
    await stop();
    await world.query(
      `update account a set balance = (select balance_after from transfer t where t.account_id = a.id order by account_version desc limit 1)
       where id = 1`,
    );

    const { exitCode, stdout } = await world.run(['payouts', 'resume', '--as', 'mia@harbour.example']);

    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: 'Payouts are resumed. Those that waited are submitted within five minutes.\n',
    });
    expect(await resumed()).toEqual([{ resumed_by: 'mia@harbour.example' }]);
    expect((await world.run(['work', 'list', '--parked'])).stdout).toBe('No work is parked.\n');
    expect((await world.run(['verify'])).exitCode).toBe(0);
  });
});

describe('banking payouts resume of several databases', () => {
  const CELLS = { CELLS: '2' };
  const cells = new World();

  beforeAll(async () => {
    await cells.run(['cell', 'list'], CELLS);
    await cells.open({ isReplicated: true });
  });
  afterAll(() => cells.close());

  it('resumes each that has a stop, and names it', async () => {
    await cells.query(`insert into payout_stop (finding_count, workspace_ids, findings) values (1, '{}', '[]')`);
    const listed = await cells.run(['work', 'list', '--parked'], CELLS);
    const inB = await cells.run(['payouts', 'resume'], { ...CELLS, CELL: 'b' });

    const { exitCode, stdout } = await cells.run(['payouts', 'resume'], CELLS);

    // A finding may be about payments between cells, and about no workspace.
    expect(listed.stdout).toMatch(/^home +payout stop +\d+ +open/m);
    expect(inB).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Payouts are not stopped.') as string });
    expect([exitCode, stdout]).toEqual([
      0,
      'Payouts of the cell home are resumed. Those that waited are submitted within five minutes.\n',
    ]);
    expect((await cells.run(['work', 'list', '--parked'], CELLS)).stdout).toBe('No work is parked.\n');
  });
});
