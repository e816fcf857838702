import { World } from './testing/world.js';

const world = new World();

beforeAll(() => world.open());
afterAll(() => world.close());

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

  it('refuses a newer database without a stack', async () => {
    await world.query(`insert into schema_migration (number, name, sha256) values (9999, '9999-later.sql', '')`);

    const { exitCode, stdout, stderr } = await world.run(['migrate']);

    await world.query('delete from schema_migration where number = 9999');
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^The database is newer than this program: it has 9999-later.sql.*\n$/);
  });
});
