import * as fc from 'fast-check';
import { PlanProbe } from '@banking/postgres/testing';
import { listWork, OutageError } from '@banking/work-queue';
import { SANDBOX_RAIL } from './sandbox-rail.js';
import { listDiscrepancies } from './discrepancies.js';
import { parsePayoutKey, payoutKey } from './open-payouts.js';
import { releaseParkedWork } from './parked-work.js';
import { FIND_PAYOUTS, LIST_OPEN_PAYOUTS } from './reconcile-payouts.js';
import type { Rail } from './rail.js';
import {
  AMOUNT,
  CREDITED,
  EVENTS,
  keyOf,
  NORTH,
  openWorld,
  payOut,
  payoutWorker,
  REJECTED,
  Restored,
  SOUTH,
  work,
  type World,
} from './testing/world.js';

let restored: Restored;
let world: World;
let restore: () => Promise<Restored>;

beforeAll(async () => {
  restored = await Restored.open();
  ({ world } = restored);
  restore = await restored.keep();
});
afterEach(async () => {
  restored = await restore();
  ({ world } = restored);
});
afterAll(() => restored.close());

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
    expect(await restored.stateOf(known)).toMatchObject({ payout: 'submitted', tries: 1 });
    expect(await restored.stateOf(unknown)).toMatchObject({ payout: 'submitted', tries: 1 });
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
          ...{ kind: 'payment_not_in_books', rail: 'sandbox', key: lost, workspaceId: NORTH, transactionId: 777_777 },
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

describe('reconcilePayouts', () => {
  const BALANCE_MAX = 9_007_199_254_740_991n;

  /** Sets the balance of the account of a workspace past the constraints, and returns the one before. */
  async function setBalance(workspaceId: number, balance: bigint): Promise<bigint> {
    const id = world.accounts[workspaceId]!;
    const { rows } = await world.owner.query<{ balance: bigint }>('select balance from account where id = $1', [id]);
    await world.owner.query(
      `begin; set local session_replication_role = replica; update account set balance = ${balance} where id = ${id}; commit`,
    );
    return rows[0]!.balance;
  }

  it('reports a rejection whose money the account cannot hold, and records the events of the others', async () => {
    const [stuck] = (await payOut(world)) as [number];
    const [other] = (await payOut(world, { workspaceId: SOUTH })) as [number];
    for (const id of [stuck, other]) await restored.submitEarlier(await keyOf(world, id), REJECTED);
    await restored.passDays();
    const before = await setBalance(NORTH, BALANCE_MAX - AMOUNT + 1n);
    const { differences } = await restored.reconcile({ isApplied: true });

    expect(differences).toEqual([
      {
        ...{ kind: 'event_not_recorded', rail: 'sandbox', key: await keyOf(world, stuck) },
        ...{ workspaceId: NORTH, transactionId: stuck },
        ...{ amount: '10000', currency: 'USD', status: 'RJCT' },
      },
    ]);
    expect(await restored.stateOf(stuck)).toMatchObject({ status: 'pending', returns: 0, events: 0 });
    expect(await restored.stateOf(other)).toMatchObject({ status: 'failed', returns: 1 });
    await setBalance(NORTH, before);
  });

  it('fails where an event cannot be recorded for another reason', async () => {
    const [id] = (await payOut(world)) as [number];
    await restored.submitEarlier(await keyOf(world, id), REJECTED);
    await restored.passDays();
    await world.owner.query('revoke execute on function settle_payments from banking_operator');

    await expect(restored.reconcile({ isApplied: true })).rejects.toThrow('permission denied');
    await world.owner.query('grant execute on function settle_payments to banking_operator');

    expect(await restored.stateOf(id)).toMatchObject({ status: 'pending', returns: 0 });
  });

  it('reports a payment in another currency, and does not record its events', async () => {
    const [id] = (await payOut(world)) as [number];
    const key = await keyOf(world, id);
    await restored.submitEarlier(key);
    await restored.network.owner.query(`update sandbox_rail_payment set currency = 'EUR'`);
    await restored.passDays();

    expect(await restored.reconcile({ isApplied: true })).toMatchObject({
      lagging: [],
      differences: [{ kind: 'content_differs', key, amount: '10000', currency: 'EUR', status: 'ACCC' }],
    });
    expect(await restored.stateOf(id)).toMatchObject({ status: 'pending', events: 0 });
  });

  it('compares the payments of the seven days before the last transaction, and all where there is none', async () => {
    await payOut(world, { workspaceId: SOUTH });
    const { rows } = await world.owner.query<{ since: string }>(
      `select rfc3339(max(created_at) - interval '7 days') as since from transaction`,
    );

    expect(await restored.reconcile()).toMatchObject({ since: rows[0]!.since });
    expect(await restored.reconcile({ workspaceIds: [] })).toMatchObject({ since: '1970-01-01T00:00:00.000Z' });
  });

  it('has every open payout checked at once, also one that was submitted', async () => {
    const [id] = (await payOut(world)) as [number];
    await payoutWorker(world, { rail: restored.rail }).step();
    const isDue = async () =>
      (await world.owner.query('select due_at <= clock_timestamp() as due from work where subject_id = $1', [id])).rows;

    await restored.reconcile();
    expect(await isDue()).toEqual([{ due: false }]);
    await restored.reconcile({ isApplied: true });

    expect(await isDue()).toEqual([{ due: true }]);
    expect(await restored.stateOf(id)).toMatchObject({ payout: 'submitted', tries: 1 });
  });

  it('parks the work that was due before the latest of several payments that the books do not have', async () => {
    const accepted = { 777_001: '3 hours', 777_002: '1 hour', 777_003: '5 hours' };
    for (const [id, ago] of Object.entries(accepted)) {
      const key = payoutKey({ workspaceId: NORTH, transactionId: Number(id), nonce: '0123456789ab' });
      await restored.submitEarlier(key);
      await restored.network.owner.query(
        `update sandbox_rail_payment set accepted_at = clock_timestamp() - interval '${ago}' where key = $1`,
        [key],
      );
    }
    await world.owner.query(
      `insert into work (workspace_id, kind, subject_id, due_at)
       values ($1, 'execution', 1, now() - interval '4 hours'), ($1, 'execution', 2, now() - interval '2 hours'),
              ($1, 'execution', 3, now() - interval '10 minutes'), ($2, 'execution', 4, now() - interval '4 hours')`,
      [NORTH, SOUTH],
    );

    const { heldWork } = await restored.reconcile({ isApplied: true });

    expect([...heldWork].sort((a, b) => a.subjectId - b.subjectId)).toEqual(
      [1, 2].map((subjectId) => ({ workspaceId: NORTH, kind: 'execution', subjectId })),
    );
  });

  it('leaves payments of workspaces of other databases to these', async () => {
    for (const workspaceId of [NORTH, SOUTH]) {
      const [id] = (await payOut(world, { workspaceId, by: 'payout' })) as [number];
      await restored.submitEarlier(await keyOf(world, id));
    }
    await world.owner.query(
      `insert into cell_identity (number, name) values (1, 'one');
       insert into cell_workspace (workspace_id, state) values (${SOUTH}, 'open')`,
    );

    const result = await restored.reconcile({ workspaceIds: [SOUTH] });

    expect(result).toMatchObject({ payments: 1, foreignPayments: 0, openPayouts: 1, differences: [] });
  });

  it('names a network that does not serve, and compares the others', async () => {
    const [here] = (await payOut(world)) as [number];
    await payOut(world, { rail: 'away' });
    await restored.submitEarlier(await keyOf(world, here));
    await restored.passDays();
    const fail = () => Promise.reject(new OutageError('the rail away does not serve'));
    const away: Rail = { submit: fail, find: fail, listSubmitted: fail, receive: fail, acknowledge: fail };
    const rails = new Map<string, Rail>([
      ['away', away],
      [SANDBOX_RAIL, restored.rail],
    ]);

    const result = await restored.reconcile({ rails, isApplied: true });

    expect(result).toMatchObject({ unreachable: ['away'], openPayouts: 2, unsubmitted: 0, differences: [] });
    expect(result.lagging).toMatchObject([{ transactionId: here }]);
  });

  it('gives each call to the network a deadline of its own', async () => {
    const [id] = (await payOut(world)) as [number];
    await restored.submitEarlier(await keyOf(world, id), CREDITED);
    const given: AbortSignal[] = [];
    const received: AbortSignal[] = [];
    const rail: Rail = restored.rail;
    const observed: Rail = {
      ...{ submit: rail.submit.bind(rail), receive: rail.receive.bind(rail), acknowledge: rail.acknowledge.bind(rail) },
      find: (key, signal) => {
        received.push(signal);
        return rail.find(key, signal);
      },
      listSubmitted: (since, after, signal) => {
        received.push(signal);
        return rail.listSubmitted(since, after, signal);
      },
    };
    const deadline = () => {
      given.push(new AbortController().signal);
      return given.at(-1)!;
    };

    await restored.reconcile({ rails: new Map([[SANDBOX_RAIL, observed]]), deadline });

    expect(received).toHaveLength(3);
    expect(new Set(received)).toEqual(new Set(given));
    expect(received.every((signal, index) => signal === given[index])).toBe(true);
  });
});

describe('a payout after a restore', () => {
  it('is another payment than a lost payout whose transaction had the same id', async () => {
    const [before] = (await payOut(world)) as [number];
    const lost = payoutKey({ workspaceId: NORTH, transactionId: before, nonce: '0123456789ab' });
    await restored.submitEarlier(lost, REJECTED);

    const worker = payoutWorker(world, { rail: restored.rail });
    await worker.step();
    await restored.passHour();
    await worker.step();

    expect(await restored.payments()).toHaveLength(2);
    expect(await restored.stateOf(before)).toMatchObject({ status: 'completed', payout: 'settled', events: 3 });
    expect((await restored.reconcile()).differences).toMatchObject([{ kind: 'payment_not_in_books', key: lost }]);
  });

  it('is asked for by key before its first submission when it has waited for longer than a minute', async () => {
    const [id] = (await payOut(world)) as [number];
    await restored.submitEarlier(await keyOf(world, id));
    await world.owner.query(`
      begin; set local session_replication_role = replica;
      update payout set created_at = created_at - interval '2 minutes'; commit`);

    await payoutWorker(world, { rail: restored.rail }).step();

    expect(await restored.payments()).toMatchObject([{ submissions: 1 }]);
    expect(await restored.stateOf(id)).toMatchObject({ payout: 'submitted', tries: 1 });
  });

  it('keeps the random part of its key', async () => {
    await payOut(world);

    await expect(world.owner.query(`update payout set key_nonce = null`)).rejects.toMatchObject({ code: 'BK003' });
  });
});

const ids = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const nonces = fc.stringMatching(/^[0-9a-f]{12}$/);

describe('the key of a payout', () => {
  it('names the payout that it was made for', () => {
    fc.assert(
      fc.property(ids, ids, nonces, (workspaceId, transactionId, nonce) => {
        const name = { workspaceId, transactionId, nonce };
        expect(parsePayoutKey(payoutKey(name))).toEqual(name);
      }),
    );
  });

  it.each([
    '',
    'payout-1',
    'payout-1-2',
    'payout-1-2-',
    'payout-1-2-0123456789a',
    'payout-1-2-0123456789abc',
    'payout-1-2-0123456789aB',
    'payout-1-2-0123456789ag',
    'payout-1-20123456789ab',
    'payout-0-2-0123456789ab',
    'payout-1-0-0123456789ab',
    'payout-01-2-0123456789ab',
    'payout-1-02-0123456789ab',
    'payout--1-2-0123456789ab',
    'payout-a-2-0123456789ab',
    'payout-1-a-0123456789ab',
    'payout-1a-2-0123456789ab',
    'payout-1-2a-0123456789ab',
    'payout-9007199254740992-2-0123456789ab',
    'payout-1-9999999999999999-0123456789ab',
    'payout-12345678901234567-2-0123456789ab',
    'payout-1-12345678901234567-0123456789ab',
    'payout-1-2-0123456789ab-3',
    'payout-1-2-0123456789ab\n',
    'a payout-1-2-0123456789ab',
    'another-service',
  ])('is not %j', (key) => {
    expect(parsePayoutKey(key)).toBeUndefined();
  });
});

describe('payouts beside very many transactions', () => {
  it('are found and listed with few pages read', async () => {
    const world = await openWorld();
    const [id] = (await payOut(world, { by: 'spot' })) as [number];
    await world.owner.query(
      `set session_replication_role = replica;
       insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, account_version, balance_after, own_legs)
       select ${NORTH}, 1000000 + n, a.id, 840, 'debit', 1, 'payout', 1000000 + n, 1,
              array[row(nextval('transfer_id_seq'), o.id, 840, 'payout', 1)::own_leg]
       from generate_series(1, 5000) n, account a, account o
       where a.workspace_id = ${NORTH} and a.kind = 'customer' and o.workspace_id = ${NORTH} and o.kind = 'settlement' and o.currency_id = 840;
       set session_replication_role = origin;
       analyze transfer`,
    );
    const found = await PlanProbe.open(world, FIND_PAYOUTS, 'bigint[], bigint[]');
    const listed = await PlanProbe.open(world, LIST_OPEN_PAYOUTS, 'bigint, bigint');

    for (const { buffers, filtered } of [
      await found.cost(`array[${NORTH}], array[${id}]`, [NORTH]),
      await listed.cost('0, 0', [NORTH]),
    ]) {
      expect(buffers + filtered).toBeLessThan(60);
    }

    await Promise.all([found.close(), listed.close()]);
    await world.close();
  });
});
