import { claimWork } from '@banking/work-queue';
import { PAYOUT } from './open-payouts.js';
import { stopPayouts } from './payout-stop.js';
import type { Rail } from './rail.js';
import { SandboxRail } from './sandbox-rail/sandbox-rail.js';
import { payoutHandler } from './submit-payout.js';
import { payoutWorker, work } from './testing/workers.js';
import { AMOUNT, faults, NORTH, openWorld, payOut, type World } from './testing/world.js';

const CREDITED = '50100123456789';
const REJECTED = '50100123459001';

let world: World;

beforeEach(async () => {
  world = await openWorld();
});
afterEach(async () => {
  expect(await faults(world)).toEqual([]);
  await world.close();
});

/** Minutes until the work of a payout is due. */
async function minutesLeft(id: number): Promise<number> {
  const { rows } = await world.owner.query<{ minutes: number }>(
    'select ceil(extract(epoch from due_at - clock_timestamp()) / 60)::int as minutes from work where subject_id = $1',
    [id],
  );
  return rows[0]!.minutes;
}

describe('work of a payout with a final status', () => {
  it.each([
    ['settled', CREDITED],
    ['failed', REJECTED],
  ])('ends without a call to the network where it is %s', async (status, account) => {
    const [id] = (await payOut(world)) as [number];
    await work(world, payoutWorker(world, { to: { [id]: account } }), 10);
    await world.owner.query(`insert into work (workspace_id, kind, subject_id) values ($1, $2, $3)`, [
      NORTH,
      PAYOUT,
      id,
    ]);
    const called: string[] = [];
    const call = (name: string) => async () => void called.push(name);
    const rail = Object.assign(Object.create(new SandboxRail(world.database)) as Rail, {
      submit: call('submit'),
      find: call('find'),
    });

    await payoutWorker(world, { rail }).step();

    expect(called).toEqual([]);
    const { rows } = await world.owner.query('select status, tries from payout where transaction_id = $1', [id]);
    expect(rows).toEqual([{ status, tries: 1 }]);
    expect((await world.owner.query('select from work')).rowCount).toBe(0);
  });
});

describe('a payout', () => {
  it('is checked with the network a quarter of an hour after its submission', async () => {
    const [id] = (await payOut(world)) as [number];

    await payoutWorker(world).step();

    expect(await minutesLeft(id)).toBe(15);
  });

  it.each([
    ['that is due', 'due', 0],
    ['whose earlier try did not reach the network', 'submitting', 1],
  ])('%s is held for five minutes while payouts are stopped', async (_what, status, tries) => {
    const [id] = (await payOut(world)) as [number];
    await world.owner.query('update payout set status = $2, tries = $3 where transaction_id = $1', [id, status, tries]);
    await stopPayouts(world.database, [{ check: 'a rule', detail: 'a difference between workspaces' }]);

    await payoutWorker(world).step();

    expect(await minutesLeft(id)).toBe(5);
  });

  it('is recorded while payouts are stopped, where an earlier try had submitted it', async () => {
    const [id] = (await payOut(world)) as [number];
    await payoutWorker(world).step();
    await world.owner.query(`
      alter table payout disable trigger legal_step;
      update payout set status = 'submitting';
      alter table payout enable trigger legal_step;
      update work set due_at = clock_timestamp()`);
    await stopPayouts(world.database, [{ check: 'a rule', detail: 'a difference between workspaces' }]);

    await payoutWorker(world).step();

    const { rows } = await world.owner.query('select status, tries from payout where transaction_id = $1', [id]);
    expect(rows).toEqual([{ status: 'submitted', tries: 1 }]);
    expect(await minutesLeft(id)).toBe(15);
  });

  it.each([
    ['before it begins', () => AbortSignal.abort(), () => undefined, 'the network was not called'],
    ['while it runs', undefined, (control: AbortController) => control.abort(), 'the network did not answer in time'],
  ])(
    'fails its try where the call is aborted %s, even if the network never answers',
    async (_what, aborted, during, message) => {
      const [id] = (await payOut(world)) as [number];
      const control = new AbortController();
      const never = () => {
        during(control);
        return new Promise<never>(() => undefined);
      };
      const rail = Object.assign(Object.create(new SandboxRail(world.database)) as Rail, {
        submit: never,
        find: never,
      });
      const readPayment = async () => ({
        ...{ amount: AMOUNT, currency: 'USD' },
        creditor: { name: 'Ravi Menon', account: CREDITED },
      });
      const [claim] = await claimWork(world.database, [PAYOUT], 1);
      const handler = payoutHandler({ books: world.books, rail, readPayment });

      const run = handler.run(claim!, aborted?.() ?? control.signal);

      await expect(run).rejects.toThrow(message);
      const { rows } = await world.owner.query('select status, tries from payout where transaction_id = $1', [id]);
      expect(rows).toEqual([{ status: 'submitting', tries: 1 }]);
    },
  );
});
