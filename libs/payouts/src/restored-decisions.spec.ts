import type { Timestamp } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import type { Decision } from './decide-payout.js';
import { demandDecisions } from './decision-demand.js';
import { decideHeldPayout, listHeldPayouts } from './held-payouts.js';
import type { Rail } from './rail.js';
import { returnPayout } from './return-payout.js';
import { SANDBOX_RAIL } from './sandbox-rail.js';
import { TRIES_MAX, listWork } from '@banking/work-queue';
import { PAYOUT } from './open-payouts.js';
import { releaseParkedWork } from './parked-work.js';
import {
  CREDITED,
  faults,
  keyOf,
  NORTH,
  passTimeHere,
  payOut,
  payoutWorker,
  REJECTED,
  Restored,
  work,
  type World,
} from './testing/world.js';

let restored: Restored;
let world: World;
let restore: () => Promise<Restored>;
let id: number;

beforeAll(async () => {
  restored = await Restored.open();
  ({ world } = restored);
  await demandDecisions(world.database);
  restore = await restored.keep();
});
beforeEach(async () => {
  [id] = (await payOut(world)) as [number];
});
afterEach(async () => {
  restored = await restore();
  ({ world } = restored);
});
afterAll(() => restored.close());

const NOTHING = sqlStatement('note_nothing', 'select');
const noteChanges = () => bind(NOTHING);

/** A worker with a hook that answers always the same. */
const workerWith = (decision: Decision) =>
  payoutWorker(world, {
    rail: restored.rail,
    decisions: {
      hook: { ask: async () => ({ decision, reason: 'a reason' }) },
      readPayer: async () => ({ accountId: 1001, orderId: 7, createdAt: '2026-11-28T08:00:00Z' as Timestamp }),
    },
  });

const operate = (decision: 'approve' | 'reject') =>
  decideHeldPayout(world.database, { workspaceId: NORTH, transactionId: id, decision, note: 'ticket', noteChanges });

const giveBack = (rails: ReadonlyMap<string, Rail> = new Map([[SANDBOX_RAIL, restored.rail]])) =>
  returnPayout(world.books, { workspaceId: NORTH, transactionId: id, note: 'ticket', rails, noteChanges });

const work10 = async (decision: Decision = 'hold') => {
  await work(world, workerWith(decision), 10);
  await restored.passHour();
  await work(world, workerWith(decision), 10);
};

const submissions = async () => (await restored.payments()).map((row) => (row as { submissions: number }).submissions);

const PAID = { status: 'completed', payout: 'settled', returns: 0 };
const RETURNED = { status: 'failed', payout: 'failed', returns: 1 };

describe('a held payout after a reconciliation', () => {
  beforeEach(async () => {
    await workerWith('hold').step();
    for (let times = 0; times < 2; times++) {
      expect(await restored.reconcile({ isApplied: true })).toMatchObject({
        ...{ openPayouts: 1, unapproved: 1, unsubmitted: 0, lagging: [], differences: [] },
      });
      expect(await workerWith('hold').step()).toBe(1);
    }
    const { payouts } = await listHeldPayouts(world.database, [NORTH]);
    expect(payouts).toMatchObject([{ transactionId: id, reason: 'a reason' }]);
  });

  it('is released, and submitted once', async () => {
    expect(await operate('approve')).toBe('decided');
    expect(await restored.reconcile()).toMatchObject({ unapproved: 0, unsubmitted: 1 });
    await work10();

    expect(await restored.stateOf(id)).toMatchObject(PAID);
    expect(await submissions()).toEqual([1]);
  });

  it('is rejected, and its money returns', async () => {
    expect(await operate('reject')).toBe('decided');
    await work10();

    expect(await restored.stateOf(id)).toMatchObject(RETURNED);
    expect(await submissions()).toEqual([]);
  });

  it.each(['asked', 'not configured'])('is returned by an operator, with a network that is %s', async (network) => {
    expect(await giveBack(network === 'asked' ? undefined : new Map())).toEqual({ returnId: expect.any(Number) });

    expect(await restored.stateOf(id)).toMatchObject(RETURNED);
  });
});

describe('a payout that the hook was not asked about before a reconciliation', () => {
  it.each([
    ['approve', PAID, [1]],
    ['reject', RETURNED, []],
    ['hold', { status: 'pending', payout: 'due', returns: 0, tries: 0 }, []],
  ] as const)('is decided by its answer: %s', async (decision, state, submitted) => {
    expect(await restored.reconcile({ isApplied: true })).toMatchObject({ unapproved: 1, unsubmitted: 0 });
    await work10(decision);

    expect(await restored.stateOf(id)).toMatchObject(state);
    expect(await submissions()).toEqual(submitted);
  });
});

describe('a payout that was submitted after an approval which the restored books lack', () => {
  it.each(['approve', 'reject'] as const)('stays with the network, also if the hook decides: %s', async (decision) => {
    await restored.submitEarlier(await keyOf(world, id), CREDITED);
    expect(await restored.reconcile({ isApplied: true })).toMatchObject({ unapproved: 0, unsubmitted: 0, lagging: [] });
    await workerWith(decision).step();
    expect(await restored.stateOf(id)).toMatchObject({ status: 'pending', returns: 0 });
    await work10(decision);

    expect(await restored.stateOf(id)).toMatchObject(PAID);
    expect(await submissions()).toEqual([1]);
  });

  it('ends as the network says if an operator rejects it', async () => {
    await restored.submitEarlier(await keyOf(world, id), REJECTED);
    await restored.network.owner.query(
      `update sandbox_rail_event set due_at = clock_timestamp() + interval '30 minutes'`,
    );
    await restored.reconcile({ isApplied: true });
    await workerWith('hold').step();

    expect(await giveBack()).toBe('outcome_unknown');
    expect(await operate('reject')).toBe('decided');
    await workerWith('hold').step();
    expect(await restored.stateOf(id)).toMatchObject({ status: 'pending', returns: 0 });
    await work10();

    expect(await restored.stateOf(id)).toMatchObject({ ...RETURNED, events: 1 });
    expect(await submissions()).toEqual([1]);
  });

  it('is not returned once the books have an event of it, also without its network', async () => {
    await restored.submitEarlier(await keyOf(world, id), CREDITED);
    await restored.network.owner.query(`update sandbox_rail_event set due_at = clock_timestamp() where position = 0`);
    expect(await restored.reconcile({ isApplied: true })).toMatchObject({ lagging: [{ newEvents: ['ACSP'] }] });

    expect(await giveBack(new Map())).toBe('outcome_unknown');
    await work10();

    expect(await restored.stateOf(id)).toMatchObject({ ...PAID, tries: 0 });
  });
});

describe('a rejected payout that the network had and no longer has', () => {
  const parked = async () => (await listWork(world.database, { isParked: true })).map(({ reason }) => reason);

  beforeEach(async () => {
    await restored.submitEarlier(await keyOf(world, id), CREDITED);
    await restored.network.owner.query(`update sandbox_rail_event set due_at = clock_timestamp() where position = 0`);
    await restored.reconcile({ isApplied: true });
    await restored.network.owner.query('delete from sandbox_rail_event; delete from sandbox_rail_payment');
    expect(await operate('reject')).toBe('decided');
    for (let times = 0; times < TRIES_MAX; times++) {
      await workerWith('hold').step();
      await passTimeHere(world, 15 * 60_000);
    }
  });

  it('waits for an operator, and is not taken for a fault of the books', async () => {
    expect(await restored.stateOf(id)).toMatchObject({ status: 'pending', payout: 'due', returns: 0 });
    expect(await parked()).toEqual(['the network no longer has a payment that it had accepted: ask the bank']);
    expect(await faults(world)).toEqual([]);
  });

  it('returns once the operator says that the bank does not have it', async () => {
    const work = { workspaceId: NORTH, kind: PAYOUT, subjectId: id };
    expect(await releaseParkedWork(world.database, work, noteChanges, true)).toBe(true);
    await workerWith('hold').step();

    expect(await restored.stateOf(id)).toMatchObject(RETURNED);
  });
});

describe('the mark that the network is asked first', () => {
  it('stays', async () => {
    await restored.reconcile({ isApplied: true });

    await expect(world.owner.query('update payout set ask_first = false')).rejects.toMatchObject({ code: 'BK003' });
  });
});
