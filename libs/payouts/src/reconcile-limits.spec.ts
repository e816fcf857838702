import { payoutKey } from './payout-key.js';
import type { Rail } from './rail.js';
import { CREDITED, REJECTED, Restored } from './testing/restored.js';
import { payoutWorker } from './testing/workers.js';
import { AMOUNT, NORTH, SOUTH, keyOf, payOut, type World } from './testing/world.js';

const BALANCE_MAX = 9_007_199_254_740_991n;

let restored: Restored;
let world: World;

beforeEach(async () => {
  restored = await Restored.open();
  ({ world } = restored);
});
afterEach(() => restored.close());

/** Sets the balance of the account of a workspace past the constraints, and returns the one before. */
async function setBalance(workspaceId: number, balance: bigint): Promise<bigint> {
  const id = world.accounts[workspaceId]!;
  const { rows } = await world.owner.query<{ balance: bigint }>('select balance from account where id = $1', [id]);
  await world.owner.query(
    `begin; set local session_replication_role = replica; update account set balance = ${balance} where id = ${id}; commit`,
  );
  return rows[0]!.balance;
}

describe('reconcilePayouts', () => {
  it('reports a rejection whose money the account cannot hold, and records the events of the others', async () => {
    const [stuck] = (await payOut(world)) as [number];
    const [other] = (await payOut(world, { workspaceId: SOUTH })) as [number];
    for (const id of [stuck, other]) await restored.submitEarlier(await keyOf(world, id), REJECTED);
    await restored.passDays();
    const before = await setBalance(NORTH, BALANCE_MAX - AMOUNT + 1n);

    const { differences } = await restored.reconcile({ isApplied: true });

    expect(differences).toEqual([
      {
        ...{ kind: 'event_not_recorded', key: await keyOf(world, stuck), workspaceId: NORTH, transactionId: stuck },
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
    await world.owner.query('revoke insert on remittance_event from banking_app');

    await expect(restored.reconcile({ isApplied: true })).rejects.toThrow('permission denied');

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

    await restored.reconcile({ rail: observed, deadline });

    expect(received).toHaveLength(3);
    expect(new Set(received)).toEqual(new Set(given));
    expect(received.every((signal, index) => signal === given[index])).toBe(true);
  });
});
