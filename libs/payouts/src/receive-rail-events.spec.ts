import { openBooks } from '@banking/ledger';
import { APP_ROLE, Database, SCHEMA } from '@banking/postgres';
import { Wire } from '@banking/postgres/testing';
import { listDiscrepancies } from './discrepancies.js';
import { receiveRailEvents } from './receive-rail-events.js';
import { openTracking } from './open-payouts.js';
import { payoutKey } from './payout-key.js';
import type { Rail, DeliveredRailEvent } from './rail.js';
import { NORTH, faults, keyOf, openWorld, payOut, type World } from './testing/world.js';
import { recordEvent } from './record-rail-event.js';

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
  [transactionId] = (await payOut(world, { open: openTracking })) as [number];
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
    const wired = await Database.open({ connection: wire.connection, role: APP_ROLE, schema: SCHEMA, poolSize: 2 });
    const { rail, acknowledged } = await lateRejection();
    let isCut = false;
    wire.toServer = (bytes) => {
      if (isCut || !bytes.includes('record_remittance_event')) return { pass: bytes };
      isCut = true;
      return { isCut };
    };

    await expect(receiveRailEvents({ books: openBooks(wired), rail })).rejects.toMatchObject({
      reason: 'outcome_unknown',
    });
    expect({ isCut, acknowledged, open: await open() }).toEqual({ isCut: true, acknowledged: [], open: [] });
    await receiveRailEvents({ books: openBooks(wired), rail });

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
    await world.owner.query('revoke insert on discrepancy from banking_app');
    await world.owner.query(
      'revoke insert (workspace_id, transaction_id, kind, event_id) on discrepancy from banking_app',
    );

    await receiveRailEvents({ books: world.books, rail, onError: (error) => errors.push(error) });
    expect([errors.length, acknowledged]).toEqual([1, []]);
    await world.owner.query(
      'grant insert (workspace_id, transaction_id, kind, event_id) on discrepancy to banking_app',
    );
    await receiveRailEvents({ books: world.books, rail });

    expect(await open()).toEqual(['credited_then_rejected']);
    expect(acknowledged).toHaveLength(1);
  });

  it('is reported once and acknowledged when its key is of another service', async () => {
    const { rail, acknowledged } = await lateRejection();
    const errors: unknown[] = [];
    const [event] = await rail.receive(1);
    const foreign: Rail = { ...rail, receive: async () => [{ ...event!, key: 'another-service' }] };

    await receiveRailEvents({ books: world.books, rail: foreign, onError: (error) => errors.push(error) });

    expect([errors.length, acknowledged.length]).toEqual([1, 1]);
  });

  it.each([
    ['with another random part, as after a restore', (id: number) => ({ transactionId: id, nonce: '0123456789ab' })],
    ['without a random part', (id: number) => ({ transactionId: id, nonce: undefined })],
    ['that the books do not have', (id: number) => ({ transactionId: id + 1_000, nonce: '0123456789ab' })],
  ])('is not recorded for a transaction when its key is one %s', async (_what, nameOf) => {
    const { rail, acknowledged } = await lateRejection();
    const errors: unknown[] = [];
    const [event] = await rail.receive(1);
    const key = payoutKey({ workspaceId: NORTH, ...nameOf(transactionId) });
    const lost: Rail = { ...rail, receive: async () => [{ ...event!, key }] };

    await receiveRailEvents({ books: world.books, rail: lost, onError: (error) => errors.push(error) });

    expect(await open()).toEqual([]);
    expect(acknowledged).toHaveLength(1);
    expect(errors).toMatchObject([{ message: expect.stringContaining('that the books do not have') }]);
  });
});
