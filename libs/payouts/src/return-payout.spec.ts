import { bind, sqlStatement } from '@banking/postgres';
import { claimWork } from '@banking/work-queue';
import { PayoutBeginner } from './begin-submitting.js';
import { openTracking, PAYOUT } from './open-payouts.js';
import { recordEvent } from './record-rail-event.js';
import { returnPayout } from './return-payout.js';
import type { Rail } from './rail.js';
import { SandboxRail } from './sandbox-rail/sandbox-rail.js';
import { AMOUNT, faults, FEE, keyOf, NORTH, openWorld, payOut, SOUTH, type World } from './testing/world.js';
import { payoutWorker, work } from './testing/workers.js';

let world: World;
let transactionId: number;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => {
  expect(await faults(world)).toEqual([]);
  await world.close();
});
beforeEach(async () => {
  [transactionId] = (await payOut(world)) as [number];
});
afterEach(() => world.owner.query('delete from work'));

const NOTE = 'no network serves India';
const noted = jest.fn();
const NOTHING = sqlStatement('note_nothing', 'select');
const give = ({ rail = undefined as Rail | undefined, workspaceId = NORTH } = {}) =>
  returnPayout(world.books, {
    ...{ workspaceId, transactionId, note: NOTE, rail },
    noteChanges: (changes) => {
      noted(changes);
      return bind(NOTHING);
    },
  });
const one = async (sql: string): Promise<Record<string, unknown> | undefined> =>
  (await world.owner.query<Record<string, unknown>>(sql, [transactionId])).rows[0];
const balance = async () =>
  (await world.owner.query<{ balance: bigint }>('select balance from account where id = $1', [world.accounts[NORTH]]))
    .rows[0]!.balance;
const state = async () => ({
  ...(await one(`select x.status, p.status as payout, p.reason from transaction x join payout p on p.transaction_id = x.id
                 where x.id = $1`)),
  isQueued: (await one(`select from work where kind = '${PAYOUT}' and subject_id = $1`)) !== undefined,
  returns: (await one('select count(*)::int as number from transaction where return_of = $1'))?.['number'],
});
const WAITING = { status: 'pending', payout: 'due', reason: null, isQueued: true, returns: 0 };

describe('the return of a payout that was never submitted', () => {
  it('gives back the full debit without the fee, and ends payout, transaction and work', async () => {
    const before = await balance();
    noted.mockClear();

    const outcome = await give();

    expect(outcome).toEqual({ returnId: expect.any(Number) });
    expect(await balance()).toBe(before + AMOUNT);
    expect(await state()).toEqual({ status: 'failed', payout: 'failed', reason: NOTE, isQueued: false, returns: 1 });
    expect(
      await one(`select r.status, t.direction, t.amount, t.type from transaction r join transfer t on t.transaction_id = r.id
                 where r.return_of = $1 and t.account_version is not null`),
    ).toEqual({ status: 'completed', direction: 'credit', amount: AMOUNT, type: 'return' });
    expect(
      await one(`select amount from transfer where transaction_id = $1 and type = 'fee' and direction = 'debit'`),
    ).toEqual({ amount: FEE });
    expect(noted.mock.calls).toEqual([
      [[{ workspaceId: NORTH, operation: 'returnPayout', resource: { type: 'transaction', id: transactionId } }]],
    ]);
  });

  it('gives back what a conversion took', async () => {
    [transactionId] = (await payOut(world, { by: 'spot' })) as [number];
    const before = await balance();

    await give();

    expect(await balance()).toBe(before + AMOUNT);
  });

  it('happens once, also if three operators do it at once', async () => {
    const before = await balance();

    const outcomes = await Promise.all([give(), give(), give()]);

    expect(outcomes.filter((outcome) => outcome === 'final')).toHaveLength(2);
    expect(await balance()).toBe(before + AMOUNT);
    expect(await give()).toBe('final');
  });

  it('is never submitted by a worker that has claimed it', async () => {
    const [claim] = await claimWork(world.database, [PAYOUT], 1);

    expect(await give()).toEqual({ returnId: expect.any(Number) });

    await expect(new PayoutBeginner(world.database).begin(claim!)).rejects.toThrow('the claim is lost');
    expect(await new SandboxRail(world.database).find(await keyOf(world, transactionId))).toBeUndefined();
  });

  it('opens a discrepancy if a network reports a credit of it later', async () => {
    await give();

    await recordEvent(world.books, NORTH, transactionId, { providerEvent: 'late', status: 'ACCC' });

    expect(await one('select kind from discrepancy where transaction_id = $1')).toEqual({
      kind: 'rejected_then_credited',
    });
  });
});

describe('a payout is not returned', () => {
  it('of another workspace, or without a payout', async () => {
    expect(await give({ workspaceId: SOUTH })).toBe('not_found');
    transactionId += 1_000_000;
    expect(await give()).toBe('not_found');
  });

  it.each(['ACCC', 'RJCT'])('after the final status %s', async (status) => {
    await recordEvent(world.books, NORTH, transactionId, { providerEvent: 'final', status });
    const [before, was] = [await balance(), await state()];

    expect(await give()).toBe('final');

    expect([await balance(), await state()]).toEqual([before, was]);
  });

  it('once a worker has begun to submit it, also if that failed', async () => {
    const before = await balance();
    const [claim] = await claimWork(world.database, [PAYOUT], 1);
    await new PayoutBeginner(world.database).begin(claim!);

    expect(await give()).toBe('outcome_unknown');

    await world.owner.query(`update payout set status = 'parked', parked_at = now() where transaction_id = $1`, [
      transactionId,
    ]);
    expect(await give()).toBe('outcome_unknown');
    await world.owner.query(`update payout set status = 'due', parked_at = null where transaction_id = $1`, [
      transactionId,
    ]);
    expect(await give()).toBe('outcome_unknown');
    expect([await balance(), (await state()).returns]).toEqual([before, 0]);
  });

  it('that is submitted', async () => {
    [transactionId] = (await payOut(world, { open: openTracking })) as [number];

    expect(await give()).toBe('outcome_unknown');
  });

  it('that the network has and restored books do not know to be submitted', async () => {
    const rail = new SandboxRail(world.database);
    const payment = {
      ...{ key: await keyOf(world, transactionId), amount: AMOUNT, currency: 'USD' },
      creditor: { name: 'Ravi Menon', account: '50100123456789' },
    };
    await rail.submit(payment, new AbortController().signal);

    expect(await give({ rail })).toBe('outcome_unknown');

    expect(await state()).toEqual(WAITING);
  });

  it('before the network has answered', async () => {
    const rail: Rail = Object.assign(new SandboxRail(world.database), {
      find: () => Promise.reject(new Error('unreachable')),
    });

    await expect(give({ rail })).rejects.toThrow('unreachable');

    expect(await state()).toEqual(WAITING);
    await work(world, payoutWorker(world), 8);
    expect(await state()).toMatchObject({ status: 'completed', payout: 'settled' });
  });
});
