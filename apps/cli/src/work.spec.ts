import type { QueuedWork } from '@banking/work-queue';
import { World } from './testing/world.js';

const world = new World();
let parked: QueuedWork;

beforeAll(async () => {
  await world.openDemo();
  await world.query(`
    with waiting as (
      update payout set status = 'parked', parked_at = now(), reason = 'the network is unreachable'
      where status = 'submitted' returning workspace_id, transaction_id)
    insert into work (workspace_id, kind, subject_id, tries, parked_at, reason)
    select workspace_id, 'payout', transaction_id, 10, now(), 'the network is unreachable' from waiting`);
  await world.query(`insert into work (workspace_id, kind, subject_id, due_at) values (1, 'other', 5, '2999-01-01')`);
  [parked] = (await world.json('work', 'list', '--parked')) as [QueuedWork];
});
afterAll(() => world.close());

describe('banking work', () => {
  it('lists parked work first, with its reason', async () => {
    expect(parked).toMatchObject({
      workspaceId: 1,
      kind: 'payout',
      state: 'parked',
      tries: 10,
      reason: 'the network is unreachable',
    });

    const { stdout } = await world.run(['work', 'list']);

    const [, first, ...others] = stdout.split('\n');
    expect(first).toMatch(new RegExp(`payout +${parked.subjectId} +parked +10 +0 .+ the network is unreachable$`));
    expect(others).toContainEqual(expect.stringMatching(/other +5 +waiting +0 +0 +2999-01-01T00:00:00.000000Z$/));
  });

  it.each([
    ['is not parked', ['other', '5'], /^The other 5 of workspace 1 is not parked\. See banking work list\.$/m],
    ['is not there', ['payout', '999999'], /^The payout 999999 of workspace 1 is not parked/m],
    ['has no id', ['payout', 'x1'], /Write an id as digits/],
  ])('refuses to retry work that %s', async (_what, args, words) => {
    const { exitCode, stderr } = await world.run(['work', 'retry', ...args, '--workspace', '1']);

    expect(exitCode).not.toBe(0);
    expect(stderr).toMatch(words);
  });

  it('releases parked work and its payout, due now', async () => {
    const id = String(parked.subjectId);

    const { exitCode, stdout } = await world.run(['work', 'retry', 'payout', id, '--workspace', '1']);

    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: `Released payout ${id} of workspace 1, due now.\n`,
    });
    const released = { kind: 'payout', subjectId: parked.subjectId, state: 'waiting', tries: 0 };
    expect(await world.json('work', 'list')).toContainEqual(expect.objectContaining(released));
    expect(await world.query('select status from payout where transaction_id = $1', id)).toEqual([{ status: 'due' }]);
    expect((await world.run(['verify'])).exitCode).toBe(0);
    expect(
      await world.query(
        `select e ->> 'operation' as operation, e ->> 'resourceType' as type, e -> 'actor' ->> 'type' as actor,
           (e -> 'actor') ? 'operatingSystemUser' as has_account
         from audit_outbox cross join jsonb_array_elements(entries) e where e ->> 'operation' = 'releaseWork'`,
      ),
    ).toEqual([{ operation: 'releaseWork', type: 'payout', actor: 'operator', has_account: true }]);
  });

  it.each([
    ['nothing is named', [], /arguments kind and id, or --all, are missing/],
    ['a kind is named without an id', ['payout', '--workspace', '1'], /arguments kind and id, or --all, are missing/],
    ['a piece is named without its workspace', ['payout', '1'], /required option '--workspace <id>' not specified/],
    ['a piece is named besides all', ['payout', '1', '--all'], /option '--all' takes no arguments/],
    [
      'a piece is named with the option of all',
      ['payout', '1', '--workspace', '1', '--kind', 'other'],
      /option '--kind <kind>' requires '--all'/,
    ],
  ])('retries nothing if %s, with exit code 2', async (_what, args, words) => {
    const { exitCode, stderr } = await world.run(['work', 'retry', ...args]);

    expect(exitCode).toBe(2);
    expect(stderr).toMatch(words);
  });
});

describe('banking work retry --all', () => {
  const PARKED = 'select count(*)::int as count from work where parked_at is not null';

  beforeAll(() =>
    world.query(`
      insert into work (workspace_id, kind, subject_id, tries, parked_at, reason)
      select case when n <= 3 then 2 else 1 end, case when n <= 1203 then 'execution' else 'other' end, 700000 + n, 10, now(), 'closed'
      from generate_series(1, 1210) n`),
  );

  it('releases the work of one workspace only', async () => {
    expect(await world.json('work', 'retry', '--all', '--workspace', '2', '--kind', 'execution')).toEqual({
      released: 3,
    });

    const released = await world.query('select workspace_id from work where subject_id > 700000 and parked_at is null');
    expect(released.map(({ workspace_id }) => Number(workspace_id))).toEqual([2, 2, 2]);
  });

  it('releases the work of one kind over time, with no tries counted', async () => {
    const { exitCode, stdout } = await world.run(['work', 'retry', '--all', '--kind', 'execution']);

    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'Released 1200 pieces of work, at 100 a second.\n' });
    const [spread] = await world.query(`
      select max(count)::int as most, count(*)::int as seconds, sum(tries)::int as tries from (
        select count(*), sum(tries) as tries from work
        where kind = 'execution' and workspace_id = 1 and subject_id > 700000 and parked_at is null
        group by date_trunc('second', due_at)) s`);
    expect(spread).toMatchObject({ tries: 0 });
    expect(Number(spread!.seconds)).toBeGreaterThanOrEqual(12);
    expect(Number(spread!.most)).toBeLessThanOrEqual(200);
    expect(await world.query(`${PARKED} and kind = 'other'`)).toEqual([{ count: 7 }]);
  });

  it('releases all parked work and its payouts', async () => {
    await world.run(['work', 'retry', '--all']);

    expect(await world.query(PARKED)).toEqual([{ count: 0 }]);
    expect(await world.query(`select count(*)::int as count from payout where status = 'parked'`)).toEqual([
      { count: 0 },
    ]);
    expect(await world.query(`select count(*)::int as count from payout where status = 'due'`)).not.toEqual([
      { count: 0 },
    ]);
    expect((await world.run(['work', 'retry', '--all'])).stdout).toBe('No work is parked.\n');
    await world.query(`delete from work where subject_id > 700000`);
    expect((await world.run(['verify'])).exitCode).toBe(0);
  });
});
