import type { QueuedWork } from '@banking/payouts';
import { World } from './testing/world.js';

const world = new World();
let parked: QueuedWork;

beforeAll(async () => {
  await world.open();
  await world.json('demo');
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

describe('Given work in the queue', () => {
  it('When it is listed, Then what is parked comes first, with why', async () => {
    expect(parked).toMatchObject({ workspaceId: 1, kind: 'payout', state: 'parked', tries: 10, reason: 'the network is unreachable' }); // prettier-ignore

    const { stdout } = await world.run(['work', 'list']);

    const [, first, ...others] = stdout.split('\n');
    expect(first).toMatch(new RegExp(`payout +${parked.subjectId} +parked +10 +0 .+ the network is unreachable$`));
    expect(others).toContainEqual(expect.stringMatching(/other +5 +waiting +0 +0 +2999-01-01T00:00:00.000000Z$/));
  });

  it.each([
    ['is not parked', ['other', '5'], /^No other 5 of workspace 1 is parked\. See banking work list\.$/m],
    ['is not there', ['payout', '999999'], /^No payout 999999 of workspace 1 is parked/m],
    ['has no id', ['payout', 'x1'], /Write an id as digits/],
  ])('When what %s is retried, Then that is said', async (_what, args, words) => {
    const { exitCode, stderr } = await world.run(['work', 'retry', ...args, '--workspace', '1']);

    expect(exitCode).not.toBe(0);
    expect(stderr).toMatch(words);
  });

  it('When what is parked is retried, Then it is due now, and its payout with it', async () => {
    const id = String(parked.subjectId);

    const { exitCode, stdout } = await world.run(['work', 'retry', 'payout', id, '--workspace', '1']);

    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `Released payout ${id} of workspace 1: it is due now.\n` }); // prettier-ignore
    const released = { kind: 'payout', subjectId: parked.subjectId, state: 'waiting', tries: 0 };
    expect(await world.json('work', 'list')).toContainEqual(expect.objectContaining(released));
    expect(await world.query('select status from payout where transaction_id = $1', id)).toEqual([{ status: 'due' }]);
    expect((await world.run(['verify'])).exitCode).toBe(0);
  });

  it.each([
    ['nothing is named', [], /name a kind and an id, or --all/],
    ['a kind is named without an id', ['payout', '--workspace', '1'], /name a kind and an id, or --all/],
    ['a piece is named without its workspace', ['payout', '1'], /required option '--workspace <id>' not specified/],
    ['a piece is named besides all', ['payout', '1', '--all'], /--all takes no id/],
    [
      'a piece is named with the option of all',
      ['payout', '1', '--workspace', '1', '--kind', 'other'],
      /'--kind <kind>' goes with --all/,
    ],
  ])('When %s, Then nothing is retried, and the exit code is 2', async (_what, args, words) => {
    const { exitCode, stderr } = await world.run(['work', 'retry', ...args]);

    expect(exitCode).toBe(2);
    expect(stderr).toMatch(words);
  });
});

describe('Given much work that is parked', () => {
  const PARKED = 'select count(*)::int as count from work where parked_at is not null';

  beforeAll(() =>
    world.query(`
      insert into work (workspace_id, kind, subject_id, tries, parked_at, reason)
      select case when n <= 3 then 2 else 1 end, case when n <= 1203 then 'execution' else 'other' end, 700000 + n, 10, now(), 'closed'
      from generate_series(1, 1210) n`),
  );

  it('When all of a workspace is retried, Then it is, and nothing else', async () => {
    expect(await world.json('work', 'retry', '--all', '--workspace', '2', '--kind', 'execution')).toEqual({
      released: 3,
    });

    const released = await world.query('select workspace_id from work where subject_id > 700000 and parked_at is null');
    expect(released.map(({ workspace_id }) => Number(workspace_id))).toEqual([2, 2, 2]);
  });

  it('When all of a kind is retried, Then it is due over time, with all its tries, and other kinds stay', async () => {
    const { exitCode, stdout } = await world.run(['work', 'retry', '--all', '--kind', 'execution']);

    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'Released 1200: due at 100 pieces a second.\n' });
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

  it('When all is retried, Then payouts step back with their work, and nothing is parked any more', async () => {
    await world.run(['work', 'retry', '--all']);

    expect(await world.query(PARKED)).toEqual([{ count: 0 }]);
    expect(await world.query(`select count(*)::int as count from payout where status = 'parked'`)).toEqual([
      { count: 0 },
    ]);
    expect(await world.query(`select count(*)::int as count from payout where status = 'due'`)).not.toEqual([
      { count: 0 },
    ]);
    expect((await world.run(['work', 'retry', '--all'])).stdout).toBe('Nothing is parked.\n');
    await world.query(`delete from work where subject_id > 700000`);
    expect((await world.run(['verify'])).exitCode).toBe(0);
  });
});
