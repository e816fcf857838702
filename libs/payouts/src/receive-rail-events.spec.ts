import { openBooks } from '@banking/ledger';
import { OPERATOR_ROLE, SCHEMA } from '@banking/postgres';
import { Wire, openDatabase } from '@banking/postgres/testing';
import { SANDBOX_RAIL } from './sandbox-rail.js';
import { listDiscrepancies } from './discrepancies.js';
import { receiveRailEvents } from './receive-rail-events.js';
import { payoutKey } from './open-payouts.js';
import type { Rail, DeliveredRailEvent } from './rail.js';
import { NORTH, faults, keyOf, openWorld, payOut, type World } from './testing/world.js';
import { recordEvent } from './record-rail-events.js';

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
  [transactionId] = (await payOut(world, { isSubmitted: true })) as [number];
  await recordEvent(world.books, NORTH, transactionId, { providerEvent: 'credit', status: 'ACCC' });
});

/** A network that delivers the rejection of the payout until it is acknowledged. */
async function lateRejection() {
  const acknowledged: DeliveredRailEvent[] = [];
  const unused = () => Promise.reject(new Error('not called here'));
  const rejection: DeliveredRailEvent = {
    id: 'late',
    key: await keyOf(world, transactionId),
    event: { providerEvent: 'rejection', status: 'RJCT' },
  };
  const rail: Rail = {
    submit: unused,
    find: unused,
    listSubmitted: unused,
    receive: async () => (acknowledged.length > 0 ? [] : [rejection]),
    acknowledge: async (events) => void acknowledged.push(...events),
  };
  return { rail, acknowledged };
}
const open = async () =>
  (await listDiscrepancies(world.database, [NORTH], { limit: 1_000 }))
    .filter((one) => one.transactionId === transactionId)
    .map(({ kind }) => kind);

describe('an event that contradicts the final status of a payout', () => {
  it('is not acknowledged when the connection is lost, and is recorded at its next delivery', async () => {
    const wire = await Wire.lay(world.connection);
    const wired = await openDatabase({ connection: wire.connection, role: OPERATOR_ROLE, schema: SCHEMA, poolSize: 2 });
    const { rail, acknowledged } = await lateRejection();
    let isCut = false;
    wire.toServer = (bytes) => {
      if (isCut || !bytes.includes('settle_payments')) return { pass: bytes };
      isCut = true;
      return { isCut };
    };

    await expect(receiveRailEvents({ books: openBooks(wired), name: SANDBOX_RAIL, rail })).rejects.toMatchObject({
      reason: 'outcome_unknown',
    });
    expect({ isCut, acknowledged, open: await open() }).toEqual({ isCut: true, acknowledged: [], open: [] });
    await receiveRailEvents({ books: openBooks(wired), name: SANDBOX_RAIL, rail });

    expect({ open: await open(), ids: acknowledged.map(({ id }) => id) }).toEqual({
      open: ['credited_then_rejected'],
      ids: ['late'],
    });
    await wired.end();
    await wire.remove();
  });

  it('is reported and not acknowledged when it cannot be recorded', async () => {
    const { rail, acknowledged } = await lateRejection();
    const errors: unknown[] = [];
    await world.owner.query('revoke execute on function settle_payments from banking_operator');

    await receiveRailEvents({ books: world.books, name: SANDBOX_RAIL, rail, onError: (error) => errors.push(error) });
    expect([errors.length, acknowledged]).toEqual([1, []]);
    await world.owner.query('grant execute on function settle_payments to banking_operator');
    await receiveRailEvents({ books: world.books, name: SANDBOX_RAIL, rail });

    expect(await open()).toEqual(['credited_then_rejected']);
    expect(acknowledged).toHaveLength(1);
  });

  it('is reported once and acknowledged when its key is of another service', async () => {
    const { rail, acknowledged } = await lateRejection();
    const errors: unknown[] = [];
    const [event] = await rail.receive(1);
    const foreign: Rail = { ...rail, receive: async () => [{ ...event!, key: 'another-service' }] };

    await receiveRailEvents({
      books: world.books,
      name: SANDBOX_RAIL,
      rail: foreign,
      onError: (error) => errors.push(error),
    });

    expect([errors.length, acknowledged.length]).toEqual([1, 1]);
  });

  it.each([
    ['with another random part, as after a restore', (id: number) => ({ transactionId: id, nonce: '0123456789ab' })],
    ['that the books do not have', (id: number) => ({ transactionId: id + 1_000, nonce: '0123456789ab' })],
  ])('is not recorded for a transaction when its key is one %s', async (_what, nameOf) => {
    const { rail, acknowledged } = await lateRejection();
    const errors: unknown[] = [];
    const [event] = await rail.receive(1);
    const key = payoutKey({ workspaceId: NORTH, ...nameOf(transactionId) });
    const lost: Rail = { ...rail, receive: async () => [{ ...event!, key }] };

    await receiveRailEvents({
      books: world.books,
      name: SANDBOX_RAIL,
      rail: lost,
      onError: (error) => errors.push(error),
    });

    expect(await open()).toEqual([]);
    expect(acknowledged).toHaveLength(1);
    expect(errors).toMatchObject([{ message: expect.stringContaining('that the books do not have') }]);
  });
});

describe('receiveRailEvents', () => {
  it('asks for at most a hundred events, and acknowledges nothing where there is none', async () => {
    const calls: unknown[] = [];
    const { rail } = await lateRejection();
    const idle: Rail = {
      ...rail,
      receive: async (limit) => {
        calls.push(limit);
        return [];
      },
      acknowledge: async (events) => void calls.push(events),
    };

    expect(await receiveRailEvents({ books: world.books, name: SANDBOX_RAIL, rail: idle })).toBe(0);

    expect(calls).toEqual([100]);
  });

  it('returns how many events it received', async () => {
    const { rail, acknowledged } = await lateRejection();

    expect(await receiveRailEvents({ books: world.books, name: SANDBOX_RAIL, rail })).toBe(1);

    expect(acknowledged.map(({ id }) => id)).toEqual(['late']);
  });

  it('acknowledges nothing where no event could be recorded', async () => {
    const { rail } = await lateRejection();
    const calls: unknown[] = [];
    const renumber = (from: number, to: number) =>
      world.owner.query(`set session_replication_role = replica;
        update transaction set id = ${to} where id = ${from}; set session_replication_role = origin`);
    await renumber(transactionId, 999_999);

    const counted: Rail = { ...rail, acknowledge: async (events) => void calls.push(events) };
    expect(await receiveRailEvents({ books: world.books, name: SANDBOX_RAIL, rail: counted })).toBe(1);

    expect(calls).toEqual([]);
    await renumber(999_999, transactionId);
  });
});

describe('an event that cannot be recorded of a payout with work', () => {
  const id = () => world.accounts[NORTH]!;
  const setBalance = (balance: bigint) =>
    world.owner.query(
      `begin; set local session_replication_role = replica; update account set balance = ${balance} where id = ${id()}; commit`,
    );

  it.each([
    ['makes the payout due for a worker', 'parked_at = null', true],
    ['leaves a parked payout parked, and not due', 'parked_at = now()', false],
    ['leaves the delay of a payout that is tried again', 'tries = 1', false],
    ['leaves the delay of a payout whose network was away', 'delays = 1', false],
  ])('%s, and is reported and not acknowledged', async (_what, change, isDue) => {
    [transactionId] = (await payOut(world)) as [number];
    await world.owner.query(`update work set due_at = now() + interval '1 hour', ${change} where subject_id = $1`, [
      transactionId,
    ]);
    const { rows } = await world.owner.query<{ balance: bigint }>('select balance from account where id = $1', [id()]);
    await setBalance(9_007_199_254_740_991n);
    const { rail, acknowledged } = await lateRejection();
    const errors: unknown[] = [];
    const onError = (error: unknown, failed: unknown) => errors.push([error, failed]);

    await receiveRailEvents({ books: world.books, name: SANDBOX_RAIL, rail, onError });

    await setBalance(rows[0]!.balance);
    expect(errors).toMatchObject([
      [{ reason: 'balance_limit_exceeded' }, { workspaceId: NORTH, kind: 'payout', subjectId: transactionId }],
    ]);
    expect(acknowledged).toEqual([]);
    const work = await world.owner.query('select due_at <= clock_timestamp() as due from work where subject_id = $1', [
      transactionId,
    ]);
    expect(work.rows).toEqual([{ due: isDue }]);
    await receiveRailEvents({ books: world.books, name: SANDBOX_RAIL, rail });
    expect(acknowledged).toHaveLength(1);
  });
});
