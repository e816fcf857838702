import type { QueuedWork } from '@banking/payouts';
import { World } from './testing/world.js';

const world = new World();
let parked: QueuedWork;

beforeAll(async () => {
  await world.open();
  await world.json('demo');
  await world.query(`
    with waiting as (
      update payout set status = 'parked', parked_at = now(), reason = 'nobody is there'
      where status = 'submitted' returning workspace_id, transaction_id)
    insert into work (workspace_id, kind, subject_id, tries, parked_at, reason)
    select workspace_id, 'payout', transaction_id, 10, now(), 'nobody is there' from waiting`);
  await world.query(`insert into work (workspace_id, kind, subject_id, due_at) values (1, 'other', 5, '2999-01-01')`);
  [parked] = (await world.json('work', 'list', '--parked')) as [QueuedWork];
});
afterAll(() => world.close());

describe('Given work in the queue', () => {
  it('When it is listed, Then what is parked comes first, with why', async () => {
    expect(parked).toMatchObject({ workspaceId: 1, kind: 'payout', state: 'parked', tries: 10, reason: 'nobody is there' }); // prettier-ignore

    const { stdout } = await world.run(['work', 'list']);

    const [, first, ...others] = stdout.split('\n');
    expect(first).toMatch(new RegExp(`payout +${parked.subjectId} +parked +10 .+ nobody is there$`));
    expect(others).toContainEqual(expect.stringMatching(/other +5 +waiting +0 +2999-01-01T00:00:00.000000Z$/));
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
});
