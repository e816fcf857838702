import { raw, settlement } from './testing/raw-legs.js';
import { account, holding, NORTH, openWorld, SOUTH, sql, type World } from './testing/world.js';

const ROW_SECURITY = { code: '42501', message: expect.stringContaining('row-level security') as string };

let world: World;
let eve: number;

beforeAll(async () => {
  world = await openWorld();
  await account(world, '10.00');
  eve = await account(world, '20.00', { workspaceId: SOUTH });
});
afterAll(() => world.close());

describe.each([
  ['no scope', {}],
  ['an empty scope', { workspaces: [] }],
  ['the scope of another workspace', { workspaces: [NORTH] }],
])('Given %s', (_what, scope) => {
  it.each(['account', 'transaction', 'transfer', 'value_date_run', 'back_valued_total'])(
    'When it reads a workspace’s rows of %s, Then there are none',
    async (table) => {
      const rows = await world.database.read(
        scope,
        sql(`select count(*)::int as seen from ${table} where workspace_id = $1`, SOUTH),
      );

      expect(rows).toEqual({ seen: 0 });
    },
  );

  it('When it writes there, Then it is refused', async () => {
    const booked = sql(
      `insert into transaction (workspace_id, status, hash, value_date) values ($1, 'completed', repeat('a', 64), current_date)`,
      SOUTH,
    );
    const opened = sql(
      `insert into account (workspace_id, kind, currency_id, product_id, name, type, code) values ($1, 'customer', 978, 1, 'Eve', 'CACC', 'E2')`,
      SOUTH,
    );
    const moved = raw([{ account: eve, direction: 'debit', amount: 1, version: 2, after: 1_999 }], SOUTH);

    await expect(world.database.flight(scope, [booked])).rejects.toMatchObject(ROW_SECURITY);
    await expect(world.database.flight(scope, [opened])).rejects.toMatchObject(ROW_SECURITY);
    await expect(world.database.flight(scope, moved)).rejects.toMatchObject(ROW_SECURITY);
  });

  it('When it changes or locks what is there, Then it finds nothing', async () => {
    const changed = sql(`update account set alias = 'mine' where workspace_id = $1 returning id`, SOUTH);
    const locked = sql('select id from account where id = $1 for no key update', eve);

    expect(await world.database.flight(scope, [changed, locked])).toEqual([[], []]);
  });
});

describe('Given its own scope', () => {
  it('When a row is moved to another workspace, Then there is no right to', async () => {
    const moved = sql('update account set workspace_id = $1', SOUTH);

    await expect(world.database.flight({ workspaces: [NORTH] }, [moved])).rejects.toMatchObject({ code: '42501' });
  });

  it('When its transfer names another workspace’s account, Then there is no such account', async () => {
    const ours = await settlement(world);
    const legs = raw([
      { account: ours, direction: 'credit', amount: 1 },
      { account: eve, direction: 'debit', amount: 1 },
    ]);

    await expect(world.database.flight({ workspaces: [NORTH] }, legs)).rejects.toMatchObject({
      code: expect.stringMatching(/^(23503|BK002)$/) as string,
    });
    expect(await holding(world, eve)).toEqual({ balance: 2_000n, version: 1n });
  });
});

describe('Given a scope of two workspaces', () => {
  it('When it reads, Then it sees both and no third', async () => {
    await account(world, '30.00', { workspaceId: 3 });

    const [seen] = await world.database.flight({ workspaces: [NORTH, SOUTH] }, [
      sql('select distinct workspace_id from account order by 1'),
    ] as const);

    expect(seen).toEqual([{ workspace_id: 1n }, { workspace_id: 2n }]);
  });
});

describe('Given the function that moves the balances', () => {
  it('When its owner is looked at, Then row-level security binds them, and they cannot log in', async () => {
    const { rows } = await world.owner.query(
      `select r.rolsuper, r.rolbypassrls, r.rolcanlogin, bool_and(c.relforcerowsecurity) as forced
       from pg_proc p join pg_roles r on r.oid = p.proowner
       join pg_class c on c.relowner = r.oid and c.relname in ('account', 'transaction', 'transfer', 'value_date_run', 'back_valued_total')
       where p.oid = 'move_balances'::regproc group by 1, 2, 3`,
    );

    expect(rows).toEqual([{ rolsuper: false, rolbypassrls: false, rolcanlogin: false, forced: true }]);
  });

  it('When a session puts tables of its own in front, Then they are not looked at', async () => {
    const { rows } = await world.owner.query<{ proname: string; proconfig: string[] | null }>(
      `select proname, proconfig from pg_proc where pronamespace = 'banking'::regnamespace and prosecdef`,
    );

    expect(rows).toEqual([
      {
        proname: 'move_balances',
        proconfig: ['search_path=banking, pg_temp', 'enable_seqscan=off', 'enable_sort=off'],
      },
    ]);
  });
});
