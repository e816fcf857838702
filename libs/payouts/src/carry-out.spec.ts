import type { Database } from '@banking/postgres';
import { listWork } from './work/list-work.js';
import { retryWork } from './work/retry-work.js';
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

/** What there is of transactions, behind the walls. */
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
            (select submissions from sandbox_rail_payment where key = format('payout-%s-%s', x.workspace_id, x.id)) as submissions,
            exists (select from work k where k.subject_id = x.id) as queued
     from transaction x join payout p on p.transaction_id = x.id where x.id = any($1) order by x.id`,
    [transactionIds],
  );
  return rows;
}

const IN_TRANSIT = ['ACSP G000', 'ACSP G001'];
const done = { status: 'completed', payout: 'settled', returns: 0, submissions: 1, queued: false };
const back = { status: 'failed', payout: 'failed', returns: 1, submissions: 1, queued: false };

describe('Given a payout to an ordinary account', () => {
  it('When ten seconds have passed, Then it is credited, and the network was given it once', async () => {
    const ids = await payOut(world);
    const worker = payoutWorker(world);

    await worker.step();
    expect(await seen(ids)).toMatchObject([{ status: 'pending', payout: 'submitted', tries: 1, events: [] }]);
    await work(world, worker, 10);

    expect(await seen(ids)).toMatchObject([{ ...done, tries: 1, events: [...IN_TRANSIT, 'ACCC'] }]);
  });

  it('When there are many, of several workspaces, Then several workers share them and each is given once', async () => {
    const ids = [...(await payOut(world, { count: 20 })), ...(await payOut(world, { workspaceId: SOUTH, count: 20 }))];
    const workers = [payoutWorker(world), payoutWorker(world), payoutWorker(world)];

    for (let second = 0; second < 10; second++) {
      await Promise.all(workers.map((worker) => worker.step()));
      await passTime(world, 1_000);
    }
    await work(world, workers[0]!, 0);

    expect(await seen(ids)).toMatchObject(ids.map(() => ({ ...done, tries: 1, events: [...IN_TRANSIT, 'ACCC'] })));
  });

  it('When a word of the network gets lost, Then it is asked by key', async () => {
    const ids = await payOut(world);
    const worker = payoutWorker(world);
    await worker.step();
    await world.owner.query('update sandbox_rail_event set acknowledged = true');

    await passTime(world, 20 * 60_000);
    await worker.step();

    expect(await seen(ids)).toMatchObject([{ ...done, events: [...IN_TRANSIT, 'ACCC'] }]);
  });

  it('When the network has forgotten it, Then it is not given again, but parked for an operator', async () => {
    const ids = await payOut(world);
    const worker = payoutWorker(world);
    await worker.step();
    await world.owner.query(`delete from sandbox_rail_event; delete from sandbox_rail_payment`);

    for (let tried = 0; tried < 12; tried++) {
      await passTime(world, 20 * 60_000);
      await worker.step();
    }

    expect(await seen(ids)).toMatchObject([{ status: 'pending', payout: 'parked', submissions: null, queued: true }]);
    expect((await listWork(world.database, { isParked: true }))[0]!.reason).toMatch(/^the network has forgotten/);
    await retryWork(world.database, { workspaceId: NORTH, kind: 'payout', subjectId: ids[0]! });
    await work(world, worker, 10);
    expect(await seen(ids)).toMatchObject([done]);
  });
});

describe('Given what the end of an account number asks for', () => {
  it.each([
    ['9001', back, ['RJCT AC01']],
    ['9004', back, ['ACSP G000', 'RJCT AC04']],
    ['9011', { status: 'pending', payout: 'submitted', queued: true }, ['ACSP G000', 'ACSP G002']],
    ['9021', done, [...IN_TRANSIT, 'ACCC', 'ACCC']],
    ['9022', done, ['ACCC', 'ACSP G001', 'ACSP G000']],
    ['9023', back, ['ACSP G000', 'RJCT AC04', 'ACCC']],
    ['9024', done, ['ACSP G000', 'ACCC', 'RJCT AC04']],
  ] as const)('When it is %s, Then the payment ends so', async (ending, outcome, events) => {
    const [id] = (await payOut(world)) as [number];

    await work(world, payoutWorker(world, { to: { [id]: `5010012345${ending}` } }), 12);

    expect(await seen([id])).toMatchObject([{ ...outcome, events }]);
  });

  it('When it is 9010, Then it is credited after a minute and not before', async () => {
    const [id] = (await payOut(world)) as [number];
    const worker = payoutWorker(world, { to: { [id]: '50100123459010' } });

    await work(world, worker, 20);
    expect(await seen([id])).toMatchObject([{ status: 'pending', events: IN_TRANSIT }]);
    await work(world, worker, 60);

    expect(await seen([id])).toMatchObject([done]);
  });

  it('When it is 9020, Then the network has it although nobody answered, and is not given it again', async () => {
    const [id] = (await payOut(world)) as [number];
    let deadline = new AbortController();
    // The time is up when the network has taken it.
    const taking = Object.create(world.database, {
      flight: {
        value: async (...[scope, bound]: Parameters<Database['flight']>) => {
          const answer = await world.database.flight(scope, bound);
          if (bound[0]!.statement.name === 'sandbox_submit') deadline.abort();
          return answer;
        },
      },
    }) as Database;
    const errors: unknown[] = [];
    const worker = payoutWorker(world, {
      to: { [id]: '50100123459020' },
      rail: new SandboxRail(taking),
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

  it('When it is 9030, Then it is parked after ten tries, the money kept, and tried again when an operator says so', async () => {
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
    expect(await retryWork(world.database, parked)).toBe(true);
    expect(await retryWork(world.database, parked)).toBe(false);
    await work(world, worker, 10);
    expect(await seen([id])).toMatchObject([{ ...done, tries: 11 }]);
  });
});

describe('Given some payments that always fail among many', () => {
  it('When they are worked off, Then the others do not wait for them, and they are parked with their money kept', async () => {
    const ids = await payOut(world, { count: 110 });
    const poisoned = ids.filter((_, index) => index % 11 === 0);
    const to = Object.fromEntries(poisoned.map((id) => [id, '50100123459030']));
    const worker = payoutWorker(world, { to });

    await work(world, worker, 10);
    const [failing, well] = [poisoned, ids.filter((id) => !poisoned.includes(id))];
    expect(await seen(well)).toMatchObject(well.map(() => done));
    for (let tried = 0; tried < 10; tried++) {
      await passTime(world, 5 * 60_000);
      while ((await worker.step()) > 0);
    }

    const isParked = { status: 'pending', payout: 'parked', tries: 10, returns: 0, queued: true };
    expect(await seen(failing)).toMatchObject(failing.map(() => isParked));
  });
});

describe('Given money that cannot come back', () => {
  it('When the network rejects the payment, Then it is parked with the reason, and others are heard', async () => {
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
    await retryWork(world.database, { workspaceId: SOUTH, kind: 'payout', subjectId: stuck });
    await worker.step();
    expect(await seen([stuck])).toMatchObject([back]);
  });
});
