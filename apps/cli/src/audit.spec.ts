import { join } from 'node:path';
import type { AuditEvent } from '@banking/domain';
import { World } from './testing/world.js';

const world = new World();

beforeAll(() => world.openDemo());
afterAll(() => world.close());

/** As the worker does, which the commands do not start. */
const record = () =>
  world.query(
    `select set_config('app.workspaces', (select array_agg(id)::text from banking.workspace), false), banking.record_audit(100000)`,
  );
const exported = async (...more: readonly string[]) => {
  const { exitCode, stdout } = await world.run(['audit', 'export', '--workspace', '1', ...more]);
  const lines = stdout.split('\n').slice(0, -1);
  return { exitCode, events: lines.map((line) => JSON.parse(line) as AuditEvent) };
};

describe('banking audit export', () => {
  it('writes the entries newest first, also those of operators with both names', async () => {
    const { accounts } = await world.json<{ accounts: Record<string, number> }>('demo');
    const account = String(accounts['Northwind Trading USD']);
    const { transfer } = await world.json<{ transfer: { id: number } }>('fund', account, '1.00', '--as', 'Rosa');
    await record();

    const { exitCode, events } = await exported();

    expect(exitCode).toBe(0);
    expect(events[0]).toMatchObject({
      id: events.length,
      operation: 'fundAccount',
      resource: { type: 'transfer', id: transfer.id },
      actor: { type: 'operator', name: 'Rosa', operatingSystemUser: expect.stringMatching(/./) as string },
    });
    expect(events.at(-1)).toMatchObject({ id: 1 });
    expect((await world.run(['verify'])).exitCode).toBe(0);
  });

  it('writes the entries of a period', async () => {
    const { events } = await exported();
    const [newest] = events;

    expect((await exported('--from', newest!.createdAt)).events).toEqual([newest]);
    expect((await exported('--to', newest!.createdAt)).events).toEqual(events.slice(1));
    expect((await exported('--from', 'yesterday')).exitCode).not.toBe(0);
  });

  it('writes the entries in the order of their chain, also if their times are in another', async () => {
    // The recorder took an entry that was committed first, and began later.
    const { events } = await exported();
    const [newest] = events;
    await world.query(
      `with e as (update audit_event set created_at = (select min(created_at) from audit_event where workspace_id = 1) - interval '1 s'
         where workspace_id = 1 and id = ${newest!.id} returning *)
       update audit_head h set hash = next_audit_hash((select hash from audit_event where workspace_id = 1 and id = ${newest!.id} - 1), '',
         audit_content(e.workspace_id, e.id, e.operation, e.outcome, e.reason, e.count, e.resource_type, e.resource_id, e.user_id, e.actor,
           e.request_id, e.source_address, e.created_at)) from e where h.workspace_id = 1`,
    );
    await world.query(
      `update audit_event e set hash = h.hash from audit_head h where h.workspace_id = 1 and e.workspace_id = 1 and e.id = ${newest!.id}`,
    );
    await world.run(['audit', 'export', '--workspace', '1', '--out', join(world.dataDir, 'audit.jsonl')]);

    expect((await exported()).events.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    expect(await world.run(['prove', join(world.dataDir, 'audit.jsonl')])).toMatchObject({ exitCode: 0 });
  });
});
