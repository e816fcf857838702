import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { sql } from '@banking/postgres/testing';
import { raw, settlement } from './testing/raw-legs.js';
import { account, holding, NORTH, openWorld, SOUTH, type World } from './testing/world.js';

const ROW_SECURITY = {
  code: SQLSTATE.insufficientPrivilege,
  message: expect.stringContaining('row-level security') as string,
};

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
])('%s', (_what, scope) => {
  it.each(['account', 'transaction', 'transfer'])('reads no rows of %s of a workspace', async (table) => {
    const rows = await world.database.read(
      scope,
      sql(`select count(*)::int as seen from ${table} where workspace_id = $1`, SOUTH),
    );

    expect(rows).toEqual({ seen: 0 });
  });

  it('cannot write rows of a workspace', async () => {
    const booked = sql(
      `insert into transaction (workspace_id, status, hash) values ($1, 'completed', repeat('a', 64))`,
      SOUTH,
    );
    const opened = sql(
      `insert into account (workspace_id, kind, currency_id, product_id, name, type, code) values ($1, 'customer', 978, 1, 'Eve', 'CACC', 'E2')`,
      SOUTH,
    );
    const moved = raw([{ account: eve, direction: 'debit', amount: 1, version: 2, after: 1_999 }], SOUTH);

    await expect(world.database.pipeline(scope, [booked])).rejects.toMatchObject(ROW_SECURITY);
    await expect(world.database.pipeline(scope, [opened])).rejects.toMatchObject(ROW_SECURITY);
    await expect(world.database.pipeline(scope, moved)).rejects.toMatchObject(ROW_SECURITY);
  });

  it('cannot change or lock rows of a workspace', async () => {
    const changed = sql(`update account set alias = 'mine' where workspace_id = $1 returning id`, SOUTH);
    const locked = sql('select id from account where id = $1 for no key update', eve);

    expect(await world.database.pipeline(scope, [changed, locked])).toEqual([[], []]);
  });
});

describe('the scope of one workspace', () => {
  it('cannot move a row to another workspace', async () => {
    const moved = sql('update account set workspace_id = $1', SOUTH);

    await expect(world.database.pipeline({ workspaces: [NORTH] }, [moved])).rejects.toMatchObject({
      code: SQLSTATE.insufficientPrivilege,
    });
  });

  it('cannot name an account of another workspace in a transfer', async () => {
    const ours = await settlement(world);
    const legs = raw([
      { account: ours, direction: 'credit', amount: 1 },
      { account: eve, direction: 'debit', amount: 1 },
    ]);

    await expect(world.database.pipeline({ workspaces: [NORTH] }, legs)).rejects.toMatchObject({
      code: expect.stringMatching(
        `^(${SQLSTATE.foreignKeyViolation}|${RULE_VIOLATION.discontinuousTransfer})$`,
      ) as string,
    });
    expect(await holding(world, eve)).toEqual({ balance: 2_000n, version: 1n });
  });
});

describe('the scope of two workspaces', () => {
  it('reads both workspaces and no third', async () => {
    await account(world, '30.00', { workspaceId: 3 });

    const [seen] = await world.database.pipeline({ workspaces: [NORTH, SOUTH] }, [
      sql('select distinct workspace_id from account order by 1'),
    ] as const);

    expect(seen).toEqual([{ workspace_id: 1n }, { workspace_id: 2n }]);
  });
});

describe('the function that moves the balances', () => {
  it('has an owner that row-level security binds and that cannot log in', async () => {
    const { rows } = await world.owner.query(
      `select r.rolsuper, r.rolbypassrls, r.rolcanlogin, bool_and(c.relforcerowsecurity) as forced
       from pg_proc p join pg_roles r on r.oid = p.proowner
       join pg_class c on c.relowner = r.oid and c.relname in ('account', 'transaction', 'transfer')
       where p.oid = 'move_balances'::regproc group by 1, 2, 3`,
    );

    expect(rows).toEqual([{ rolsuper: false, rolbypassrls: false, rolcanlogin: false, forced: true }]);
  });
});
