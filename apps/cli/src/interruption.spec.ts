import { World, ended } from './testing/world.js';

const world = new World();

beforeAll(async () => {
  await world.open();
  await world.json('app', 'list');
});
afterAll(() => world.close());

describe('Given a command beside a running service', () => {
  it.each([
    ['SIGINT', 130, ['app', 'list'], 'app'],
    ['SIGTERM', 143, ['app', 'list'], 'app'],
    ['SIGHUP', 129, ['verify'], 'transfer'],
  ] as const)(
    'When %s comes while it waits, Then it lets go of the server and ends with %d',
    async (signal, code, args, table) => {
      await world.query('begin');
      await world.query(`lock table ${table}`);
      const command = world.start(args);
      const end = ended(command);
      for (let isWaiting = false; !isWaiting;) {
        const waiting = await world.query(`select from pg_locks where relation = $1::regclass and not granted`, table);
        isWaiting = waiting.length > 0;
      }

      command.kill(signal);
      const { exitCode, stdout, stderr } = await end;
      await world.query('rollback');

      expect({ exitCode, stdout, stderr }).toEqual({ exitCode: code, stdout: '', stderr: `Stopped by ${signal}.\n` });
      expect(world.holders()).toBe(1);
    },
  );

  it('When its reader has seen enough, Then that is no failure', async () => {
    const command = world.start(['verify']);
    command.stdout!.destroy();

    const [exitCode, stderr] = await new Promise<[number | null, string]>((done) => {
      let said = '';
      command.stderr!.on('data', (chunk: Buffer) => (said += chunk.toString()));
      command.once('close', (exit) => done([exit, said]));
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(world.holders()).toBe(1);
  });
});

describe('Given a database that cannot be reached', () => {
  it('When a command runs, Then the sentence stands alone', async () => {
    const environment = { DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/none', SANDBOX: 'on' };
    const { exitCode, stdout, stderr } = await world.run(['app', 'list'], environment);

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^.*database.*\n$/);
    expect(stderr).not.toContain('secret');
  });
});
