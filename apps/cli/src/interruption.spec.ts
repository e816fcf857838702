import { World, ended } from './testing/world.js';

const world = new World();

beforeAll(async () => {
  await world.openDemo();
});
afterAll(() => world.close());

describe('the interruption of a command', () => {
  it.each([
    ['SIGINT', 130, ['app', 'list'], 'app'],
    ['SIGTERM', 143, ['app', 'list'], 'app'],
    ['SIGHUP', 129, ['verify'], 'transfer'],
  ] as const)('leaves the server after %s and exits with code %d', async (signal, code, args, table) => {
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
    expect(await world.holders()).toBe(1);
  });

  it('succeeds if the reader closes the pipe early', async () => {
    const command = world.start(['verify']);
    command.stdout!.destroy();

    const [exitCode, stderr] = await new Promise<[number | null, string]>((done) => {
      let said = '';
      command.stderr!.on('data', (chunk: Buffer) => (said += chunk.toString()));
      command.once('close', (exit) => done([exit, said]));
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(await world.holders()).toBe(1);
  });
});

describe('a command without a reachable database', () => {
  it('reports one sentence without a stack', async () => {
    const environment = { DATABASE_URL: 'postgres://stranger:secret@127.0.0.1:1/none', SANDBOX: 'on' };
    const { exitCode, stdout, stderr } = await world.run(['app', 'list'], environment);

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^.*database.*\n$/);
    expect(stderr).not.toContain('secret');
  });
});
