import { World } from './testing/world.js';

const world = new World();
const LIVE = { SANDBOX: 'off' };
let payoutId: number;

beforeAll(async () => {
  await world.openDemo();
  // A payout of a live database that has no network.
  await world.query('update deployment_mode set is_sandbox = false');
  const [row] = await world.query(
    `with last as (
       select x.workspace_id, x.id from transaction x join payout p on p.transaction_id = x.id
       where x.status = 'completed' and x.workspace_id = 1 order by x.id desc limit 1
     ), pending as (
       update transaction x set status = 'pending' from last where x.id = last.id
     ), due as (
       update payout p set status = 'due' from last where p.transaction_id = last.id
     ), uncredited as (
       delete from remittance_event e using remittance m, last
       where m.transaction_id = last.id and e.remittance_id = m.id and e.status = 'ACCC'
     ), run as (
       update execution e set status = 'pending' from last where e.transaction_id = last.id returning e.id
     ), unended as (
       delete from event e using last, run
       where e.workspace_id = last.workspace_id and (e.type, e.resource_id) in (('transaction.completed', last.id), ('execution.completed', run.id))
     )
     insert into work (workspace_id, kind, subject_id) select workspace_id, 'payout', id from last returning subject_id::int as id`,
  );
  payoutId = row?.['id'] as number;
});
afterAll(() => world.close());

const give = (id: number, ...more: readonly string[]) =>
  world.run(['payout', 'return', String(id), '--workspace', '1', '--note', 'no network serves India', ...more], LIVE);

describe('banking payout return', () => {
  it('acts on a payout that verify and work list show to wait for a network', async () => {
    const { exitCode, stdout } = await world.run(['verify'], LIVE);
    const listed = await world.run(['work', 'list'], LIVE);

    expect([exitCode, stdout]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^ +1 +payout ${payoutId} waits for a payment network since 2\\S+Z$`, 'm')),
    ]);
    expect(listed.stdout).toMatch(
      new RegExp(`payout +${payoutId} +waiting .+ no payment network serves it: see banking payout return$`, 'm'),
    );
  });

  it.each([
    ['without a note', ['--workspace', '1'], 2, "required option '--note <text>' not specified"],
    ['without a workspace', ['--note', 'x'], 2, "required option '--workspace <id>' not specified"],
    ['with a long note', ['--workspace', '1', '--note', 'x'.repeat(501)], 1, 'The note has 501 characters.'],
  ])('is refused %s', async (_case, more, exitCode, words) => {
    expect(await world.run(['payout', 'return', String(payoutId), ...more], LIVE)).toMatchObject({
      exitCode,
      stderr: expect.stringContaining(words) as string,
    });
  });

  it('is refused for a payout that may have been sent, and for an unknown one', async () => {
    await world.query('update payout set tries = 1 where transaction_id = $1', payoutId);

    expect(await give(payoutId)).toEqual({
      exitCode: 1,
      stdout: '',
      stderr:
        `The payout ${payoutId} of workspace 1 may have been sent, so its money is not returned. ` +
        'Ask the network for its status: see banking work reconcile.\n',
    });
    expect(await give(999_999)).toMatchObject({
      exitCode: 1,
      stderr: 'There is no payout 999999 of workspace 1. See banking work list.\n',
    });
    await world.query('update payout set tries = 0 where transaction_id = $1', payoutId);
  });

  it('returns the money once, and leaves the books in order', async () => {
    const { exitCode, stdout } = await give(payoutId, '--as', 'ada');

    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(
        new RegExp(`^Returned the payout ${payoutId} of workspace 1 without its fee, by transaction \\d+\\.\n$`),
      ) as string,
    });
    expect(await world.query('select status, reason from payout where transaction_id = $1', payoutId)).toEqual([
      { status: 'failed', reason: 'no network serves India' },
    ]);
    expect(await world.query('select status, failure_code from execution where transaction_id = $1', payoutId)).toEqual(
      [{ status: 'failed', failure_code: 'payout_rejected' }],
    );
    expect(
      await world.query(
        `select e -> 'actor' ->> 'name' as name, (e ->> 'resourceId')::int as id
         from audit_outbox cross join jsonb_array_elements(entries) e where e ->> 'operation' = 'returnPayout'`,
      ),
    ).toEqual([{ name: 'ada', id: payoutId }]);
    expect(await give(payoutId)).toMatchObject({
      exitCode: 1,
      stderr: `The payout ${payoutId} of workspace 1 is completed or failed already. There is nothing to return.\n`,
    });
    const verified = await world.run(['verify'], LIVE);
    expect(verified).toMatchObject({
      exitCode: 0,
      stdout: expect.not.stringContaining('waits for a payment') as string,
    });
  });
});
