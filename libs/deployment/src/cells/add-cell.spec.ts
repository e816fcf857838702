import { isDeepStrictEqual } from 'node:util';
import { READ_SLOTS } from '@banking/operations';
import { API_ROLE, bind, RULE_VIOLATION, SCHEMA } from '@banking/postgres';
import { administer, reasonOf, until, openDatabase } from '@banking/postgres/testing';
import { openDeployment } from '../open-deployment.js';
import { type CellServer, cellServer } from '../testing/cell-server.js';
import { type CellPlace, Cells, settingsOf } from './cells.js';
import { CELLS_MAX, firstAbove } from './step-sequences.js';

let server: CellServer;
const numbers = new Map<string, number>([['home', 0]]);

/** Of home before it had cells. */
const LAST_TRANSFER = 1_000;

beforeAll(async () => {
  server = await cellServer(['b', 'c', 'used'], ['b']);
  await server.query('home', `insert into app (name) values ('Before')`);
  await server.query('home', `insert into workspace (app_id, name) values (1, 'Early')`);
  await server.query('home', `select setval('transfer_id_seq', ${LAST_TRANSFER})`);
  for (const name of ['b', 'c']) numbers.set(name, await server.add(name));
});
afterAll(() => server.close());

const column = async <T>(cell: string, text: string): Promise<T[]> =>
  (await server.query<{ value: T }>(cell, text)).map(({ value }) => value);

/** Polls until a copy has what home has. */
const eventually = <T>(read: () => Promise<T>, expected: T) =>
  until(read, (value) => isDeepStrictEqual(value, expected));

describe('the directory of a cell', () => {
  it('is a copy of that of home from before, and follows each change', async () => {
    const apps = (cell: string) => column(cell, 'select name as value from app order by name');
    const roles = (cell: string) => column(cell, `select role as value from workspace_role order by id`);
    for (const cell of ['b', 'c']) expect(await apps(cell)).toEqual(['Before']);

    await server.query('home', `insert into app (name) values ('Later')`);
    await server.query('home', `insert into app_user (id, email) values (1, 'mia@harbour.example')`);
    await server.query('home', `insert into workspace_role (workspace_id, user_id, role) values (1, 1, 'viewer')`);
    for (const cell of ['b', 'c']) {
      await eventually(() => apps(cell), ['Before', 'Later']);
      await eventually(() => roles(cell), ['viewer']);
    }
    await server.query('home', `update workspace_role set role = 'member'`);
    for (const cell of ['b', 'c']) await eventually(() => roles(cell), ['member']);
    await server.query('home', 'delete from app_user');
    for (const cell of ['b', 'c']) await eventually(() => roles(cell), []);
  });

  it('has its trail at home only', async () => {
    const entries = (cell: string) => column<number>(cell, 'select count(*)::int as value from directory_change');

    expect((await entries('home'))[0]).toBeGreaterThan(0);
    for (const cell of ['b', 'c']) expect(await entries(cell)).toEqual([0]);
  });

  it('is written at home only', async () => {
    for (const text of [
      `insert into app (name) values ('Elsewhere')`,
      `update workspace set name = 'Elsewhere'`,
      'delete from workspace_place',
      `insert into account_place (code, workspace_id) values ('X', 1)`,
    ]) {
      await expect(server.query('b', text)).rejects.toMatchObject({ code: RULE_VIOLATION.directoryCopy });
    }
  });
});

describe('a workspace', () => {
  const open = (cell: string) =>
    column<string>(cell, 'select workspace_id::text as value from cell_workspace order by workspace_id');

  it('from before the first cell is in home', async () => {
    expect(await open('home')).toEqual(['1']);
    for (const cell of ['b', 'c']) expect(await open(cell)).toEqual([]);
  });

  it('is open in the cell that it is placed in', async () => {
    await server.query('home', `insert into workspace (id, app_id, name) values (640, 1, 'Placed')`);
    await server.query('home', 'insert into workspace_place (workspace_id, cell_number) values (640, 1)');

    await eventually(() => open('b'), ['640']);
    await eventually(() => column('c', 'select workspace_id::int as value from workspace_place order by 1'), [1, 640]);
    expect(await open('c')).toEqual([]);
    expect(await open('home')).toEqual(['1']);
  });
});

describe('the ids of a cell', () => {
  it('have its number as their remainder, of each sequence', async () => {
    for (const [cell, number] of numbers) {
      const names = await column<string>(
        cell,
        `select sequencename as value from pg_sequences where schemaname = 'banking'`,
      );
      expect(names.length).toBeGreaterThan(15);
      for (const name of names) {
        const ids = await column<bigint>(
          cell,
          `select nextval('${name}') % ${CELLS_MAX} as value from generate_series(1, 3)`,
        );
        expect([cell, name, ids.map(Number)]).toEqual([cell, name, [number, number, number]]);
      }
    }
  });

  it('begin above those that home gave before it had cells', async () => {
    for (const cell of numbers.keys()) {
      const [id] = await column<bigint>(cell, `select nextval('transfer_id_seq') as value`);
      expect(Number(id)).toBeGreaterThan(LAST_TRANSFER);
    }
  });

  it.each([
    [0n, 0, 64n],
    [0n, 1, 1n],
    [1n, 1, 65n],
    [1_000n, 63, 1_023n],
    [1_024n, 0, 1_088n],
  ])('continue above %d in cell %d at %d', (value, number, first) => {
    expect(firstAbove(value, number)).toBe(first);
  });
});

describe('a cell', () => {
  it('signs cursors with the key of home', async () => {
    const key = (cell: string) => column<string>(cell, `select encode(key, 'hex') as value from seal`);

    for (const cell of ['b', 'c']) expect(await key(cell)).toEqual(await key('home'));
  });

  it('has a slot at home that every process may see, and that is its own', async () => {
    const connection = server.connectionOf('home');
    const database = await openDatabase({ connection, role: API_ROLE, schema: SCHEMA, poolSize: 1 });
    const read = async () => (await database.pipeline({}, [bind(READ_SLOTS)] as const))[0];

    await eventually(
      async () => (await read()).map(({ cell, is_active: isActive }) => [cell, isActive]),
      [
        ['b', true],
        ['c', true],
      ],
    );
    for (const slot of await read()) expect(slot).toMatchObject({ is_lost: false });
    await server.query('home', `insert into cell (number, name) values (9, 'without')`);
    expect((await read()).at(-1)).toEqual({
      cell: 'without',
      slot: null,
      is_active: false,
      is_lost: true,
      behind: null,
      retained: null,
    });
    await server.query('home', 'delete from cell where number = 9');
    await database.end();
  });

  it('stays as it is when it is added again', async () => {
    const facts = async () => [
      await column('b', 'select number as value from cell_identity'),
      await column('home', 'select name as value from cell order by number'),
      await column('b', 'select increment_by as value from pg_sequences order by sequencename'),
    ];
    const before = await facts();

    expect(await server.add('b')).toBe(1);
    expect(await facts()).toEqual(before);
  });

  it('is not made of a database with data', async () => {
    await server.query('used', `insert into app (name) values ('Other')`);

    expect(await reasonOf(server.add('used'))).toMatch(/^The database of the cell "used" has data already/);
    await server.query('used', 'delete from app');
    expect(await server.add('used')).toBe(3);
  });
});

describe('a process', () => {
  const start = async (settings: Parameters<typeof openDeployment>[0]) => (await openDeployment(settings)).close();
  const cellOf = (name: string) => server.settings.cells.find((cell) => cell.name === name)!;

  it('closes every database if it cannot be set up for one of them', async () => {
    const make = (_: unknown, place?: CellPlace) => {
      if (place?.name === 'c') throw new Error('not set up');
      return {};
    };

    await expect(Cells.open(server.settings, make)).rejects.toThrow('not set up');

    const left = `select application_name as value from pg_stat_activity where application_name like 'banking %'`;
    await eventually(() => column('home', left), []);
  });

  it('serves a cell that is configured by its name', async () => {
    await start(server.settings);
    await start(settingsOf(server.settings, cellOf('b')));
  });

  it('does not open a cell whose directory is not copied yet', async () => {
    const connection = server.connectionOf('c');
    const change = (text: string) =>
      administer(connection, (client) => client.query(`set session_replication_role = replica; ${text}`));
    await change(`delete from banking.cell where name = 'c'`);

    expect(await reasonOf(start(settingsOf(server.settings, cellOf('c'))))).toMatch(
      /^The cell "c" is not complete yet/,
    );

    await change(`insert into banking.cell (number, name) values (2, 'c')`);
    await start(settingsOf(server.settings, cellOf('c')));
  });

  it('names the cell whose login may not take on its role', async () => {
    await server.query('b', 'create role stranger login; grant banking_verifier to stranger');
    const b = { ...cellOf('b'), databaseUrl: cellOf('b').databaseUrl!.replace(/\/\/[^@]+@/, '//stranger@') };
    const cells = server.settings.cells.map((cell) => (cell.name === 'b' ? b : cell));
    const open = Cells.open({ ...server.settings, cells }, () => ({}));

    expect(await reasonOf(open)).toMatch(/^The cell "b": The login "stranger" may not act as "banking_api"/);
  });

  it('does not start with fewer or other cells than there are', async () => {
    const { cells } = server.settings;
    const alone = { ...server.settings, cells: undefined };
    const less = { ...server.settings, cells: cells.slice(1) };
    const more = { ...server.settings, cells: [...cells, { ...cellOf('b'), name: 'd' }] };
    const other = settingsOf(server.settings, { ...cellOf('b'), name: 'c' });

    expect(await reasonOf(start(alone))).toMatch(/^The database is the cell "home" of a deployment with several/);
    expect(await reasonOf(start(less))).toMatch(/^The configuration lacks b of the cells/);
    expect(await reasonOf(start(more))).toMatch(/^The deployment has no cell d yet\. Run banking cell add d/);
    expect(await reasonOf(start(other))).toMatch(/configured as the cell "c" and is the cell "b"/);
  });
});
