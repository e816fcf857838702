import type { AccountId, AppId, TransferId, UserId, WorkspaceId } from '@banking/domain';
import type { Bound } from '@banking/postgres';
import { getStatement } from './get-statement.js';
import { getTransfer } from './get-transfer.js';
import { listAppUsers } from './list-app-users.js';
import { CursorSeal } from './lists/cursor-seal.js';
import { demoWorld, sql } from './testing/worlds.js';

let world: Awaited<ReturnType<typeof demoWorld>>;
let north: WorkspaceId;
let south: WorkspaceId;
let bob: UserId;

beforeAll(async () => {
  world = await demoWorld();
  north = world.demo.workspaces['Northwind Trading'] as WorkspaceId;
  south = world.demo.workspaces['Southwind Imports'] as WorkspaceId;
  bob = world.demo.users['bob@northwind.example'] as UserId;
});
afterAll(() => world.close());
afterEach(() => jest.restoreAllMocks());

/** The statements an operation sends, as it sends them. */
async function sentBy(operation: () => Promise<unknown>): Promise<readonly Bound<unknown>[]> {
  const flight = jest.spyOn(world.database, 'flight');
  await operation();
  const [, statements] = flight.mock.calls[0]!;
  flight.mockRestore();
  return statements;
}

/** The same statement without one of its conditions. */
function without(
  { statement, values }: Bound<unknown>,
  condition: RegExp,
  instead: string,
): Bound<Record<string, unknown>> {
  const text = statement.text.replace(condition, instead);
  if (text === statement.text) throw new Error(`${statement.name} has no such condition`);
  return { ...sql(text), values };
}

/** As a superuser, whom no policy binds. */
async function unbound(statements: readonly Bound<unknown>[]): Promise<Record<string, unknown>[]> {
  await world.owner.query('begin');
  try {
    let rows: Record<string, unknown>[] = [];
    for (const { statement, values } of statements) {
      ({ rows } = await world.owner.query<Record<string, unknown>>(statement.text, [...values]));
    }
    return rows;
  } finally {
    await world.owner.query('rollback');
  }
}

describe('Given the statement that reads a transfer', () => {
  const send = async (workspaceId: WorkspaceId) => {
    const transferId = world.demo.transfers['international'] as TransferId;
    const [statement] = await sentBy(() => getTransfer(world.database, workspaceId, transferId).catch(() => undefined));
    return statement!;
  };

  it('When its filter is removed, Then the policy alone hides what is another’s', async () => {
    const open = without(await send(south), /t\.workspace_id = \$1 and/, '$1::bigint is not null and');

    expect(await world.database.read({ workspaces: [south] }, open)).toBeUndefined();
    expect(await world.database.read({}, open)).toBeUndefined();
    expect(await world.database.read({ workspaces: [north] }, open)).toBeDefined();
  });

  it('When no policy binds, Then the filter alone hides what is another’s', async () => {
    expect(await unbound([await send(south)])).toEqual([]);
    expect(await unbound([await send(north)])).toHaveLength(1);
  });
});

describe.each([
  ['booking', { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' }],
  ['value date', { from: '2000-01-01', to: '2100-01-01' }],
])('Given the statement that reads those of an account by %s', (_, period) => {
  const send = async (workspaceId: WorkspaceId) => {
    const accountId = world.demo.accounts['Northwind Trading EUR'] as AccountId;
    const sent = await sentBy(() => getStatement(world.database, new CursorSeal(world.database), workspaceId, { accountId, ...period }).catch(() => undefined)); // prettier-ignore
    return sent[1]!;
  };

  it('When its filter is removed, Then the policy alone hides what is another’s', async () => {
    const open = without(await send(south), /\w*\.?workspace_id = \$1 and/g, '$1::bigint is not null and');

    expect(await world.database.read({ workspaces: [south] }, open)).toBeUndefined();
    expect(await world.database.read({}, open)).toBeUndefined();
    expect(await world.database.read({ workspaces: [north] }, open)).toBeDefined();
  });

  it('When no policy binds, Then the filter alone hides what is another’s', async () => {
    expect(await unbound([await send(south)])).toEqual([]);
    expect(await unbound([await send(north)])).toMatchObject([{ opening: '0' }]);
  });
});

describe('Given the statements that list the users of an app', () => {
  const send = () => sentBy(() => listAppUsers(world.database, bob, world.demo.apps['Northwind Treasury'] as AppId));

  it('When the filter of the roles is removed, Then the policy alone hides those not shared', async () => {
    const [scope, list] = await send();
    const open = without(
      list!,
      /and r\.workspace_id = any\(nullif\(current_setting\('app\.workspaces', true\), ''\)::bigint\[\]\)/,
      '',
    );

    const [, asWritten] = await world.database.flight({ user: bob }, [scope!, list!]);
    const [, filterless] = await world.database.flight({ user: bob }, [scope!, open]);

    expect(filterless).toEqual(asWritten);
    expect(JSON.stringify(filterless)).not.toContain('Ada personal');
    expect(JSON.stringify(await unbound([scope!, open]))).toContain('Ada personal');
  });

  it('When no policy binds, Then the filter alone hides those not shared', async () => {
    const [scope, list] = await send();

    const asWritten = (await world.database.flight({ user: bob }, [scope!, list!]))[1];

    expect(await unbound([scope!, list!])).toEqual(asWritten);
  });
});

describe('Given every table of a workspace', () => {
  const TABLES = [
    'account',
    'transaction',
    'transfer',
    'recipient',
    'beneficiary',
    'remittance',
    'remittance_event',
    'workspace_role',
    'quote',
  ];

  it.each(TABLES)('When %s is read with another scope or with none, Then nothing of it shows', async (table) => {
    const seen = sql(`select count(*)::int as seen from ${table} where workspace_id = $1`, north);

    expect(await world.database.read({}, seen)).toEqual({ seen: 0 });
    expect(await world.database.read({ workspaces: [south] }, seen)).toEqual({ seen: 0 });
    expect((await world.database.read({ workspaces: [north] }, seen))?.['seen']).toBeGreaterThan(0);
  });

  it('When a code is looked up, Then it says which account it names, and can be written only for one’s own', async () => {
    const found = sql<{ workspace_id: bigint }>(
      'select workspace_id from account_code where account_id = $1',
      world.demo.accounts['Southwind Imports USD'],
    );
    const stolen = sql(
      'insert into account_code select code || $2, workspace_id, account_id, currency_id from account_code where workspace_id = $1',
      south,
      'X',
    );

    expect(await world.database.read({ workspaces: [north] }, found)).toEqual({ workspace_id: BigInt(south) });
    await expect(world.database.read({ workspaces: [north] }, stolen)).rejects.toMatchObject({ code: '42501' });
    await expect(world.database.read({ workspaces: [south] }, stolen)).rejects.toMatchObject({ code: '23503' });
  });
});
