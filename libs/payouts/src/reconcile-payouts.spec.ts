import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';
import { listWork } from '@banking/work-queue';
import { listDiscrepancies } from './discrepancies.js';
import { payoutKey } from './payout-key.js';
import { reconcilePayouts } from './reconcile-payouts.js';
import { releaseParkedWork } from './release-parked-work.js';
import { SandboxRail } from './sandbox-rail/sandbox-rail.js';
import { payoutWorker, work } from './testing/workers.js';
import { AMOUNT, NORTH, SOUTH, faults, keyOf, openWorld, passTime, payOut, type World } from './testing/world.js';

/** The books after a restore, and a network in a database of its own, which nothing restored. */
let world: World;
let network: FreshDatabase;
let rail: SandboxRail;

beforeEach(async () => {
  world = await openWorld();
  network = await freshDatabase();
  rail = new SandboxRail(network.database);
});
afterEach(async () => {
  expect(await faults(world)).toEqual([]);
  await world.close();
  await network.close();
});

const CREDITED = '50100123456789';
const REJECTED = '50100123459001';
const EVENTS = ['ACSP', 'ACSP', 'ACCC'];

const reconcile = (changes = {}) =>
  reconcilePayouts({ books: world.books, rail, workspaceIds: [NORTH, SOUTH], ...changes });

/** Submits as a worker did whose traces in the books are lost. */
const submitEarlier = (key: string, account = CREDITED, amount = AMOUNT) =>
  rail.submit(
    { key, amount, currency: 'USD', creditor: { name: 'Ravi Menon', account } },
    new AbortController().signal,
  );

/** All events of the network happened, and were acknowledged after the backup. */
async function passDays(): Promise<void> {
  await network.owner.query(`update sandbox_rail_event set due_at = due_at - interval '1 day', acknowledged = true`);
}

const payments = async () =>
  (await network.owner.query('select key, submissions from sandbox_rail_payment order by key')).rows;
const stateOf = async (id: number) =>
  (
    await world.owner.query(
      `select x.status, p.status as payout, p.tries,
              (select count(*)::int from transaction r where r.return_of = x.id) as returns,
              (select count(*)::int from remittance_event e join remittance m on m.id = e.remittance_id
               where m.transaction_id = x.id) as events
       from transaction x join payout p on p.transaction_id = x.id where x.id = $1`,
      [id],
    )
  ).rows[0] as unknown;

describe('reconcilePayouts', () => {
  it('records what the network reports of a payout that was never submitted in the restored books', async () => {
    const [credited] = (await payOut(world)) as [number];
    const [rejected] = (await payOut(world, { workspaceId: SOUTH, by: 'payout' })) as [number];
    await submitEarlier(await keyOf(world, credited));
    await submitEarlier(await keyOf(world, rejected), REJECTED);
    await passDays();

    const result = await reconcile({ isApplied: true });

    expect(result).toMatchObject({ payments: 2, openPayouts: 2, unsubmitted: 0, differences: [] });
    expect(result.lagging).toEqual([
      { workspaceId: NORTH, transactionId: credited, status: 'due', newEvents: EVENTS },
      { workspaceId: SOUTH, transactionId: rejected, status: 'due', newEvents: ['RJCT'] },
    ]);
    expect(await stateOf(credited)).toMatchObject({ status: 'completed', payout: 'settled', returns: 0 });
    expect(await stateOf(rejected)).toMatchObject({ status: 'failed', payout: 'failed', returns: 1 });
    await work(world, payoutWorker(world, { rail }), 10);
    expect(await payments()).toMatchObject([{ submissions: 1 }, { submissions: 1 }]);
    expect(await reconcile({ isApplied: true })).toMatchObject({ openPayouts: 0, lagging: [], differences: [] });
  });

  it('makes a worker ask for every open payout before it submits it', async () => {
    const [known] = (await payOut(world)) as [number];
    const [unknown] = (await payOut(world)) as [number];
    await submitEarlier(await keyOf(world, known));

    expect(await reconcile({ isApplied: true })).toMatchObject({ openPayouts: 2, unsubmitted: 1, lagging: [] });
    await payoutWorker(world, { rail }).step();

    expect(await payments()).toMatchObject([{ submissions: 1 }, { submissions: 1 }]);
    expect(await stateOf(known)).toMatchObject({ payout: 'submitted', tries: 2 });
    expect(await stateOf(unknown)).toMatchObject({ payout: 'submitted', tries: 2 });
  });

  it('changes nothing unless it is applied', async () => {
    const [id] = (await payOut(world)) as [number];
    await submitEarlier(await keyOf(world, id));
    await passDays();

    expect(await reconcile()).toMatchObject({ isApplied: false, lagging: [{ transactionId: id, newEvents: EVENTS }] });

    expect(await stateOf(id)).toEqual({ status: 'pending', payout: 'due', tries: 0, returns: 0, events: 0 });
  });

  it('opens a discrepancy for a rejection of a settled payout that was acknowledged and lost', async () => {
    const [id] = (await payOut(world)) as [number];
    const own = payoutWorker(world, { rail });
    await own.step();
    await network.owner.query(`update sandbox_rail_event set due_at = due_at - interval '1 hour'`);
    await own.step();
    expect(await stateOf(id)).toMatchObject({ payout: 'settled' });
    await network.owner.query(
      `insert into sandbox_rail_event (key, position, provider_event, status, reason_code, due_at, acknowledged)
       values ($1, 9, 'late', 'RJCT', 'AC04', clock_timestamp(), true)`,
      [await keyOf(world, id)],
    );

    expect(await reconcile({ isApplied: true })).toMatchObject({
      lagging: [{ status: 'settled', newEvents: ['RJCT'] }],
    });

    expect(await listDiscrepancies(world.database, [NORTH])).toMatchObject([
      { transactionId: id, kind: 'credited_then_rejected' },
    ]);
  });

  it('reports a payment whose payout was lost, and books nothing', async () => {
    const lost = payoutKey({ workspaceId: NORTH, transactionId: 777_777, nonce: '0123456789ab' });
    await submitEarlier(lost);
    await submitEarlier('another-service');
    await passDays();

    for (const isApplied of [false, true, true]) {
      const { differences, payments, foreignPayments } = await reconcile({ isApplied });
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
    await submitEarlier(payoutKey({ workspaceId: NORTH, transactionId: 777_777, nonce: '0123456789ab' }));
    await world.owner.query(
      `insert into work (workspace_id, kind, subject_id, due_at)
       values ($1, 'execution', 1, now() - interval '1 hour'), ($1, 'execution', 2, now() + interval '1 hour'),
              ($2, 'execution', 3, now() - interval '1 hour')`,
      [NORTH, SOUTH],
    );
    const held = [{ workspaceId: NORTH, kind: 'execution', subjectId: 1 }];
    const listParked = async () =>
      (await listWork(world.database, { isParked: true })).map(({ subjectId }) => subjectId);

    expect(await reconcile()).toMatchObject({ heldWork: held });
    expect(await listParked()).toEqual([]);
    expect(await reconcile({ isApplied: true })).toMatchObject({ heldWork: held });
    expect(await listParked()).toEqual([1]);

    expect(await releaseParkedWork(world.database, held[0]!)).toBe(true);
    expect(await reconcile({ isApplied: true })).toMatchObject({ heldWork: [] });
    expect(await listParked()).toEqual([]);
    await world.owner.query(`delete from work`);
  });

  it('reports a payment with another amount, and does not record its events', async () => {
    const [id] = (await payOut(world)) as [number];
    const key = await keyOf(world, id);
    await submitEarlier(key, CREDITED, (AMOUNT + 1n) as typeof AMOUNT);
    await passDays();

    expect(await reconcile({ isApplied: true })).toMatchObject({
      lagging: [],
      differences: [{ kind: 'content_differs', key, amount: '10001' }],
    });
    expect(await stateOf(id)).toMatchObject({ status: 'pending', events: 0 });
  });

  it('reports a submitted payout that the network no longer has', async () => {
    const [id] = (await payOut(world)) as [number];
    await payoutWorker(world, { rail }).step();
    await network.owner.query('delete from sandbox_rail_event; delete from sandbox_rail_payment');

    expect(await reconcile()).toMatchObject({
      differences: [{ kind: 'payment_not_at_network', transactionId: id, amount: '10000', currency: 'USD' }],
    });
  });

  it('compares payments since the given time, and every open payout', async () => {
    const [id] = (await payOut(world)) as [number];
    await submitEarlier(await keyOf(world, id));
    await submitEarlier(payoutKey({ workspaceId: NORTH, transactionId: 777_777, nonce: '0123456789ab' }));
    await passDays();

    expect(await reconcile({ since: '2999-01-01T00:00:00Z' })).toMatchObject({
      ...{ payments: 0, openPayouts: 1, differences: [], lagging: [{ transactionId: id }] },
    });
  });

  it('reads payments of the network page by page', async () => {
    await network.owner.query(
      `insert into sandbox_rail_payment (key, amount, currency)
       select format('payout-1-%s-0123456789ab', n), n, 'USD' from generate_series(1000001, 1001203) n`,
    );

    const { payments, differences } = await reconcile();

    expect(payments).toBe(1_203);
    expect(new Set(differences.map(({ key }) => key)).size).toBe(1_203);
  });
});

describe('a payout after a restore', () => {
  it('is another payment than a lost payout whose transaction had the same id', async () => {
    const [before] = (await payOut(world)) as [number];
    const lost = payoutKey({ workspaceId: NORTH, transactionId: before, nonce: '0123456789ab' });
    await submitEarlier(lost, REJECTED);

    const worker = payoutWorker(world, { rail });
    await worker.step();
    await network.owner.query(`update sandbox_rail_event set due_at = due_at - interval '1 hour'`);
    await worker.step();

    expect(await payments()).toHaveLength(2);
    expect(await stateOf(before)).toMatchObject({ status: 'completed', payout: 'settled', events: 3 });
    expect((await reconcile()).differences).toMatchObject([{ kind: 'payment_not_in_books', key: lost }]);
  });

  it('is asked for by key before its first submission when it has waited for longer than a minute', async () => {
    const [id] = (await payOut(world)) as [number];
    await submitEarlier(await keyOf(world, id));
    await world.owner.query(`
      alter table payout disable trigger legal_step;
      update payout set created_at = created_at - interval '2 minutes';
      alter table payout enable trigger legal_step`);

    await payoutWorker(world, { rail }).step();

    expect(await payments()).toMatchObject([{ submissions: 1 }]);
    expect(await stateOf(id)).toMatchObject({ payout: 'submitted', tries: 1 });
  });

  it('keeps the random part of its key', async () => {
    await payOut(world);

    await expect(world.owner.query(`update payout set key_nonce = null`)).rejects.toMatchObject({ code: 'BK003' });
  });

  it('has the key without a random part when it is from before the migration', async () => {
    const [id] = (await payOut(world)) as [number];
    await world.owner.query(`
      alter table payout disable trigger legal_step;
      update payout set key_nonce = null;
      alter table payout enable trigger legal_step`);

    await payoutWorker(world, { rail }).step();
    await passTime(world, 1_000);

    expect(await payments()).toMatchObject([{ key: `payout-${NORTH}-${id}`, submissions: 1 }]);
    await passDays();
    expect(await reconcile({ isApplied: true })).toMatchObject({ lagging: [{ transactionId: id, newEvents: EVENTS }] });
  });
});
