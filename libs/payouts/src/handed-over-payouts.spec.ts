import { uptime } from 'node:os';
import { type Claim, claimWork, type WorkOutcome, type Worker } from '@banking/work-queue';
import { freshPayout, PAYOUT } from './open-payouts.js';
import { stopPayouts } from './payout-stop.js';
import type { Rail } from './rail.js';
import { SandboxRail, SANDBOX_RAIL, sandboxRails } from './sandbox-rail.js';
import { payoutHandler } from './submit-payout.js';
import {
  AMOUNT,
  CREDITED,
  countedDatabase,
  faults,
  keepWorld,
  keyOf,
  NORTH,
  openWorld,
  passTimeHere,
  payOut,
  payoutWorker,
  work,
  type World,
} from './testing/world.js';

let world: World;
let restore: () => Promise<World>;

beforeAll(async () => {
  world = await openWorld();
  restore = await keepWorld(world);
});
afterEach(async () => {
  expect(await faults(world)).toEqual([]);
  world = await restore();
});
afterAll(() => world.close());

const LEASE_EXPIRED_MS = 31_000;

/** Each payout with its place in the queue, and how often the network received it. */
async function seen() {
  const { rows } = await world.owner.query<Record<string, unknown>>(
    `select p.status, p.tries, w.fence::int, w.leased_until is not null as "isLeased", n.submissions
     from payout p join work w on w.subject_id = p.transaction_id
       left join sandbox_rail_payment n on n.key = format('payout-%s-%s-%s', p.workspace_id, p.transaction_id, p.key_nonce)
     order by p.transaction_id`,
  );
  return rows;
}

const DUE = { status: 'due', tries: 0, fence: 0, isLeased: false, submissions: null };
const LEASED = { status: 'submitting', tries: 1, fence: 1, isLeased: true, submissions: null };
const SUBMITTED = { status: 'submitted', tries: 1, fence: 1, isLeased: false, submissions: 1 };

/** A payout that was written for a worker of the process, as the process hands it over. */
async function fresh(transactionId: number) {
  const keyNonce = (await keyOf(world, transactionId)).split('-')[3]!;
  return freshPayout({ workspaceId: NORTH, transactionId, keyNonce, rail: SANDBOX_RAIL });
}

/** A worker whose process writes payouts for it. */
async function handedOver(worker: Worker, count = 1): Promise<number[]> {
  const reservation = worker.reserve(PAYOUT, count, SANDBOX_RAIL)!;
  const ids = await payOut(world, { count, leasedMax: reservation.space });
  reservation.take(await Promise.all(ids.slice(0, reservation.space).map(fresh)));
  reservation.release();
  return ids;
}

describe('payouts that are written for a worker', () => {
  it('are begun and leased as by a claim, as many as it takes', async () => {
    await payOut(world, { count: 3, leasedMax: 2 });

    expect(await seen()).toEqual([LEASED, LEASED, DUE]);
    const [other] = await claimWork(world.database, [PAYOUT], new Map([[SANDBOX_RAIL, 3]]));
    const { rows } = await world.owner.query<{ id: number; seconds: number }>(
      `select subject_id::int as id, round(extract(epoch from w.leased_until - p.created_at))::int as seconds
       from work w join payout p on p.transaction_id = w.subject_id order by subject_id`,
    );
    expect(rows[2]?.id).toBe(other?.subjectId);
    // The lease of a claim begins a little later.
    expect(rows.slice(0, 2).map(({ seconds }) => seconds <= rows[2]!.seconds && seconds >= 30)).toEqual([true, true]);
  });

  it('are not begun while payouts are stopped', async () => {
    await stopPayouts(world.database, [{ check: 'spec', detail: 'spec', workspaceId: NORTH }]);
    await payOut(world, { leasedMax: 1 });

    expect(await seen()).toEqual([DUE]);
  });

  it('are left out where the network has them already', async () => {
    await payOut(world, { isSubmitted: true, leasedMax: 1 });

    const { rows } = await world.owner.query('select status, tries from payout');
    expect(rows).toEqual([{ status: 'submitted', tries: 0 }]);
    expect((await world.owner.query('select from work')).rowCount).toBe(0);
  });

  it('are submitted without a claim and without a statement that begins them', async () => {
    const { database, names } = countedDatabase(world.database);
    const worker = payoutWorker(world, { books: { ...world.books, database }, rail: new SandboxRail(database) });
    await handedOver(worker, 3);
    await worker.step();

    expect(await seen()).toEqual([SUBMITTED, SUBMITTED, SUBMITTED]);
    expect(names).not.toContain('begin_submitting');
    // Under the lease that they were written with.
    expect(names.filter((name) => name === 'lock_claims')).toHaveLength(1);
  });

  it('are settled as any other', async () => {
    const worker = payoutWorker(world);
    const [id] = await handedOver(worker);
    await work(world, worker, 8);

    const { rows } = await world.owner.query('select status from transaction where id = $1', [id]);
    expect(rows).toEqual([{ status: 'completed' }]);
  });

  it('are submitted once where workers of two processes look for work', async () => {
    const [mine, other] = [payoutWorker(world), payoutWorker(world)];
    await handedOver(mine, 4);
    await payOut(world, { count: 4 });
    await Promise.all([mine.step(), other.step()]);

    expect((await seen()).map(({ submissions }) => submissions)).toEqual(Array.from({ length: 8 }, () => 1));
  });
});

describe('a process that ends after the commit', () => {
  it('leaves its payout to another worker once the lease has ended, which asks the network first', async () => {
    await payOut(world, { leasedMax: 1 });
    const calls: string[] = [];
    const sandbox = new SandboxRail(world.database);
    const rail: Rail = Object.assign(Object.create(sandbox) as Rail, {
      find: (key: string) => (calls.push('find'), sandbox.find(key)),
      submit: (...args: Parameters<Rail['submit']>) => (calls.push('submit'), sandbox.submit(...args)),
    });
    const worker = payoutWorker(world, { rail });
    await worker.step();
    expect(await seen()).toEqual([LEASED]);

    await passTimeHere(world, LEASE_EXPIRED_MS);
    await worker.step();

    expect(calls).toEqual(['find', 'submit']);
    expect(await seen()).toEqual([{ ...SUBMITTED, tries: 2, fence: 2 }]);
  });

  it('and has submitted it leaves one payment at the network', async () => {
    const [id = 0] = await payOut(world, { leasedMax: 1 });
    const payment = { key: await keyOf(world, id), amount: AMOUNT, currency: 'USD' };
    const creditor = { name: 'Ravi Menon', account: CREDITED };
    await new SandboxRail(world.database).submit({ ...payment, creditor }, new AbortController().signal);
    await passTimeHere(world, LEASE_EXPIRED_MS);

    await payoutWorker(world).step();

    expect(await seen()).toEqual([{ ...SUBMITTED, tries: 2, fence: 2 }]);
  });
});

describe('a payout that was handed over, and waited for long', () => {
  /** Runs the handler with a claim that it does not trust any more. */
  async function runLate(transactionId: number): Promise<WorkOutcome> {
    const rails = sandboxRails(world.database);
    const readPayment = () =>
      Promise.resolve({ amount: AMOUNT, currency: 'USD', creditor: { name: 'Ravi Menon', account: CREDITED } });
    const claim: Claim = {
      ...{
        workspaceId: NORTH,
        kind: PAYOUT,
        subjectId: transactionId,
        rail: SANDBOX_RAIL,
        fence: 1n,
        tries: 1,
        delays: 0,
      },
      fresh: { note: (await fresh(transactionId)).note, untilUptimeS: uptime() },
    };
    const handler = payoutHandler({ books: world.books, rails, readPayment });
    return handler.run(claim, new AbortController().signal);
  }

  it('is begun under its lease again', async () => {
    const [id = 0] = await payOut(world, { leasedMax: 1 });
    await runLate(id);

    expect(await seen()).toEqual([{ ...LEASED, tries: 2, submissions: 1 }]);
  });

  it('is not submitted once its lease has ended', async () => {
    const [id = 0] = await payOut(world, { leasedMax: 1 });
    await passTimeHere(world, LEASE_EXPIRED_MS);

    await expect(runLate(id)).rejects.toThrow('the claim is lost');
    expect(await seen()).toEqual([LEASED]);
  });

  it('is held where payouts were stopped meanwhile', async () => {
    const [id = 0] = await payOut(world, { leasedMax: 1 });
    await stopPayouts(world.database, [{ check: 'spec', detail: 'spec', workspaceId: NORTH }]);

    expect(await runLate(id)).toMatchObject({ heldFor: 'payouts are stopped' });
    expect(await seen()).toEqual([LEASED]);
  });
});
