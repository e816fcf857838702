import { type AdminSession, SCHEMA } from '@banking/postgres';
import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';
import { type MovedTable, MOVED_BY_KEY, NOT_MOVED, tablesOfWorkspace } from './tables-of-workspace.js';

/** Tables that are no workspace's own. A new table has a workspace and moves with it, or it is listed here or in `NOT_MOVED`. */
const OF_NO_WORKSPACE = [
  ...['app', 'app_user', 'user_identity', 'app_membership', 'workspace', 'directory_change', 'seal', 'demo_step'],
  ...[
    'currency',
    'product',
    'bank',
    'corridor',
    'purpose',
    'reference_change',
    'reference_version',
    'reference_snapshot',
  ],
  ...['deployment_mode', 'schema_migration', 'cell', 'cell_identity'],
  ...[
    'verification_position',
    'unverified_posting',
    'change_outbox',
    'decision_demand',
    'operator_request',
    'payout_stop',
    'rail_cursor',
    'rail_event',
  ],
  ...['payment_file', 'file_payment', 'bank_file', 'bank_statement', 'bank_entry', 'bank_reconciliation'],
  ...['sandbox_rail_listed', 'sandbox_rail_request'],
];

let world: FreshDatabase;
let moved: readonly MovedTable[];

beforeAll(async () => {
  world = await freshDatabase();
  const query = async (text: string) => (await world.owner.query(text)).rows as never[];
  moved = await tablesOfWorkspace({ query } as unknown as AdminSession);
});
afterAll(() => world.close());

const names = async (text: string): Promise<string[]> =>
  (await world.owner.query<{ name: string }>(text)).rows.map(({ name }) => name);

describe('a table of the schema', () => {
  it('moves with its workspace, or is listed with the reason', async () => {
    const tables = await names(
      `select relname as name from pg_class where relnamespace = '${SCHEMA}'::regnamespace and relkind in ('r', 'p')`,
    );
    const known = [...moved.map(({ name }) => name), ...Object.keys(NOT_MOVED), ...OF_NO_WORKSPACE];

    expect(known.sort()).toEqual(tables.sort());
    expect(moved.map(({ name }) => name)).toEqual(expect.arrayContaining([...MOVED_BY_KEY]));
  });

  it('is selected by its primary key, because changes and deletions are replicated by it', async () => {
    for (const { name, condition } of moved) {
      const key = await names(
        `select a.attname as name from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
         where i.indrelid = '${SCHEMA}.${name}'::regclass and i.indisprimary`,
      );
      const column = condition(7).includes('workspace_id') ? 'workspace_id' : 'key';
      expect([name, key.includes(column)]).toEqual([name, true]);
    }
  });

  it('is compared by all columns but those that are written without a scope', async () => {
    for (const { name, compared } of moved) {
      const columns = await names(
        `select attname as name from pg_attribute where attrelid = '${SCHEMA}.${name}'::regclass and attnum > 0 and not attisdropped`,
      );
      const left = columns.filter((column) => !compared.includes(column));
      const isWithoutScope = ['work', 'webhook_due'].includes(name) || MOVED_BY_KEY.includes(name);
      expect([name, left.length > 0]).toEqual([name, isWithoutScope]);
    }
  });

  it.each([
    ['1', 'payout-1-5-00ff00ff00ff', true],
    ['1', 'payout-12-5', false],
    ['12', 'payout-1-2', false],
  ])('of the sandbox network has the keys of workspace %s: %s is %s', async (id, key, isSelected) => {
    const { condition } = moved.find(({ name }) => name === 'sandbox_rail_event')!;
    const selected = await names(`select key as name from (select '${key}' as key) e where ${condition(Number(id))}`);

    expect(selected).toEqual(isSelected ? [key] : []);
  });
});
