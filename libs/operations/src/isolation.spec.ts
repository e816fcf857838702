import { SQLSTATE } from '@banking/postgres';
import type { AccountId, AppId, TransferId, UserId, WorkspaceId } from '@banking/domain';
import type { BoundStatement } from '@banking/postgres';
import { sql } from '@banking/postgres/testing';
import { getStatement } from './accounts/statements.js';
import { getTransfer } from './transfers/transfers.js';
import { AppUsers } from './apps/directory.js';
import { demoDatabase } from './testing/test-databases.js';
import { openReading } from './resources/reading.js';

let world: Awaited<ReturnType<typeof demoDatabase>>;
let north: WorkspaceId;
let south: WorkspaceId;
let bob: UserId;

beforeAll(async () => {
  world = await demoDatabase();
  north = world.demo.workspaces['Northwind Trading'] as WorkspaceId;
  south = world.demo.workspaces['Southwind Imports'] as WorkspaceId;
  bob = world.demo.users['bob@northwind.example'] as UserId;
});
afterAll(() => world.close());
afterEach(() => jest.restoreAllMocks());

/** The statements that an operation sends in one of its pipelines. */
async function sentBy(operation: () => Promise<unknown>, pipelineAt = 0): Promise<readonly BoundStatement<unknown>[]> {
  const pipeline = jest.spyOn(world.database, 'pipeline');
  await operation();
  const [, statements] = pipeline.mock.calls[pipelineAt]!;
  pipeline.mockRestore();
  return statements;
}

/** A statement without one of its conditions. */
function without(
  { statement, values }: BoundStatement<unknown>,
  condition: RegExp | string,
  instead: string,
): BoundStatement<Record<string, unknown>> {
  const text = statement.text.replace(condition, instead);
  if (text === statement.text) throw new Error(`${statement.name} has no such condition`);
  return { ...sql(text), values };
}

/** Runs a statement as a superuser, without row-level security. */
async function unbound(statements: readonly BoundStatement<unknown>[]): Promise<Record<string, unknown>[]> {
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

describe('the query of a transfer', () => {
  const send = async (workspaceId: WorkspaceId) => {
    const transferId = world.demo.transfers['international'] as TransferId;
    const [statement] = await sentBy(() =>
      getTransfer(openReading(world.database), workspaceId, transferId).catch(() => undefined),
    );
    return statement!;
  };

  it('hides other workspaces by policy if its filter is removed', async () => {
    const open = without(await send(south), /t\.workspace_id = \$1 and/, '$1::bigint is not null and');

    expect(await world.database.read({ workspaces: [south] }, open)).toBeUndefined();
    expect(await world.database.read({}, open)).toBeUndefined();
    expect(await world.database.read({ workspaces: [north] }, open)).toBeDefined();
  });

  it('hides other workspaces by filter without a policy', async () => {
    expect(await unbound([await send(south)])).toEqual([]);
    expect(await unbound([await send(north)])).toHaveLength(1);
  });
});

describe.each([
  ['booking', { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' }],
  ['value date', { from: '2000-01-01', to: '2100-01-01' }],
])('the query of an account statement by %s', (_, period) => {
  const send = async (workspaceId: WorkspaceId) => {
    const accountId = world.demo.accounts['Northwind Trading EUR'] as AccountId;
    const sent = await sentBy(() =>
      getStatement(openReading(world.database), workspaceId, { accountId, ...period }).catch(() => undefined),
    );
    return sent[1]!;
  };

  it('hides other workspaces by policy if its filter is removed', async () => {
    const open = without(await send(south), /\w*\.?workspace_id = \$1 and/g, '$1::bigint is not null and');

    expect(await world.database.read({ workspaces: [south] }, open)).toBeUndefined();
    expect(await world.database.read({}, open)).toBeUndefined();
    expect(await world.database.read({ workspaces: [north] }, open)).toBeDefined();
  });

  it('hides other workspaces by filter without a policy', async () => {
    expect(await unbound([await send(south)])).toEqual([]);
    expect(await unbound([await send(north)])).toMatchObject([{ opening: '0' }]);
  });
});

describe('the query of an app’s users', () => {
  const send = () =>
    sentBy(() => new AppUsers(world.database).list(bob, world.demo.apps['Northwind Treasury'] as AppId), 2);

  it('hides unshared roles by policy if its filter is removed', async () => {
    const [scope, list] = await send();
    const open = without(
      list!,
      'and ($2::text is null or r.workspace_id = any($2::bigint[]))',
      'and ($2::text is null or true)',
    );

    const [, asWritten] = await world.database.pipeline({}, [scope!, list!]);
    const [, filterless] = await world.database.pipeline({}, [scope!, open]);

    expect(filterless).toEqual(asWritten);
    expect(JSON.stringify(filterless)).not.toContain('Ada personal');
    expect(JSON.stringify(await unbound([scope!, open]))).toContain('Ada personal');
  });

  it('hides unshared roles by filter without a policy', async () => {
    const [scope, list] = await send();
    const asWritten = (await world.database.pipeline({}, [scope!, list!]))[1];

    expect(await unbound([scope!, list!])).toEqual(asWritten);
  });
});

describe('row-level security', () => {
  const TABLES = [
    'account',
    'transaction',
    'transfer',
    'recipient',
    'beneficiary',
    'remittance_event',
    'workspace_role',
    'quote',
  ];

  it.each(TABLES)('hides %s from another scope and from none', async (table) => {
    const seen = sql(`select count(*)::int as seen from ${table} where workspace_id = $1`, north);

    expect(await world.database.read({}, seen)).toEqual({ seen: 0 });
    expect(await world.database.read({ workspaces: [south] }, seen)).toEqual({ seen: 0 });
    expect((await world.database.read({ workspaces: [north] }, seen))?.['seen']).toBeGreaterThan(0);
  });

  it('shows each account code, and accepts codes of the own workspace', async () => {
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
    await expect(world.database.read({ workspaces: [north] }, stolen)).rejects.toMatchObject({
      code: SQLSTATE.insufficientPrivilege,
    });
    await expect(world.database.read({ workspaces: [south] }, stolen)).rejects.toMatchObject({
      code: SQLSTATE.foreignKeyViolation,
    });
  });
});
