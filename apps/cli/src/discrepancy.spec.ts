import type { Discrepancy } from '@banking/payouts';
import type { QueuedWork } from '@banking/work-queue';
import { World } from './testing/world.js';

const world = new World();
let credited: Discrepancy;
let rejected: Discrepancy;

beforeAll(async () => {
  await world.openDemo();
  // A late credit of a rejected payout, and a late rejection of a credited one.
  for (const [status, event, kind] of [
    ['completed', 'RJCT', 'credited_then_rejected'],
    ['failed', 'ACCC', 'rejected_then_credited'],
  ]) {
    await world.query(
      `with late as (
         insert into remittance_event (workspace_id, remittance_id, provider_event, status, reason_code)
         select m.workspace_id, m.id, 'late', $2, 'AC04' from remittance m join transaction x on x.id = m.transaction_id
         where x.status = $1 order by x.id limit 1 returning *)
       insert into discrepancy (workspace_id, transaction_id, kind, event_id)
       select m.workspace_id, m.transaction_id, $3, late.id from late join remittance m on m.id = late.remittance_id`,
      ...[status, event, kind],
    );
  }
  [credited, rejected] = await world.json<[Discrepancy, Discrepancy]>('discrepancy', 'list');
});
afterAll(() => world.close());

const resolve = (id: number, ...how: readonly string[]) =>
  world.run(['discrepancy', 'resolve', String(id), '--workspace', '1', ...how]);

describe('banking discrepancy', () => {
  it('appears in banking work list', async () => {
    const { stdout } = await world.run(['work', 'list', '--parked']);

    expect(stdout).toMatch(
      new RegExp(
        `discrepancy +${credited.id} +open +0 .+ credited_then_rejected, transaction ${credited.transactionId}`,
      ),
    );
    const list = await world.json<QueuedWork[]>('work', 'list');
    expect(list.filter(({ kind }) => kind === 'discrepancy').map(({ subjectId }) => subjectId)).toEqual([
      credited.id,
      rejected.id,
    ]);
  });

  it('lists each discrepancy with the events of its payout', async () => {
    const { stdout } = await world.run(['discrepancy', 'list', '--workspace', '1']);

    expect(stdout).toMatch(/credited_then_rejected .+ ACSP G000, .+, ACCC, RJCT AC04$/m);
    expect(stdout).toMatch(/rejected_then_credited .+ RJCT AC04, ACCC AC04$/m);
    expect(stdout).toMatch(
      new RegExp(`${credited.transactionId} +${credited.accountId} +[0-9]+\\.[0-9]{2} [A-Z]{3} +credited`),
    );
  });

  it.each([
    [[], 1, 'The resolution is missing. Add --return'],
    [['--dismiss'], 1, 'A dismissal needs a reason. Add --note'],
    [['--return', '--reclaim'], 2, 'cannot be used with option'],
    [['--reclaim'], 1, 'cannot be reclaimed: its kind'],
    [['--dismiss', '--note', 'x'.repeat(501)], 1, 'The note has 501 characters. At most 500 are allowed.'],
  ])('refuses to resolve with %j, and states the reason', async (how, exitCode, words) => {
    const ended = await resolve(credited.id, ...how);

    expect(ended).toMatchObject({ exitCode, stdout: '', stderr: expect.stringContaining(words) });
  });

  it('moves the money once, and lists the discrepancy as resolved', async () => {
    const { exitCode, stdout } = await resolve(credited.id, '--return', '--note', 'ticket 4711', '--as', 'ada');
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(
        new RegExp(
          `^Resolved discrepancy ${credited.id} of workspace 1: the money was returned to the customer, by transaction \\d+\\.\n$`,
        ),
      ),
    });

    expect(await resolve(credited.id, '--return')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('is resolved already'),
    });
    expect(await resolve(rejected.id, '--reclaim')).toMatchObject({ exitCode: 0 });
    expect(await world.json('discrepancy', 'list')).toEqual([]);
    expect(await world.json('discrepancy', 'list', '--all')).toMatchObject([
      { id: credited.id, resolution: 'returned', resolvedBy: 'ada', note: 'ticket 4711' },
      { id: rejected.id, resolution: 'reclaimed', resolvedBy: expect.stringMatching(/^cli:/) },
    ]);
    const { exitCode: verified, stdout: proof } = await world.run(['verify']);
    expect([verified, proof]).toEqual([0, expect.stringContaining('The books are in order.')]);
    expect(
      await world.query(
        `select e -> 'actor' ->> 'name' as name, (e ->> 'resourceId')::int as id
         from audit_outbox cross join jsonb_array_elements(entries) e where e ->> 'operation' = 'resolveDiscrepancy'`,
      ),
    ).toEqual([
      { name: 'ada', id: credited.id },
      { name: expect.stringMatching(/^cli:/) as string, id: rejected.id },
    ]);
  });

  it('refuses a discrepancy of another workspace and an unknown one', async () => {
    const { exitCode, stderr } = await resolve(999_999, '--return');

    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: 'There is no discrepancy 999999 of workspace 1. See banking discrepancy list.\n',
    });
  });
});
