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
});
