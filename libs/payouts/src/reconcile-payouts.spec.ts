import { listWork } from '@banking/work-queue';
import { listDiscrepancies } from './discrepancies.js';
import { payoutKey } from './payout-key.js';
import { releaseParkedWork } from './release-parked-work.js';
import { CREDITED, EVENTS, REJECTED, Restored } from './testing/restored.js';
import { payoutWorker, work } from './testing/workers.js';
import { AMOUNT, NORTH, SOUTH, keyOf, payOut, type World } from './testing/world.js';

let restored: Restored;
let world: World;

beforeEach(async () => {
  restored = await Restored.open();
  ({ world } = restored);
});
afterEach(() => restored.close());

describe('reconcilePayouts', () => {
  it('records what the network reports of a payout that was never submitted in the restored books', async () => {
    const [credited] = (await payOut(world)) as [number];
    const [rejected] = (await payOut(world, { workspaceId: SOUTH, by: 'payout' })) as [number];
    await restored.submitEarlier(await keyOf(world, credited));
    await restored.submitEarlier(await keyOf(world, rejected), REJECTED);
    await restored.passDays();

    const result = await restored.reconcile({ isApplied: true });

    expect(result).toMatchObject({ payments: 2, openPayouts: 2, unsubmitted: 0, differences: [] });
    expect(result.lagging).toEqual([
      { workspaceId: NORTH, transactionId: credited, status: 'due', newEvents: EVENTS },
      { workspaceId: SOUTH, transactionId: rejected, status: 'due', newEvents: ['RJCT'] },
    ]);
    expect(await restored.stateOf(credited)).toMatchObject({ status: 'completed', payout: 'settled', returns: 0 });
    expect(await restored.stateOf(rejected)).toMatchObject({ status: 'failed', payout: 'failed', returns: 1 });
    await work(world, payoutWorker(world, { rail: restored.rail }), 10);
    expect(await restored.payments()).toMatchObject([{ submissions: 1 }, { submissions: 1 }]);
    expect(await restored.reconcile({ isApplied: true })).toMatchObject({
      openPayouts: 0,
      lagging: [],
      differences: [],
    });
  });

  it('makes a worker ask for every open payout before it submits it', async () => {
    const [known] = (await payOut(world)) as [number];
    const [unknown] = (await payOut(world)) as [number];
    await restored.submitEarlier(await keyOf(world, known));

    expect(await restored.reconcile({ isApplied: true })).toMatchObject({
      openPayouts: 2,
      unsubmitted: 1,
      lagging: [],
    });
    await payoutWorker(world, { rail: restored.rail }).step();

    expect(await restored.payments()).toMatchObject([{ submissions: 1 }, { submissions: 1 }]);
    expect(await restored.stateOf(known)).toMatchObject({ payout: 'submitted', tries: 2 });
    expect(await restored.stateOf(unknown)).toMatchObject({ payout: 'submitted', tries: 2 });
  });

  it('changes nothing unless it is applied', async () => {
    const [id] = (await payOut(world)) as [number];
    await restored.submitEarlier(await keyOf(world, id));
    await restored.passDays();

    expect(await restored.reconcile()).toMatchObject({
      isApplied: false,
      lagging: [{ transactionId: id, newEvents: EVENTS }],
    });

    expect(await restored.stateOf(id)).toEqual({ status: 'pending', payout: 'due', tries: 0, returns: 0, events: 0 });
  });

  it('opens a discrepancy for a rejection of a settled payout that was acknowledged and lost', async () => {
    const [id] = (await payOut(world)) as [number];
    const own = payoutWorker(world, { rail: restored.rail });
    await own.step();
    await restored.passHour();
    await own.step();
    expect(await restored.stateOf(id)).toMatchObject({ payout: 'settled' });
    await restored.network.owner.query(
      `insert into sandbox_rail_event (key, position, provider_event, status, reason_code, due_at, acknowledged)
       values ($1, 9, 'late', 'RJCT', 'AC04', clock_timestamp(), true)`,
      [await keyOf(world, id)],
    );

    expect(await restored.reconcile({ isApplied: true })).toMatchObject({
      lagging: [{ status: 'settled', newEvents: ['RJCT'] }],
    });

    expect(await listDiscrepancies(world.database, [NORTH])).toMatchObject([
      { transactionId: id, kind: 'credited_then_rejected' },
    ]);
  });

  it('reports a payment whose payout was lost, and books nothing', async () => {
    const lost = payoutKey({ workspaceId: NORTH, transactionId: 777_777, nonce: '0123456789ab' });
    await restored.submitEarlier(lost);
    await restored.submitEarlier('another-service');
    await restored.passDays();

    for (const isApplied of [false, true, true]) {
      const { differences, payments, foreignPayments } = await restored.reconcile({ isApplied });
      expect({ payments, foreignPayments }).toEqual({ payments: 2, foreignPayments: 1 });
      expect(differences).toEqual([
        {
          ...{ kind: 'payment_not_in_books', key: lost, workspaceId: NORTH, transactionId: 777_777 },
          ...{ amount: '10000', currency: 'USD', status: 'ACCC', acceptedAt: expect.stringMatching(/Z$/) },
        },
      ]);
    }
  });

  it('parks work of the same workspace that was due before a payment that the books do not have', async () => {
    await restored.submitEarlier(payoutKey({ workspaceId: NORTH, transactionId: 777_777, nonce: '0123456789ab' }));
    await world.owner.query(
      `insert into work (workspace_id, kind, subject_id, due_at)
       values ($1, 'execution', 1, now() - interval '1 hour'), ($1, 'execution', 2, now() + interval '1 hour'),
              ($2, 'execution', 3, now() - interval '1 hour')`,
      [NORTH, SOUTH],
    );
    const held = [{ workspaceId: NORTH, kind: 'execution', subjectId: 1 }];
    const listParked = async () =>
      (await listWork(world.database, { isParked: true })).map(({ subjectId }) => subjectId);

    expect(await restored.reconcile()).toMatchObject({ heldWork: held });
    expect(await listParked()).toEqual([]);
    expect(await restored.reconcile({ isApplied: true })).toMatchObject({ heldWork: held });
    expect(await listParked()).toEqual([1]);

    expect(await releaseParkedWork(world.database, held[0]!)).toBe(true);
    expect(await restored.reconcile({ isApplied: true })).toMatchObject({ heldWork: [] });
    expect(await listParked()).toEqual([]);
    await world.owner.query(`delete from work`);
  });

  it('reports a payment with another amount, and does not record its events', async () => {
    const [id] = (await payOut(world)) as [number];
    const key = await keyOf(world, id);
    await restored.submitEarlier(key, CREDITED, (AMOUNT + 1n) as typeof AMOUNT);
    await restored.passDays();

    expect(await restored.reconcile({ isApplied: true })).toMatchObject({
      lagging: [],
      differences: [{ kind: 'content_differs', key, amount: '10001' }],
    });
    expect(await restored.stateOf(id)).toMatchObject({ status: 'pending', events: 0 });
  });

  it('reports a submitted payout that the network no longer has', async () => {
    const [id] = (await payOut(world)) as [number];
    await payoutWorker(world, { rail: restored.rail }).step();
    await restored.network.owner.query('delete from sandbox_rail_event; delete from sandbox_rail_payment');

    expect(await restored.reconcile()).toMatchObject({
      differences: [{ kind: 'payment_not_at_network', transactionId: id, amount: '10000', currency: 'USD' }],
    });
  });

  it('compares payments since the given time, and every open payout', async () => {
    const [id] = (await payOut(world)) as [number];
    await restored.submitEarlier(await keyOf(world, id));
    await restored.submitEarlier(payoutKey({ workspaceId: NORTH, transactionId: 777_777, nonce: '0123456789ab' }));
    await restored.passDays();

    expect(await restored.reconcile({ since: '2999-01-01T00:00:00Z' })).toMatchObject({
      ...{ payments: 0, openPayouts: 1, differences: [], lagging: [{ transactionId: id }] },
    });
  });

  it('reads payments of the network page by page', async () => {
    await restored.network.owner.query(
      `insert into sandbox_rail_payment (key, amount, currency)
       select format('payout-1-%s-0123456789ab', n), n, 'USD' from generate_series(1000001, 1001203) n`,
    );

    const { payments, differences } = await restored.reconcile();

    expect(payments).toBe(1_203);
    expect(new Set(differences.map(({ key }) => key)).size).toBe(1_203);
  });
});
