import type { Database } from '@banking/postgres';
import { listWork } from '@banking/work-queue';
import { releaseParkedWork } from './release-parked-work.js';
import { SandboxRail } from './sandbox-rail/sandbox-rail.js';
import { payoutWorker, work } from './testing/workers.js';
import { AMOUNT, NORTH, SOUTH, faults, openWorld, passTime, payOut, type World } from './testing/world.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterEach(async () => {
  expect(await faults(world)).toEqual([]);
});
afterAll(() => world.close());

/** The state of transactions and payouts, read without row-level security. */
async function seen(transactionIds: readonly number[]) {
  const { rows } = await world.owner.query<{
    id: number;
    status: string;
    payout: string;
    tries: number;
    events: string[];
    returns: number;
    submissions: number | null;
    queued: boolean;
  }>(
    `select x.id::int, x.status, p.status as payout, p.tries,
            array(select concat_ws(' ', e.status, e.reason_code) from remittance_event e join remittance m on m.id = e.remittance_id
                  where m.transaction_id = x.id order by e.id) as events,
            (select count(*)::int from transaction r where r.return_of = x.id) as returns,
            (select submissions from sandbox_rail_payment where key = format('payout-%s-%s-%s', x.workspace_id, x.id, p.key_nonce)) as submissions,
            exists (select from work k where k.subject_id = x.id) as queued
     from transaction x join payout p on p.transaction_id = x.id where x.id = any($1) order by x.id`,
    [transactionIds],
  );
  return rows;
}

const IN_TRANSIT = ['ACSP G000', 'ACSP G001'];
const done = { status: 'completed', payout: 'settled', returns: 0, submissions: 1, queued: false };
const back = { status: 'failed', payout: 'failed', returns: 1, submissions: 1, queued: false };

describe('a payout', () => {
  it('is submitted once and credited within ten seconds', async () => {
    const ids = await payOut(world);
    const worker = payoutWorker(world);

    await worker.step();
    expect(await seen(ids)).toMatchObject([{ status: 'pending', payout: 'submitted', tries: 1, events: [] }]);
    await work(world, worker, 10);

    expect(await seen(ids)).toMatchObject([{ ...done, tries: 1, events: [...IN_TRANSIT, 'ACCC'] }]);
  });

  it('is submitted once where several workers share many payouts of several workspaces', async () => {
    const ids = [...(await payOut(world, { count: 20 })), ...(await payOut(world, { workspaceId: SOUTH, count: 20 }))];
    const workers = [payoutWorker(world), payoutWorker(world), payoutWorker(world)];

    for (let second = 0; second < 10; second++) {
      await Promise.all(workers.map((worker) => worker.step()));
      await passTime(world, 1_000);
    }
    await work(world, workers[0]!, 0);

    expect(await seen(ids)).toMatchObject(ids.map(() => ({ ...done, tries: 1, events: [...IN_TRANSIT, 'ACCC'] })));
  });

  it('is found by key when an event was lost', async () => {
    const ids = await payOut(world);
    const worker = payoutWorker(world);
    await worker.step();
    await world.owner.query('update sandbox_rail_event set acknowledged = true');

    await passTime(world, 20 * 60_000);
    await worker.step();

    expect(await seen(ids)).toMatchObject([{ ...done, events: [...IN_TRANSIT, 'ACCC'] }]);
  });

  it('is parked and not submitted again when the network no longer has it', async () => {
    const ids = await payOut(world);
    const worker = payoutWorker(world);
    await worker.step();
    await world.owner.query(`delete from sandbox_rail_event; delete from sandbox_rail_payment`);

    for (let tried = 0; tried < 12; tried++) {
      await passTime(world, 20 * 60_000);
      await worker.step();
    }

    expect(await seen(ids)).toMatchObject([{ status: 'pending', payout: 'parked', submissions: null, queued: true }]);
    expect((await listWork(world.database, { isParked: true }))[0]!.reason).toMatch(/^the network no longer has/);
    await releaseParkedWork(world.database, { workspaceId: NORTH, kind: 'payout', subjectId: ids[0]! });
    await work(world, worker, 10);
    expect(await seen(ids)).toMatchObject([done]);
  });
});

describe('a payout to an account of the sandbox', () => {
  it.each([
    ['9001', back, ['RJCT AC01']],
    ['9004', back, ['ACSP G000', 'RJCT AC04']],
    ['9011', { status: 'pending', payout: 'submitted', queued: true }, ['ACSP G000', 'ACSP G002']],
    ['9021', done, [...IN_TRANSIT, 'ACCC', 'ACCC']],
    ['9022', done, ['ACCC', 'ACSP G001', 'ACSP G000']],
    ['9023', back, ['ACSP G000', 'RJCT AC04', 'ACCC']],
    ['9024', done, ['ACSP G000', 'ACCC', 'RJCT AC04']],
  ] as const)('has the outcome of the ending %s', async (ending, outcome, events) => {
    const [id] = (await payOut(world)) as [number];

    await work(world, payoutWorker(world, { to: { [id]: `5010012345${ending}` } }), 12);

    expect(await seen([id])).toMatchObject([{ ...outcome, events }]);
  });

  it('is credited after a minute with 9010', async () => {
    const [id] = (await payOut(world)) as [number];
    const worker = payoutWorker(world, { to: { [id]: '50100123459010' } });

    await work(world, worker, 20);
    expect(await seen([id])).toMatchObject([{ status: 'pending', events: IN_TRANSIT }]);
    await work(world, worker, 60);

    expect(await seen([id])).toMatchObject([done]);
  });

  it('is submitted once with 9020, for which the network accepts it without a response', async () => {
    const [id] = (await payOut(world)) as [number];
    let deadline = new AbortController();
    // The deadline expires after the network has accepted the payment.
    const accepting = Object.create(world.database, {
      pipeline: {
        value: async (...[scope, bound]: Parameters<Database['pipeline']>) => {
          const results = await world.database.pipeline(scope, bound);
          if (bound[0]!.statement.name === 'sandbox_submit') deadline.abort();
          return results;
        },
      },
    }) as Database;
    const errors: unknown[] = [];
    const worker = payoutWorker(world, {
      to: { [id]: '50100123459020' },
      rail: new SandboxRail(accepting),
      deadline: () => (deadline = new AbortController()).signal,
      onError: (error) => errors.push(error),
    });

    await worker.step();
    expect(errors).toMatchObject([{ message: 'the network did not answer in time' }]);
    expect(await seen([id])).toMatchObject([{ payout: 'submitting', submissions: 1 }]);
    await passTime(world, 2_000);
    await worker.step();
    expect(await seen([id])).toMatchObject([{ payout: 'submitted', tries: 2, submissions: 1 }]);
    await work(world, worker, 10);

    expect(await seen([id])).toMatchObject([{ ...done, events: [...IN_TRANSIT, 'ACCC'] }]);
  });

  it('is parked after ten tries with 9030, without a return, and is tried again after its release', async () => {
    const [id] = (await payOut(world)) as [number];
    const to: Record<number, string> = { [id]: '50100123459030' };
    const worker = payoutWorker(world, { to });

    for (let tried = 0; tried < 9; tried++) {
      await worker.step();
      await passTime(world, 5 * 60_000);
    }
    expect(await seen([id])).toMatchObject([{ payout: 'submitting', tries: 9 }]);
    await worker.step();

    const parked = { workspaceId: NORTH, kind: 'payout', subjectId: id };
    const reason = 'the sandbox network cannot be reached for this account';
    expect(await seen([id])).toMatchObject([{ status: 'pending', payout: 'parked', tries: 10, submissions: null }]);
    expect(await listWork(world.database, { isParked: true })).toMatchObject([{ ...parked, state: 'parked', reason }]);
    await passTime(world, 60 * 60_000);
    await worker.step();
    expect(await seen([id])).toMatchObject([{ payout: 'parked', tries: 10 }]);

    to[id] = '50100123456789';
    expect(await releaseParkedWork(world.database, parked)).toBe(true);
    expect(await releaseParkedWork(world.database, parked)).toBe(false);
    await work(world, worker, 10);
    expect(await seen([id])).toMatchObject([{ ...done, tries: 11 }]);
  });
});

describe('payouts that always fail', () => {
  it('delay no other payout, and are parked without a return', async () => {
    const ids = await payOut(world, { count: 110 });
    const failingIds = ids.filter((_, index) => index % 11 === 0);
    const to = Object.fromEntries(failingIds.map((id) => [id, '50100123459030']));
    const worker = payoutWorker(world, { to });

    await work(world, worker, 10);
    const [failing, well] = [failingIds, ids.filter((id) => !failingIds.includes(id))];
    expect(await seen(well)).toMatchObject(well.map(() => done));
    for (let tried = 0; tried < 10; tried++) {
      await passTime(world, 5 * 60_000);
      while ((await worker.step()) > 0);
    }

    const isParked = { status: 'pending', payout: 'parked', tries: 10, returns: 0, queued: true };
    expect(await seen(failing)).toMatchObject(failing.map(() => isParked));
  });
});

describe('a rejected payout whose money cannot be returned', () => {
  it('is parked with the reason, and delays no event of other payouts', async () => {
    const [stuck] = (await payOut(world, { workspaceId: SOUTH })) as [number];
    const [other] = (await payOut(world)) as [number];
    const worker = payoutWorker(world, { to: { [stuck]: '50100123459004', [other]: '50100123459004' } });
    await worker.step();
    const fill = (amount: bigint) =>
      world.owner.query(
        `begin; set local session_replication_role = replica; update account set balance = ${amount} where id = ${world.accounts[SOUTH]}; commit`,
      );
    const { rows } = await world.owner.query<{ balance: bigint }>('select balance from account where id = $1', [
      world.accounts[SOUTH],
    ]);
    await fill(9_007_199_254_740_991n - AMOUNT + 1n);

    await work(world, worker, 6);
    for (let tried = 0; tried < 12; tried++) {
      await passTime(world, 5 * 60_000);
      await worker.step();
    }

    expect(await seen([stuck])).toMatchObject([{ status: 'pending', payout: 'parked', returns: 0 }]);
    const all = await listWork(world.database, { isParked: true });
    expect(all.find(({ subjectId }) => subjectId === stuck)).toMatchObject({ reason: 'balance_limit_exceeded' });
    expect(await seen([other])).toMatchObject([back]);
    await fill(rows[0]!.balance);
    await releaseParkedWork(world.database, { workspaceId: SOUTH, kind: 'payout', subjectId: stuck });
    await worker.step();
    expect(await seen([stuck])).toMatchObject([back]);
  });
});
