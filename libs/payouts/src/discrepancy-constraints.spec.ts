import { listDiscrepancies } from './discrepancies.js';
import { openTracking } from './open-payouts.js';
import { NORTH, faults, openWorld, payOut, sql, type World } from './testing/world.js';
import { recordEvent } from './track-remittance.js';

let world: World;
let transactionId: number;
let events = 0;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => {
  expect(await faults(world)).toEqual([]);
  await world.close();
});
beforeEach(async () => {
  [transactionId] = (await payOut(world, { open: openTracking })) as [number];
});

const receive = (status: string, providerEvent = `e${++events}`) =>
  recordEvent(world.books, NORTH, transactionId, { providerEvent, status });
const openId = async () =>
  (await listDiscrepancies(world.database, [NORTH])).find((one) => one.transactionId === transactionId)?.id ?? 0;

describe('Given the database alone', () => {
  const write = (...statements: string[]) =>
    world.database.flight({ workspaces: [NORTH] }, statements.map((text) => sql(text))); // prettier-ignore
  const insertEvent = (status: string, id: string) =>
    `insert into remittance_event (workspace_id, remittance_id, provider_event, status)
     select workspace_id, id, '${id}', '${status}' from remittance where transaction_id = ${transactionId}`;

  it('When a contradiction is recorded without its discrepancy, Then the database refuses', async () => {
    await receive('ACCC', 'one');

    await expect(write(insertEvent('RJCT', 'two'))).rejects.toMatchObject({ code: 'BK010' });
    await expect(write(insertEvent('PDNG', 'one'))).rejects.toMatchObject({ code: 'BK010' });
  });

  it('When money is returned that has arrived, and no discrepancy says so, Then the database refuses', async () => {
    await receive('ACCC');
    const give = `insert into transaction (workspace_id, status, hash, value_date, return_of)
      values (${NORTH}, 'completed', repeat('a', 64), '2026-11-22', ${transactionId})`;

    await expect(write(give)).rejects.toMatchObject({ code: 'BK011' });
  });

  it('When a discrepancy is resolved twice, edited, reopened or deleted, Then the database refuses', async () => {
    await receive('ACCC');
    await receive('RJCT');
    const id = await openId();
    const dismiss = `update discrepancy set resolved_at = now(), resolution = 'dismissed', resolved_by = 'eve', note = 'no' where id = ${id}`;
    await expect(write(`insert into discrepancy (workspace_id, transaction_id, kind, event_id)
      select workspace_id, transaction_id, kind, event_id from discrepancy where id = ${id}`)).rejects.toMatchObject({ constraint: 'discrepancy_open' }); // prettier-ignore
    await expect(write(dismiss.replace(`, note = 'no'`, ''))).rejects.toMatchObject({ code: '23514' });
    await write(dismiss);

    await expect(write(dismiss)).rejects.toMatchObject({ code: 'BK004' });
    await expect(world.owner.query(`update discrepancy set kind = 'event_reused' where id = ${id}`)).rejects.toMatchObject({ code: 'BK003' }); // prettier-ignore
    await expect(world.owner.query(`delete from discrepancy where id = ${id}`)).rejects.toMatchObject({
      code: 'BK003',
    });
    await expect(world.owner.query('truncate discrepancy')).rejects.toMatchObject({ code: 'BK003' });
    await expect(write(`update discrepancy set opened_at = now() where id = ${id}`)).rejects.toMatchObject({ code: '42501' }); // prettier-ignore
  });
});
