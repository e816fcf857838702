import { openTracking } from './open-payouts.js';
import { recordEvent, recordEvents } from './record-rail-event.js';
import { AMOUNT, NORTH, SOUTH, faults, openWorld, payOut, type World } from './testing/world.js';

let world: World;

beforeEach(async () => {
  world = await openWorld();
});
afterEach(async () => {
  expect(await faults(world)).toEqual([]);
  await world.close();
});

const credit = (transactionId: number, workspaceId = NORTH) => {
  return { workspaceId, transactionId, event: { providerEvent: 'credit', status: 'ACCC' } };
};
const rejection = (transactionId: number, workspaceId = NORTH) => {
  return { workspaceId, transactionId, event: { providerEvent: 'rejection', status: 'RJCT' } };
};
const statuses = async (ids: readonly number[]) => {
  const { rows } = await world.owner.query<{ status: string }>(
    'select status from transaction where id = any($1) order by id',
    [ids],
  );
  return rows.map(({ status }) => status);
};

describe('a batch of events', () => {
  it('of two workspaces returns the money of its rejections and completes the others', async () => {
    const north = await payOut(world, { open: openTracking, count: 3 });
    const south = await payOut(world, { open: openTracking, count: 2, workspaceId: SOUTH });

    const effects = await recordEvents(world.books, [
      credit(north[0]!),
      rejection(north[1]!),
      rejection(south[0]!, SOUTH),
      rejection(north[2]!),
      credit(south[1]!, SOUTH),
    ]);

    expect(effects).toEqual(['recorded', 'returned', 'returned', 'returned', 'recorded']);
    expect(await statuses([...north, ...south])).toEqual(['completed', 'failed', 'failed', 'failed', 'completed']);
  });

  it('records the others where one has no remittance and one belongs to another workspace', async () => {
    const [one, two] = (await payOut(world, { open: openTracking, count: 2 })) as [number, number];

    const effects = await recordEvents(world.books, [
      credit(one),
      credit(two + 1_000),
      rejection(two + 1_001),
      credit(two, SOUTH),
      rejection(two),
    ]);

    const missing = expect.objectContaining({ message: expect.stringContaining('has no remittance') });
    expect(effects).toEqual(['recorded', missing, missing, missing, 'returned']);
    expect(await statuses([one, two])).toEqual(['completed', 'failed']);
  });

  it('records the others where the account of one cannot hold the returned money', async () => {
    const [full] = (await payOut(world, { open: openTracking, workspaceId: SOUTH })) as [number];
    const others = await payOut(world, { open: openTracking, count: 2 });
    const account = world.accounts[SOUTH]!;
    const set = (balance: bigint) =>
      world.owner.query(
        `begin; set local session_replication_role = replica; update account set balance = ${balance} where id = ${account}; commit`,
      );
    const { rows } = await world.owner.query<{ balance: bigint }>('select balance from account where id = $1', [
      account,
    ]);
    await set(9_007_199_254_740_991n - AMOUNT + 1n);

    const effects = await recordEvents(world.books, [
      rejection(others[0]!),
      rejection(full, SOUTH),
      rejection(others[1]!),
    ]);

    await set(rows[0]!.balance);
    expect(effects).toEqual(['returned', expect.objectContaining({ reason: 'balance_limit_exceeded' }), 'returned']);
    expect(await statuses([full, ...others])).toEqual(['pending', 'failed', 'failed']);
  });

  it('records the others where the database rejects one', async () => {
    const ids = await payOut(world, { open: openTracking, count: 5 });
    await recordEvent(world.books, NORTH, ids[2]!, { providerEvent: 'early', status: 'ACCC' });
    await world.owner.query(`create function fail_discrepancy() returns trigger language plpgsql as
      $$ begin raise exception 'no discrepancy' using errcode = '23514'; end $$`);
    await world.owner.query(
      `create trigger fail before insert on discrepancy for each row execute function fail_discrepancy()`,
    );

    const effects = await recordEvents(
      world.books,
      ids.map((id) => rejection(id)),
    );

    expect(effects.map((effect) => (effect instanceof Error ? 'failed' : effect))).toEqual([
      'returned',
      'returned',
      'failed',
      'returned',
      'returned',
    ]);
    expect(await statuses(ids)).toEqual(['failed', 'failed', 'completed', 'failed', 'failed']);
  });
});
