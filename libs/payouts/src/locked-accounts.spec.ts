import { openBooks } from '@banking/ledger';
import { APP_ROLE, type Database, SCHEMA } from '@banking/postgres';
import { until, openDatabase } from '@banking/postgres/testing';
import { openTracking } from './open-payouts.js';
import { recordEvents } from './record-rail-event.js';
import { NORTH, SOUTH, faults, openWorld, payOut, type World } from './testing/world.js';

/** Longer than a busy machine needs for the other events. */
const LONG_MS = 60_000;

let world: World;
let database: Database;

beforeEach(async () => {
  world = await openWorld();
});
afterEach(async () => {
  await database.end();
  expect(await faults(world)).toEqual([]);
  await world.close();
});

const open = async (lockTimeoutMs: number) => {
  const { connection } = world;
  database = await openDatabase({
    connection,
    role: APP_ROLE,
    schema: SCHEMA,
    lockTimeoutMs,
    statementTimeoutMs: LONG_MS,
  });
  return openBooks(database);
};
const rejection = (transactionId: number, workspaceId = NORTH) => {
  return { workspaceId, transactionId, event: { providerEvent: 'rejection', status: 'RJCT' } };
};
const lockSouth = () =>
  world.owner.query(`begin; select from account where id = ${world.accounts[SOUTH]} for no key update`);
const statusOf = async (id: number) => {
  const { rows } = await world.owner.query<{ status: string }>('select status from transaction where id = $1', [id]);
  return rows[0]?.status;
};

describe('rejections of which one is of an account that another session has locked', () => {
  it('are recorded, except that of the locked account', async () => {
    const books = await open(100);
    const [one, two] = (await payOut(world, { open: openTracking, count: 2 })) as [number, number];
    const [locked, next] = (await payOut(world, { open: openTracking, count: 2, workspaceId: SOUTH })) as [
      number,
      number,
    ];
    await lockSouth();

    const effects = await recordEvents(books, [
      rejection(locked, SOUTH),
      rejection(one),
      rejection(next, SOUTH),
      rejection(two),
    ]);

    await world.owner.query('rollback');
    const unavailable = expect.objectContaining({ reason: 'unavailable' });
    expect(effects).toEqual([unavailable, 'returned', unavailable, 'returned']);
    expect(await statusOf(locked)).toBe('pending');
  });

  it('are recorded before it, and it is recorded when the account is free', async () => {
    const books = await open(LONG_MS);
    const [free] = (await payOut(world, { open: openTracking })) as [number];
    const [locked] = (await payOut(world, { open: openTracking, workspaceId: SOUTH })) as [number];
    await lockSouth();

    const recording = recordEvents(books, [rejection(locked, SOUTH), rejection(free)]);
    await until(
      () => statusOf(free),
      (status) => status === 'failed',
    );
    expect(await statusOf(locked)).toBe('pending');
    await world.owner.query('rollback');

    expect(await recording).toEqual(['returned', 'returned']);
    expect(await statusOf(locked)).toBe('failed');
  });
});
