import { openDatabase } from '@banking/postgres/testing';
import { openTracking } from './open-payouts.js';
import { recordEvents } from './record-rail-event.js';
import { resumePayouts, readPayoutStop, stopPayouts } from './payout-stop.js';
import { PROVISIONING_ROLE, SCHEMA } from '@banking/postgres';
import { NORTH, SOUTH, faults, openWorld, payOut, type World } from './testing/world.js';

let world: World;

beforeEach(async () => {
  world = await openWorld();
  await world.owner.query('delete from audit_outbox');
});
afterEach(async () => {
  expect(await faults(world)).toEqual([]);
  await world.close();
});

const event = (transactionId: number, status: string, workspaceId = NORTH) => {
  return { workspaceId, transactionId, event: { providerEvent: status.toLowerCase(), status } };
};

interface NotedRow {
  readonly workspaceId: number;
  readonly entries: readonly Readonly<Record<string, unknown>>[];
}

/** The rows of the outbox. */
async function noted(): Promise<readonly NotedRow[]> {
  const { rows } = await world.owner.query<NotedRow>(
    'select workspace_id::int as "workspaceId", entries from audit_outbox order by id',
  );
  return rows;
}
const byNetwork = (operation: string, type: string, id: unknown) => {
  return { operation, outcome: 'done', resourceType: type, resourceId: id, actor: { type: 'network' } };
};

describe('the audit trail of statuses of the network', () => {
  it('gets one row for each batch and workspace, with an entry for each final status', async () => {
    const north = (await payOut(world, { open: openTracking, count: 3 })) as [number, number, number];
    const [south] = (await payOut(world, { open: openTracking, workspaceId: SOUTH })) as [number];

    await recordEvents(world.books, [
      event(north[0], 'ACCC'),
      event(south, 'ACCC', SOUTH),
      event(north[1], 'ACCC'),
      event(north[2], 'ACSP'),
    ]);
    await recordEvents(world.books, [event(north[2], 'RJCT')]);

    expect(await noted()).toEqual([
      {
        workspaceId: NORTH,
        entries: north.slice(0, 2).map((id) => byNetwork('completeTransaction', 'transaction', id)),
      },
      { workspaceId: SOUTH, entries: [byNetwork('completeTransaction', 'transaction', south)] },
      { workspaceId: NORTH, entries: [byNetwork('failTransaction', 'transaction', north[2])] },
    ]);
  });

  it('gets nothing of a repeated status, and the discrepancy that a later status opens, once', async () => {
    const [id] = (await payOut(world, { open: openTracking })) as [number];
    await recordEvents(world.books, [event(id, 'ACCC')]);
    await recordEvents(world.books, [event(id, 'ACCC')]);
    await recordEvents(world.books, [event(id, 'RJCT')]);
    await recordEvents(world.books, [event(id, 'RJCT')]);

    expect((await noted()).flatMap(({ entries }) => entries)).toEqual([
      byNetwork('completeTransaction', 'transaction', id),
      byNetwork('openDiscrepancy', 'discrepancy', expect.any(Number)),
    ]);
  });
});

describe('the audit trail of a stop of payouts', () => {
  it('has the stop by the service and its end by an operator, in the workspaces with findings', async () => {
    const { connection } = world;
    const provisioning = await openDatabase({ connection, role: PROVISIONING_ROLE, schema: SCHEMA, poolSize: 1 });
    const unknown = { check: 'a rule', workspaceId: 999, detail: '' };
    await stopPayouts(world.database, [{ check: 'a rule', workspaceId: SOUTH, detail: '' }, unknown]);
    const { id } = (await readPayoutStop(world.database))!;
    await resumePayouts(provisioning, id, 'Rosa', 'rosa');
    await resumePayouts(provisioning, id, 'Rosa', 'rosa');
    await provisioning.end();

    const ofStop = { outcome: 'done', resourceType: 'payoutStop', resourceId: id };
    const rosa = { type: 'operator', name: 'Rosa', operatingSystemUser: 'rosa' };
    expect(await noted()).toEqual([
      { workspaceId: SOUTH, entries: [{ ...ofStop, operation: 'stopPayouts', actor: { type: 'system' } }] },
      { workspaceId: SOUTH, entries: [{ ...ofStop, operation: 'resumePayouts', actor: rosa }] },
    ]);
  });
});
