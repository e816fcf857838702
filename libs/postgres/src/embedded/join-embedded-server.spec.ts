import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ask, isServed, serverOf, until, World } from './testing/world.js';

jest.setTimeout(90_000);
const world = new World();
afterEach(() => world.end());

describe('Given an empty DATA_DIR', () => {
  it('When it is joined, left and joined again, Then the data is still there and no server was left between', async () => {
    const dataDir = join(world.folder(), 'a', 'data');

    const first = await world.join(dataDir);
    await ask(first.connection.host, 'create table kept as select 1250 as amount');
    await first.leave();
    const between = isServed(dataDir);
    const second = await world.join(dataDir);

    expect([first.started, second.started, between]).toEqual([true, true, false]);
    expect(await ask(second.connection.host, 'select amount from kept')).toBe(1250);
    await second.leave();
    expect(isServed(dataDir)).toBe(false);
  });

  it('When two processes join at once, Then one starts the server and both have it', async () => {
    const dataDir = join(world.folder(), 'data');
    const [one, other] = [world.process(dataDir), world.process(dataDir)];

    const joined = await Promise.all([one.hears('joined'), other.hears('joined')]);

    expect(joined.map(({ started }) => started).sort()).toEqual([false, true]);
    expect(joined[0]?.host).toBe(joined[1]?.host);
    expect(namesIn(dataDir)).toEqual(['database', 'run', 'server.log', 'socket']);
    await Promise.all([one.leave(), other.leave()]);
    expect(isServed(dataDir)).toBe(false);
  });

  it('When the server runs, Then it keeps what it promised and listens on no port', async () => {
    const server = await world.join(join(world.folder(), 'data'));
    const setting = (name: string) => ask(server.connection.host, `select current_setting('${name}')`);

    for (const name of ['fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums']) {
      expect([name, await setting(name)]).toEqual([name, 'on']);
    }
    expect(await setting('listen_addresses')).toBe('');
    expect(await ask(server.connection.host, 'select count(*)::int from pg_hba_file_rules')).toBe(1);
    expect(await ask(server.connection.host, "select type || ' ' || auth_method from pg_hba_file_rules")).toBe(
      'local peer',
    );
    if (process.platform === 'linux') expect(await listeningSockets(server.connection.host)).toBe(0);
    await server.leave();
  });

  it('When a statement fails, Then nothing of it stands in the log', async () => {
    const dataDir = join(world.folder(), 'data');
    const server = await world.join(dataDir);

    await expect(ask(server.connection.host, "select 'Ada Lovelace'::int")).rejects.toThrow('Ada Lovelace');

    await server.leave();
    expect(readFileSync(join(dataDir, 'server.log'), 'utf8')).not.toContain('Ada');
  });
});

describe('Given a service that uses the server', () => {
  it('When a command joins and leaves, Then the server stays; when the service leaves too, Then it stops', async () => {
    const dataDir = join(world.folder(), 'data');
    const service = await world.join(dataDir);

    const command = world.process(dataDir);
    expect((await command.hears('joined')).started).toBe(false);
    await command.leave();

    expect(await ask(service.connection.host, 'select 1')).toBe(1);
    await service.leave();
    await service.leave();
    expect(isServed(dataDir)).toBe(false);
  });

  it('When it leaves before a command does, Then the command keeps the server and stops it', async () => {
    const dataDir = join(world.folder(), 'data');
    const service = await world.join(dataDir);
    const command = world.process(dataDir);
    await command.hears('joined');

    await service.leave();

    expect(await ask(service.connection.host, 'select 1')).toBe(1);
    await command.leave();
    expect(isServed(dataDir)).toBe(false);
  });

  it('When it is killed, Then the next one takes the server over, and stops it on leaving', async () => {
    const dataDir = join(world.folder(), 'data');
    const killed = world.process(dataDir);
    await killed.hears('joined');
    await killed.kill();
    const orphan = serverOf(dataDir);

    const next = await world.join(dataDir);

    expect(next.started).toBe(false);
    expect(serverOf(dataDir)).toEqual(orphan);
    expect(readdirSync(join(dataDir, 'run')).filter((name) => name.startsWith('holder-'))).toHaveLength(1);
    await next.leave();
    expect(isServed(dataDir)).toBe(false);
  });

  it.each([
    ['takes the lock', (names: Names) => names.run.includes('lock')],
    ['makes the database', (names: Names) => names.home.some((name) => name.startsWith('database-half-'))],
    ['starts the server', (names: Names) => names.run.includes('server')],
  ])('When it is killed while it %s, Then the next one gets a server all the same', async (_when, condition) => {
    const dataDir = join(world.folder(), 'data');
    const killed = world.process(dataDir);
    await until(() => condition({ home: namesIn(dataDir), run: namesIn(join(dataDir, 'run')) }));
    await killed.kill();

    const next = await world.join(dataDir);

    expect(await ask(next.connection.host, 'select 1')).toBe(1);
    expect(namesIn(dataDir)).toEqual(['database', 'run', 'server.log', 'socket']);
    await next.leave();
    expect(namesIn(join(dataDir, 'run'))).toEqual(['server']);
    expect(isServed(dataDir)).toBe(false);
  });

  it('When the terminal sends Ctrl-C to its process group, Then the server is not in it', async () => {
    const dataDir = join(world.folder(), 'data');
    const service = await world.join(dataDir);

    const groupOf = (pid: number) => readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ')[2];

    if (process.platform === 'linux') expect(groupOf(serverOf(dataDir)?.pid ?? 0)).not.toBe(groupOf(process.pid));
    await service.leave();
  });
});

describe('Given a server that is killed', () => {
  it('When it is in use, Then it is started again at the same place, with all that was committed', async () => {
    const dataDir = join(world.folder(), 'data');
    const lines: string[] = [];
    const service = await world.join(dataDir, (line) => lines.push(line));
    await ask(service.connection.host, 'create table kept as select 7 as amount');
    const killed = serverOf(dataDir);

    process.kill(killed?.pid ?? 0, 'SIGKILL');
    await until(() => lines.some((line) => line.startsWith('the database server runs again')));

    expect(serverOf(dataDir)).not.toEqual(killed);
    expect(await ask(service.connection.host, 'select amount from kept')).toBe(7);
    await service.leave();
    expect(isServed(dataDir)).toBe(false);
  });

  it('When its user was killed too, Then the next start recovers it', async () => {
    const dataDir = join(world.folder(), 'data');
    const service = world.process(dataDir);
    const { host = '' } = await service.hears('joined');
    await ask(host, 'create table kept as select 7 as amount');
    await service.kill();
    process.kill(serverOf(dataDir)?.pid ?? 0, 'SIGKILL');

    const next = await world.join(dataDir);

    expect(next.started).toBe(true);
    expect(await ask(next.connection.host, 'select amount from kept')).toBe(7);
    await next.leave();
  });
});

interface Names {
  readonly home: readonly string[];
  readonly run: readonly string[];
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

/** How many of the postmaster's descriptors are TCP sockets that listen (state 0A in /proc/net/tcp). */
async function listeningSockets(host: string): Promise<number> {
  const dataDir = String(await ask(host, "select current_setting('data_directory')"));
  const pid = readFileSync(join(dataDir, 'postmaster.pid'), 'latin1').split('\n')[0] ?? '';
  const inodes = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
    } catch {
      return [];
    }
  });
  return ['tcp', 'tcp6']
    .filter((name) => existsSync(`/proc/net/${name}`))
    .flatMap((name) => readFileSync(`/proc/net/${name}`, 'latin1').trim().split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === '0A' && inodes.includes(fields[9] ?? '')).length;
}
