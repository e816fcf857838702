import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { READ_SLOTS, SLOT_NAME } from '@banking/operations';
import {
  API_ROLE,
  bind,
  type Database,
  OWNER_ROLE,
  SCHEMA,
  VERIFIER_ROLE,
  withNewSlot,
  WORKER_ROLE,
} from '@banking/postgres';
import { administer, copyDataDirTemplate, openDatabase, reasonOf, until } from '@banking/postgres/testing';
import { addCell } from './add-cell.js';
import { compareCopy, type CopyState, inDatabase } from './compare-copy.js';
import { CopiesComparison } from './copies-comparison.js';
import { addressOf } from './subscription.js';

const NAMES = ['home', 'b'] as const;
type Name = (typeof NAMES)[number];
const WAIT_MS = 30_000;

let folder: string;
const servers = new Map<Name, EmbeddedServer>();

const dataDirOf = (name: string) => join(folder, name);
/** With owners and modes. */
const copy = (from: string, to: string) => promisify(execFile)('cp', ['-a', dataDirOf(from), dataDirOf(to)]);
const connectionOf = (name: Name) => ({ ...servers.get(name)!.connection, database: 'home' });
const attach = async (name: Name) =>
  servers.set(name, await attachEmbeddedServer({ dataDir: dataDirOf(name), isReplicated: true }));

const query = <Row extends object>(name: Name, text: string): Promise<Row[]> =>
  administer(connectionOf(name), async (client) => {
    await client.query('set search_path = banking');
    return (await client.query(text)).rows as never[];
  });
const column = async <T>(name: Name, text: string): Promise<T[]> =>
  (await query<{ value: T }>(name, text)).map(({ value }) => value);
/** As replication, or an operator with psql, may write a copy. */
const plant = (text: string) => query('b', `set session_replication_role = replica; ${text}`);
const eventually = (read: () => Promise<unknown>, expected: unknown) =>
  until(read, (value) => JSON.stringify(value) === JSON.stringify(expected));

const logged: string[] = [];
const add = () =>
  addCell({
    ...{ name: 'b', home: connectionOf('home'), cell: connectionOf('b'), isSandbox: true },
    ...{ homeAddress: addressOf(connectionOf('home')), log: (line: string) => void logged.push(line) },
  });

async function withDatabase<T>(name: Name, role: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openDatabase({ connection: connectionOf(name), role, schema: SCHEMA, poolSize: 1 });
  return work(database).finally(() => database.end());
}
const slotOfB = () =>
  withDatabase('home', API_ROLE, async (home) => (await home.pipeline({}, [bind(READ_SLOTS)] as const))[0][0]!);
const compare = (waitMs = WAIT_MS): Promise<CopyState> =>
  withDatabase('home', VERIFIER_ROLE, (home) =>
    withDatabase('b', VERIFIER_ROLE, async (b) => {
      const [{ slot }] = (await query<{ slot: string }>(
        'home',
        `select ${SLOT_NAME} as slot from cell c where number = 1`,
      )) as [{ slot: string }];
      return compareCopy(inDatabase(home), inDatabase(b), slot, waitMs);
    }),
  );
const lostIn = ({ lost }: CopyState) => lost.map(({ table, id }) => `${table} ${id}`).sort();

const USERS = 'select email as value from app_user where email is not null order by 1';
const ROLES = `select role as value from workspace_role where workspace_id = 641 and user_id = 1 order by 1`;
const addUser = (id: number, email: string) =>
  query('home', `insert into app_user (id, email) values (${id}, '${email}')`);
const addAccount = (workspaceId: number) =>
  query(
    'b',
    `insert into account (workspace_id, kind, currency_id, name, type, code) select ${workspaceId}, 'fees', id, 'Fees', 'fees', 'F${workspaceId}'
     from currency order by id limit 1`,
  );

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'banking-recovered-'));
  // The user of the database server passes through it when we are root.
  await chmod(folder, 0o711);
  for (const name of NAMES) {
    await mkdir(dataDirOf(name));
    await copyDataDirTemplate(dataDirOf(name), 'migrated');
    await attach(name);
  }
  await add();
  await query('home', `insert into app (id, name) values (1, 'Harbour')`);
  await addUser(1, 'dana@harbour.example');
  await addUser(2, 'other@harbour.example');
  await query('home', `insert into workspace (id, app_id, name) values (641, 1, 'Quay')`);
  await query('home', 'insert into workspace_place (workspace_id, cell_number) values (641, 1)');
  await query(
    'home',
    `insert into workspace_role (workspace_id, user_id, role) values (641, 1, 'approver'), (641, 1, 'viewer')`,
  );
  await eventually(() => column('b', ROLES), ['approver', 'viewer']);
  await addAccount(641);
  await servers.get('home')!.detach();
  await copy('home', 'backup');
  await attach('home');
});
afterAll(async () => {
  for (const name of [...NAMES].reverse()) await servers.get(name)?.detach();
  await rm(folder, { recursive: true, force: true });
});

describe('the copy of a directory, of which home was recovered to an earlier moment', () => {
  beforeAll(async () => {
    // Log of orders, which copies do not receive, and changes that they do.
    for (let mb = 0; mb < 8; mb += 1)
      await query('home', `select pg_logical_emit_message(false, 'spec', repeat('x', 1024 * 1024))`);
    await addUser(3, 'lost@harbour.example');
    await query('home', `update app_user set email = 'renamed@harbour.example' where id = 2`);
    await eventually(
      () => column('b', USERS),
      ['dana@harbour.example', 'lost@harbour.example', 'renamed@harbour.example'],
    );
    await servers.get('home')!.detach();
    await rm(dataDirOf('home'), { recursive: true });
    await copy('backup', 'home');
    await attach('home');
    await query('home', `delete from workspace_role where user_id = 1 and role = 'approver'`);
    // The name of a user of the lost time.
    await addUser(1_000_003, 'lost@harbour.example');
  });

  it('is lost, and not behind by less than nothing', async () => {
    const slot = await until(slotOfB, ({ is_active: isActive, is_lost: isLost }) => isActive && isLost);

    expect(slot).toMatchObject({ is_lost: true, behind: 0 });
  });

  it('differs in the rows that it will not receive', async () => {
    await until(slotOfB, ({ is_lost: isLost }) => isLost);

    expect(lostIn(await compare())).toEqual(['app_user 1000003', 'app_user 2', 'app_user 3', 'workspace_role 641']);
  });

  it('is made anew by the addition of its cell, which keeps all other rows', async () => {
    expect(await add()).toBe(1);

    expect(logged).toContain('The copy of the directory in the cell b lacks changes of home. It is made anew.');
    expect(await column('b', USERS)).toEqual(await column('home', USERS));
    expect(await column('b', ROLES)).toEqual(['viewer']);
    expect(await column('b', 'select workspace_id::int as value from account')).toEqual([641]);
    expect(await column('b', `select state as value from cell_workspace where workspace_id = 641`)).toEqual(['open']);
    expect(await compare()).toEqual({ lost: [], isFollowing: true });
  });

  it('follows each change then', async () => {
    await query('home', `update workspace_role set role = 'member' where user_id = 1`);
    await addUser(1_000_004, 'new@harbour.example');
    await query('home', `insert into workspace (id, app_id, name) values (1000641, 1, 'After')`);
    await query('home', 'insert into workspace_place (workspace_id, cell_number) values (1000641, 1)');

    await eventually(() => column('b', ROLES), ['member']);
    await eventually(() => column('b', 'select max(workspace_id)::int as value from cell_workspace'), [1_000_641]);
    expect(await column('b', USERS)).toEqual(await column('home', USERS));
    expect(await slotOfB()).toMatchObject({ is_active: true, is_lost: false });
  });
});

describe('a copy', () => {
  it('that has only not received its changes yet lacks nothing', async () => {
    await query('b', 'alter subscription banking_directory disable');
    await addUser(1_000_005, 'late@harbour.example');
    expect(await compare(0)).toEqual({ lost: [], isFollowing: false });

    await query('b', 'alter subscription banking_directory enable');
    expect(await compare()).toEqual({ lost: [], isFollowing: true });
  });

  it('that lacks changes which home has sent is made anew', async () => {
    await plant(
      `delete from app_user where id = 1000005; update workspace_place set cell_number = 0 where workspace_id = 641`,
    );
    expect(await slotOfB()).toMatchObject({ is_lost: false });
    expect(lostIn(await compare())).toEqual(['app_user 1000005', 'workspace_place 641']);

    await add();

    expect(await compare()).toEqual({ lost: [], isFollowing: true });
  });

  it('is compared over and over by the worker of home', async () => {
    const warned: string[] = [];
    const [lost, whole] = await withDatabase('home', WORKER_ROLE, (home) =>
      withDatabase('b', WORKER_ROLE, async (b) => {
        const comparison = new CopiesComparison(
          () => [
            { number: 0, name: 'home', database: home },
            { number: 1, name: 'b', database: b },
          ],
          (line) => void warned.push(line),
        );
        const isLostAfterPass = async () => {
          for (let turn = 0; turn < 3; turn += 1) expect(await comparison.compareNext()).toBe(0);
          return comparison.isLost('b');
        };
        expect(await isLostAfterPass()).toBe(false);
        await plant('delete from app_user where id = 1000005');
        const before = (await isLostAfterPass()) && (await isLostAfterPass());
        await add();
        return [before, await isLostAfterPass()];
      }),
    );

    expect([lost, whole]).toEqual([true, false]);
    expect(warned).toEqual([
      'A copy is lost: the copy of the directory in the cell b lacks changes of home (app_user 1000005): run banking cell add b.',
    ]);
  });

  it('whose subscription is disabled, as after its cell was restored from a dump, is made anew', async () => {
    await query('b', 'alter subscription banking_directory disable');
    await addUser(1_000_006, 'meanwhile@harbour.example');

    await add();

    expect(await compare()).toEqual({ lost: [], isFollowing: true });
  });

  it('misses no change that home makes while it is made anew', async () => {
    await plant('delete from app_user where id = 1000005');
    let isAdded = false;
    const adding = add().finally(() => (isAdded = true));
    let id = 2_000_000;
    while (!isAdded) {
      id += 1;
      await addUser(id, `user${id}@harbour.example`);
      await query('home', `delete from app_user where id = ${id - 3}`);
    }
    await adding;

    expect(await compare()).toEqual({ lost: [], isFollowing: true });
  });

  it('begins with the rows as they are where its slot begins, although home changes them before they are read', async () => {
    const slot = { slot: 'of_spec', role: OWNER_ROLE, schema: SCHEMA };

    const read = await withNewSlot(connectionOf('home'), slot, async (rows) => {
      await addUser(3_000_000, 'after@harbour.example');
      return rows('select from app_user where id = 3000000');
    });

    expect(read).toEqual([]);
    await query('home', `select pg_drop_replication_slot('of_spec')`);
  });

  it('revokes the keys of a service account that lost its role at home, not of one whose role changed', async () => {
    await query('home', `insert into app_user (id, kind, service_workspace_id) values (7, 'service_account', 641)`);
    await query('home', `insert into workspace_role (workspace_id, user_id, role) values (641, 7, 'viewer')`);
    await eventually(() => column('b', 'select role as value from workspace_role where user_id = 7'), ['viewer']);
    await plant(
      `insert into service_account (workspace_id, id, name, created_by) values (641, 7, 'Reader', 1);
       insert into service_account_key (workspace_id, service_account_id, hash, created_by)
         values (641, 7, decode(repeat('00', 32), 'hex'), 1)`,
    );
    const isRevoked = async (change: string) => {
      await query('b', 'alter subscription banking_directory disable');
      await query('home', `${change} where user_id = 7`);
      await add();
      return column('b', 'select revoked_at is not null as value from service_account_key');
    };

    expect(await isRevoked(`update workspace_role set role = 'member'`)).toEqual([false]);
    expect(await isRevoked('delete from workspace_role')).toEqual([true]);
  });

  it('continues after an addition that was interrupted', async () => {
    await plant(`delete from app_user where id = 1000005`);
    await query('b', 'alter subscription banking_directory disable');
    await query('b', 'alter subscription banking_directory set (slot_name = none)');
    await query('b', 'drop subscription banking_directory');

    await add();

    expect(await compare()).toEqual({ lost: [], isFollowing: true });
  });

  it('is not made anew while the cell has books that home does not know', async () => {
    await plant(
      `insert into workspace (id, app_id, name) values (705, 1, 'Lost'); insert into cell_workspace (workspace_id) values (705)`,
    );
    await addAccount(705);

    expect(await reasonOf(add())).toBe(
      'The cell "b" has rows of workspaces that home does not have: 705. Add each of them at home with its id, and run this again; see ' +
        'docs/maintain.md, section "Several databases".',
    );
    // As docs/maintain.md says.
    await query('b', 'alter subscription banking_directory disable');
    await query('home', `insert into workspace (id, app_id, name) values (705, 1, 'Lost')`);
    await query('home', 'insert into workspace_place (workspace_id, cell_number) values (705, 1)');

    await add();

    expect(await column('b', 'select workspace_id::int as value from account where workspace_id = 705')).toEqual([705]);
    expect(await compare()).toEqual({ lost: [], isFollowing: true });
  });

  it('serves no workspace without rows that home has lost', async () => {
    await plant(
      `insert into workspace (id, app_id, name) values (769, 1, 'Unused'); insert into cell_workspace (workspace_id) values (769)`,
    );

    await add();

    for (const table of ['workspace where id', 'cell_workspace where workspace_id'])
      expect(await query('b', `select from ${table} = 769`)).toEqual([]);
  });
});
