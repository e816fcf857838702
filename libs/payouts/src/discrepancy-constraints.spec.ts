import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { sql } from '@banking/postgres/testing';
import { listDiscrepancies } from './discrepancies.js';
import { openTracking } from './open-payouts.js';
import { NORTH, faults, openWorld, payOut, type World } from './testing/world.js';
import { recordEvent } from './record-rail-event.js';

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

describe('the database', () => {
  const write = (...statements: string[]) =>
    world.database.pipeline(
      { workspaces: [NORTH] },
      statements.map((text) => sql(text)),
    );
  const insertEvent = (status: string, id: string) =>
    `insert into remittance_event (workspace_id, remittance_id, provider_event, status)
     select workspace_id, id, '${id}', '${status}' from remittance where transaction_id = ${transactionId}`;

  it('refuses a contradiction without its discrepancy', async () => {
    await receive('ACCC', 'one');

    await expect(write(insertEvent('RJCT', 'two'))).rejects.toMatchObject({ code: RULE_VIOLATION.discrepancyMissing });
    await expect(write(insertEvent('PDNG', 'one'))).rejects.toMatchObject({ code: RULE_VIOLATION.discrepancyMissing });
  });

  it('refuses a return of a completed payout without a discrepancy', async () => {
    await receive('ACCC');
    const give = `insert into transaction (workspace_id, status, hash, return_of)
      values (${NORTH}, 'completed', repeat('a', 64), ${transactionId})`;

    await expect(write(give)).rejects.toMatchObject({ code: RULE_VIOLATION.returnWithoutReason });
  });

  it('refuses to resolve a discrepancy twice, to change or to delete it', async () => {
    await receive('ACCC');
    await receive('RJCT');
    const id = await openId();
    const dismiss = `update discrepancy set resolved_at = now(), resolution = 'dismissed', resolved_by = 'eve', note = 'no' where id = ${id}`;
    await expect(
      write(`insert into discrepancy (workspace_id, transaction_id, kind, event_id)
      select workspace_id, transaction_id, kind, event_id from discrepancy where id = ${id}`),
    ).rejects.toMatchObject({ constraint: 'discrepancy_open' });
    await expect(write(dismiss.replace(`, note = 'no'`, ''))).rejects.toMatchObject({ code: SQLSTATE.checkViolation });
    await write(dismiss);

    await expect(write(dismiss)).rejects.toMatchObject({ code: RULE_VIOLATION.illegalStep });
    await expect(
      world.owner.query(`update discrepancy set kind = 'event_reused' where id = ${id}`),
    ).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
    await expect(world.owner.query(`delete from discrepancy where id = ${id}`)).rejects.toMatchObject({
      code: RULE_VIOLATION.recordChanged,
    });
    await expect(world.owner.query('truncate discrepancy')).rejects.toMatchObject({
      code: RULE_VIOLATION.recordChanged,
    });
    await expect(write(`update discrepancy set opened_at = now() where id = ${id}`)).rejects.toMatchObject({
      code: SQLSTATE.insufficientPrivilege,
    });
  });
});
