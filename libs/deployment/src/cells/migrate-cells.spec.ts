import { applicationNameOf, type ConnectionOptions } from '@banking/postgres';
import { administer, reasonOf } from '@banking/postgres/testing';
import { HOME_CELL } from '@banking/process';
import { migrateDeployment } from '../migrate-deployment.js';
import { openDeployment } from '../open-deployment.js';
import { RELEASE } from '../release.js';
import { type CellServer, cellServer } from '../testing/cell-server.js';
import { withLaterMigrations } from '../testing/later-migrations.js';
import { Cells } from './cells.js';
import { type CellSchema, migrateCells, planCells } from './migrate-cells.js';

let server: CellServer;

beforeAll(async () => {
  server = await cellServer(['b', 'c']);
});
afterAll(() => server.close());

const identities = (cell: string) => server.query<{ name: string }>(cell, 'select name from cell_identity');

describe('the first cell', () => {
  it('is not added while a process is connected that does not know of cells', async () => {
    const { cells: _, ...alone } = server.settings;
    const running = await openDeployment(alone);

    const reason = await reasonOf(server.add('b'));

    await running.close();
    expect(reason).toMatch(/^Processes without CELLS_FILE or CELLS are connected/);
    expect(reason).toContain(`release ${RELEASE} (one connection)`);
    expect(await identities('home')).toEqual([]);
  });

  it('is added once by processes that start at the same time', async () => {
    const numbers = await Promise.all([server.add('b'), server.add('b'), server.add('c')]);

    expect(new Set(numbers.slice(0, 2)).size).toBe(1);
    expect([...numbers.slice(1)].sort()).toEqual([1, 2]);
    expect(await identities('home')).toEqual([{ name: HOME_CELL }]);
    expect(await server.query('b', 'select from pg_subscription_rel where srsubstate <> $$r$$')).toEqual([]);
  });

  it('is seen in the names of the connections of processes', async () => {
    const cells = await Cells.open(server.settings, () => ({}));
    const names = await server.query<{ name: string }>(
      'home',
      `select distinct application_name as name from pg_stat_activity where datname = 'home' and application_name like 'banking %'`,
    );
    await cells.close();

    expect(names).toEqual([{ name: applicationNameOf(RELEASE, true) }]);
  });
});

describe('a migration of several databases', () => {
  const log: string[] = [];
  const schema = (name: string, connection: ConnectionOptions): CellSchema => ({
    ...{ name, connection, url: 'postgres://owner@db.example/cell', isSandbox: true },
    log: (line) => log.push(line),
  });
  const fresh = ['new_b', 'new_c', 'new_home'];
  const [b, c, home] = fresh.map((name) => () => schema(name, server.connectionOf(name))) as [
    () => CellSchema,
    () => CellSchema,
    () => CellSchema,
  ];
  const newOnes = async () => {
    const plans = await planCells([b(), c(), home()]);
    return [...plans].filter(([, { isNew }]) => isNew).map(([name]) => name);
  };

  beforeAll(() =>
    administer(server.connectionOf('home'), async (client) => {
      for (const name of fresh) await client.query(`create database ${name}`);
      await client.query('create role spec_without_rights login');
    }),
  );

  it('changes none of them if one cannot be reached', async () => {
    const away = schema('d', { ...server.connectionOf('home'), host: '/nowhere' });

    expect(await reasonOf(migrateCells([b(), away, home()]))).toMatch(
      /^The database at db\.example .*Check ownerUrl of the cell "d" in CELLS_FILE/,
    );
    expect(await newOnes()).toEqual(fresh);
  });

  it('begins with the cells, ends with home, and continues where it was interrupted', async () => {
    const withoutRights = schema('new_c', { ...server.connectionOf('new_c'), user: 'spec_without_rights' });
    await expect(migrateCells([b(), withoutRights, home()])).rejects.toThrow();
    expect(await newOnes()).toEqual(['new_c', 'new_home']);
    log.length = 0;

    const applied = await migrateCells([b(), c(), home()]);

    const all = applied.get('new_home')!.length;
    expect([...applied].map(([name, names]) => [name, names.length])).toEqual([
      ['new_b', 0],
      ['new_c', all],
      ['new_home', all],
    ]);
    expect(log.filter((line) => line.startsWith('migrating'))).toEqual([
      'migrating the cell new_c',
      'migrating the cell new_home',
    ]);
  });
});

describe('the schema of a cell', () => {
  const open = (prepare: boolean, log: (line: string) => void = () => undefined) =>
    Cells.open({ ...server.settings, prepare, log }, () => ({})).then((cells) => cells.close());
  const LAST = 'number = (select max(number) from schema_migration)';
  /** Runs work while a database seems to lack its last migration. */
  async function withoutLast<T>(names: readonly string[], work: (last: string) => Promise<T>): Promise<T> {
    for (const name of names) {
      await server.query(name, `create table lost as select * from schema_migration where ${LAST}`);
      await server.query(name, `delete from schema_migration where ${LAST}`);
    }
    try {
      const [last] = await server.query<{ name: string }>(names[0]!, 'select name from lost');
      return await work(last!.name);
    } finally {
      for (const name of names) {
        await server.query(name, 'insert into schema_migration select * from lost');
        await server.query(name, 'drop table lost');
      }
    }
  }

  it('is refused by a process if it lacks a migration', async () => {
    await withoutLast(['b'], async (last) => {
      expect(await reasonOf(open(false))).toContain(`The database of the cell "b" lacks ${last}`);
    });
    await open(false);
  });

  it('has the steps of its ids in a sequence from the migration on that adds it', async () => {
    await withLaterMigrations(['-- Later.\n-- Phase: expand\ncreate sequence later_id_seq;\n'], async (names) => {
      const applied = await migrateDeployment({ connection: server.connectionOf('b'), isSandbox: true });

      expect(applied).toEqual(names);
    });
    const [steps] = await server.query(
      'b',
      `select increment_by, nextval('later_id_seq') % 64 = (select number from cell_identity) as is_of_cell
       from pg_sequences where sequencename = 'later_id_seq'`,
    );
    await server.query('b', 'drop sequence later_id_seq; delete from schema_migration where phase is not null');
    expect(steps).toEqual({ increment_by: 64n, is_of_cell: true });
  });

  it('is refused by a process if it is newer', async () => {
    await server.query('b', `insert into schema_migration (number, name, sha256) values (9999, '9999-later.sql', '')`);

    const reason = await reasonOf(open(true));

    await server.query('b', 'delete from schema_migration where number = 9999');
    expect(reason).toMatch(/^The cell "b": The database is newer than this program: it has 9999-later.sql/);
  });

  it('is migrated before home by a process that starts', async () => {
    const lines: string[] = [];

    // The migration fails, because its tables exist.
    await withoutLast(['c', 'home'], async (last) => {
      await expect(open(true, (line) => lines.push(line))).rejects.toThrow();
      expect(lines).toEqual(['migrating the cell c', `applying 1 migration: ${last}`]);
    });
  });

  it('prevents a migration of home by a process that starts while the cell is away', async () => {
    await server.setAway('b', true);
    const lines: string[] = [];

    const reason = await withoutLast(['c', 'home'], () => reasonOf(open(true, (line) => lines.push(line))));

    await server.setAway('b', false);
    expect(reason).toContain('Check url of the cell "b" in CELLS_FILE');
    expect(lines).toEqual([]);
  });
});
