import { join } from 'node:path';
import { RELEASE } from '@banking/deployment';
import type { MigrationPlan } from '@banking/postgres';
import { printPlan } from './migrate.js';
import { World } from './testing/world.js';

const world = new World();

beforeAll(() => world.open());
afterAll(() => world.close());

describe('banking verify of a database without a schema', () => {
  it('refuses, and creates no books', async () => {
    const { exitCode, stdout, stderr } = await world.run(['verify']);

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain('Run banking migrate first');
    expect(await world.query(`select from pg_namespace where nspname = 'banking'`)).toEqual([]);
  });
});

describe('banking migrate', () => {
  it('applies and names every migration, and creates no data', async () => {
    const { exitCode, stdout, stderr } = await world.run(['migrate']);

    const steps = await world.query('select name from schema_migration order by number');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toBe(
      `Applied ${steps.length} migrations:\n${steps.map(({ name }) => `  ${String(name)}\n`).join('')}`,
    );
    expect(await world.query('select from demo_step')).toEqual([]);
  });

  it('applies nothing to a current schema', async () => {
    expect(await world.run(['migrate'])).toMatchObject({ exitCode: 0, stdout: 'The schema is up to date.\n' });
    expect(await world.json('migrate')).toEqual({ applied: [] });
  });

  it('plans without a change', async () => {
    const [last] = await world.query(
      'delete from schema_migration where number = (select max(number) from schema_migration) returning *',
    );

    const { exitCode, stdout } = await world.run(['migrate', '--plan']);
    const plan = await world.json('migrate', '--plan');

    await world.query(
      'insert into schema_migration select * from jsonb_populate_record(null::schema_migration, $1)',
      last,
    );
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringContaining(String(last?.['name'])) as string,
    });
    expect(plan).toMatchObject({ pending: [{ name: last?.['name'] }], connected: [] });
    expect(await world.run(['migrate', '--plan'])).toMatchObject({
      stdout: expect.stringMatching(/ lacks nothing /) as string,
    });
  });

  it('refuses to ignore older processes in a plan', async () => {
    expect(await world.run(['migrate', '--plan', '--ignore-older-processes'])).toMatchObject({
      exitCode: 2,
      stdout: '',
    });
  });

  it.each(['LATIN1', 'SQL_ASCII'])(
    'refuses the encoding %s with the exit code of a wrong setting',
    async (encoding) => {
      const name = `encoding_${encoding.toLowerCase()}`;
      const options = `encoding '${encoding}' template template0 locale_provider libc lc_collate 'C' lc_ctype 'C'`;
      await world.query(`create database ${name} ${options}`);
      const [row] = await world.query('select current_user as login');
      const folder = encodeURIComponent(join(world.dataDir, 'socket'));
      const DATABASE_URL = `postgres://${String(row?.['login'])}@localhost/${name}?host=${folder}`;

      const { exitCode, stdout, stderr } = await world.run(['migrate'], { DATABASE_URL, SANDBOX: 'on' });

      expect({ exitCode, stdout, stderr }).toEqual({
        ...{ exitCode: 2, stdout: '' },
        stderr: expect.stringMatching(
          /^The configuration has a mistake:\n {2}- .+ENCODING 'UTF8'.+ DATABASE_URL\.\n$/,
        ) as string,
      });
    },
  );

  it('refuses a newer database without a stack', async () => {
    await world.query(`insert into schema_migration (number, name, sha256) values (9999, '9999-later.sql', '')`);

    const { exitCode, stdout, stderr } = await world.run(['migrate']);

    await world.query('delete from schema_migration where number = 9999');
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^The database is newer than this program: it has 9999-later.sql.*\n$/);
  });
});

describe('the plan of a migration', () => {
  const PLAN: MigrationPlan = {
    isNew: false,
    pending: [
      { name: '0046-runs.sql', phase: undefined },
      { name: '0047-notes.sql', phase: { name: 'expand' } },
      { name: '0048-no-names.sql', phase: { name: 'contract', since: '1.2.0' } },
    ],
    connected: [
      { release: '1.1.0', connections: 8 },
      { release: '1.2.0', connections: 1 },
    ],
  };

  function printed(plan: MigrationPlan, asJson = false): string {
    let text = '';
    const write = jest.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
      text += String(chunk);
      return true;
    });
    printPlan(plan, asJson);
    write.mockRestore();
    return text;
  }

  it('states what each migration means for running processes', () => {
    const lines = printed(PLAN).split('\n');

    expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
      ['Migration', 'Phase', 'Running processes'],
      ['0046-runs.sql', 'baseline', 'stop every process first'],
      ['0047-notes.sql', 'expand', 'go on'],
      ['0048-no-names.sql', 'contract', 'refused: stop release 1.1.0 (8 connections)'],
      [''],
      ['Connected: release 1.1.0 (8 connections), release 1.2.0 (one connection).'],
      [''],
    ]);
  });

  it('lets processes go on that a contract migration does not break', () => {
    expect(printed({ ...PLAN, connected: [{ release: '1.2.0', connections: 1 }] })).toContain(
      'go on from release 1.2.0',
    );
  });

  it('has no processes to stop for a new database', () => {
    expect(printed({ ...PLAN, isNew: true, connected: [] })).not.toContain('stop');
  });

  it('states that nothing is pending', () => {
    expect(printed({ ...PLAN, pending: [] })).toBe(`Release ${RELEASE} lacks nothing in this database.\n`);
  });

  it('is a JSON document for programs', () => {
    expect(JSON.parse(printed(PLAN, true))).toEqual({
      release: RELEASE,
      pending: [
        { name: '0046-runs.sql', phase: 'baseline' },
        { name: '0047-notes.sql', phase: 'expand' },
        { name: '0048-no-names.sql', phase: 'contract', since: '1.2.0' },
      ],
      connected: PLAN.connected,
    });
  });
});
