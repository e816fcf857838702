import type { ProductId, Scope, WorkspaceId } from '@banking/domain';
import { bind } from '@banking/postgres';
import { PlanProbe, testOrProve } from '@banking/postgres/testing';
import { BATCH, DELETE_EXPIRED, ExpiredKeys } from './idempotency-key.js';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { demoDatabase, emptyDatabase } from '../testing/test-databases.js';

const EXPIRED = testOrProve(50_000, 200_000);
let world: Awaited<ReturnType<typeof demoDatabase>>;
let north: number;
let south: number;

beforeAll(async () => {
  world = await demoDatabase();
  north = world.demo.workspaces['Northwind Trading']!;
  south = world.demo.workspaces['Southwind Imports']!;
});
afterAll(() => world.close());

/** Records of alternating workspaces, one a second. The first is some days old. */
const lay = (name: string, count: number, days: number) =>
  world.owner.query(
    `insert into idempotency (workspace_id, operation, key, fingerprint, answer, created_at)
     select case n % 2 when 0 then ${north} else ${south} end, 'spec', $1::text || n, sha256('a'), '{}',
            now() - $3::int * interval '1 day' + n * interval '1 s'
     from generate_series(1, $2::int) n`,
    [name, count, days],
  );
const left = async (name: string) => {
  const { rows } = await world.owner.query<{ count: number }>(
    `select count(*)::int as count from idempotency where key like $1`,
    [`${name}%`],
  );
  return rows[0]!.count;
};

describe(`${EXPIRED} expired idempotency records of two workspaces`, () => {
  beforeAll(async () => {
    // Without the foreign key, which would be checked for each row.
    await world.owner.query('set session_replication_role = replica');
    await lay('expired', EXPIRED, 40);
    await lay('live', 2_000, 29);
    await world.owner.query('set session_replication_role = default');
  });
  afterAll(() => world.owner.query('truncate idempotency'));

  it('are deleted from the oldest thousand on, reading little more', async () => {
    const probe = await PlanProbe.open(world, DELETE_EXPIRED, 'int, timestamptz');
    const { buffers } = await probe.cost(`${BATCH}, '-infinity'`, []);
    // Each record is found, locked, read and deleted.
    expect(buffers / BATCH).toBeLessThan(6);
    await probe.close();

    expect(await new ExpiredKeys(world.database).deleteBatch()).toBe(1_000);

    expect(await left('expired')).toBe(EXPIRED - 1_000);
    const { rows } = await world.owner.query(
      `select count(*)::int as older from idempotency where key like 'expired%' and substr(key, 8)::int <= 1000`,
    );
    expect(rows).toEqual([{ older: 0 }]);
  });

  it('are deleted a thousand at a time, without the valid ones', async () => {
    const before = await left('expired');
    const keys = new ExpiredKeys(world.database);
    for (let batch = 0; batch < 40; batch++) expect(await keys.deleteBatch()).toBe(1_000);

    expect(before - (await left('expired'))).toBe(40_000);
    expect(await left('live')).toBe(2_000);
  });
});

describe('expired and valid records', () => {
  beforeEach(() => world.owner.query('delete from idempotency'));

  const openAccount = (scope: Scope, key: string) =>
    new LedgerBankingService(world.database).openAccount(scope, { productID: 1 as ProductId }, { idempotencyKey: key });
  const scope = () =>
    ({ workspaceId: north as WorkspaceId, actor: world.demo.users['ada@northwind.example'] }) as Scope;

  it('lose the expired ones only', async () => {
    await lay('expired', 2_500, 40);
    await lay('live', 500, 29);
    const keys = new ExpiredKeys(world.database);

    expect([
      await keys.deleteBatch(),
      await keys.deleteBatch(),
      await keys.deleteBatch(),
      await keys.deleteBatch(),
    ]).toEqual([1_000, 1_000, 500, 0]);

    expect([await left('expired'), await left('live')]).toEqual([0, 500]);
    // Records that expire later are found, also if they are older than the last deleted one.
    await lay('late', 3, 50);
    expect(await keys.deleteBatch()).toBe(3);
  });

  it('are read from the last deleted one on, and from the oldest on when a batch is not full', async () => {
    await lay('expired', 1_500, 40);
    const keys = new ExpiredKeys(world.database);

    expect(await keys.deleteBatch()).toBe(1_000);
    await lay('late', 3, 50);
    expect([await keys.deleteBatch(), await left('late')]).toEqual([500, 3]);
    expect([await keys.deleteBatch(), await left('late')]).toEqual([3, 0]);
  });

  it('do not block requests with a valid or a new key while a batch is deleted', async () => {
    const { resource } = await openAccount(scope(), 'good');
    await lay('expired', 1_000, 40);

    await world.database.transaction({}, async (tx) => {
      const [[batch]] = await tx.pipeline([bind(DELETE_EXPIRED, 1_000, '-infinity')] as const);
      expect(batch?.deleted).toBe(1_000);

      expect(await openAccount(scope(), 'good')).toEqual({ resource, isReplay: true });
      expect(await openAccount(scope(), 'new')).toMatchObject({ isReplay: false });
    });
  });

  it('do not block a batch while one is replaced', async () => {
    await lay('expired', 10, 40);
    await world.owner.query('begin');
    await world.owner.query(`update idempotency set answer = '[]' where key = 'expired5'`);

    expect(await new ExpiredKeys(world.database).deleteBatch()).toBe(9);

    await world.owner.query('commit');
    expect(await left('expired')).toBe(1);
  });
});

describe('a step', () => {
  it('is the last one without workspaces', async () => {
    const empty = await emptyDatabase();
    try {
      expect(await new ExpiredKeys(empty.database).deleteBatch()).toBe(0);
    } finally {
      await empty.close();
    }
  });
});

describe('expired records that are left for later', () => {
  beforeEach(async () => {
    await world.owner.query('delete from idempotency');
    await lay('expired', 10, 40);
  });

  it('end a pass also if a whole batch of them has one time', async () => {
    await world.owner.query(
      `insert into idempotency (workspace_id, operation, key, fingerprint, answer, created_at)
       select ${north}, 'spec', 'same' || n, sha256('a'), '{}', '2020-01-01' from generate_series(1, ${BATCH}) n`,
    );
    const keys = new ExpiredKeys(world.database);
    await world.owner.query('begin');
    await world.owner.query(`select pg_advisory_xact_lock(workspace_lock_key(${north}))`);

    expect([await keys.deleteBatch(), await keys.deleteBatch()]).toEqual([BATCH, 0]);

    await world.owner.query('rollback');
    expect(await left('same')).toBe(BATCH);
    expect([await keys.deleteBatch(), await keys.deleteBatch()]).toEqual([BATCH, 10]);
  });

  it('are those of a workspace that another database serves, and nothing is locked of it', async () => {
    await world.owner.query(
      `insert into cell_identity (number, name) values (0, 'home');
       insert into cell_workspace (workspace_id, state) select id, case id when ${north} then 'gone' else 'open' end from workspace`,
    );
    try {
      expect(await new ExpiredKeys(world.database).deleteBatch()).toBe(5);

      const { rows } = await world.owner.query(
        `select distinct workspace_id::int as owner, xmax::text as lock from idempotency where key like 'expired%'`,
      );
      expect(rows).toEqual([{ owner: north, lock: '0' }]);
    } finally {
      await world.owner.query(
        `set session_replication_role = replica; delete from cell_identity; delete from cell_workspace;
         set session_replication_role = default`,
      );
    }
  });
});

describe('20,000 workspaces with an expired key each', () => {
  it('lose them in steps that leave the locks of the server to others, but for one that is being moved', async () => {
    await world.owner.query(`set session_replication_role = replica; truncate idempotency`);
    await world.owner.query(
      `insert into workspace (id, app_id, name, type)
       select 1000000 + n, (select min(id) from app), 'Tenant ' || n, 'business' from generate_series(1, 20000) n;
       insert into idempotency (workspace_id, operation, key, fingerprint, answer, created_at)
       select 1000000 + n, 'spec', 'expired' || n, sha256('a'), '{}', now() - interval '40 days' + n * interval '1 s'
       from generate_series(1, 20000) n`,
    );
    await world.owner.query('set session_replication_role = default');
    await world.owner.query('begin');
    await world.owner.query('select pg_advisory_xact_lock(workspace_lock_key(1000007))');
    const keys = new ExpiredKeys(world.database);
    let steps = 0;
    while ((await keys.deleteBatch()) > 0) steps += 1;

    expect([steps, await left('expired')]).toEqual([20, 1]);
    await world.owner.query('rollback');
    expect([await keys.deleteBatch(), await left('expired')]).toEqual([1, 0]);
  });
});
