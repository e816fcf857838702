import { existsSync, readdirSync, readFileSync, readlinkSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { isRunning } from './server.js';
import { until } from './testing/until.js';
import { queryValue, isServed, serverOf, World } from './testing/world.js';
const world = new World();
afterEach(() => world.end());
afterAll(() => world.removeTemplate());

describe('an empty DATA_DIR', () => {
  it('has one server for two processes that attach at once', async () => {
    const dataDir = join(world.folder(), 'a', 'data');
    const [one, other] = [world.process(dataDir), world.process(dataDir)];

    const attached = await Promise.all([one.waitFor('attached'), other.waitFor('attached')]);

    expect(attached.map(({ started }) => started).sort()).toEqual([false, true]);
    expect(attached[0]?.host).toBe(attached[1]?.host);
    expect(namesIn(dataDir)).toEqual(['database', 'server.log', 'socket']);
    await Promise.all([one.detach(), other.detach()]);
    expect(isServed(dataDir)).toBe(false);
  });

  it('gets a database also by a process that gets Ctrl-C meanwhile', async () => {
    const dataDir = world.folder();
    const one = world.process(dataDir);
    // Before, initdb tries settings, and takes an interrupted server for one that does not start with them.
    const isBegun = (name: string) => /^database/.test(name) && existsSync(join(dataDir, name, 'global', 'pg_control'));
    await until(() => readdirSync(dataDir).some(isBegun));

    process.kill(-one.child.pid!, 'SIGINT');

    await one.waitFor('attached');
    await one.detach();
  });
});

describe('a DATA_DIR with a database', () => {
  it('keeps its data and has no server between two processes', async () => {
    const dataDir = await world.stoppedDataDir();

    const first = await world.attach(dataDir);
    await queryValue(first.connection.host, 'create table kept as select 1250 as amount');
    await first.detach();
    const between = isServed(dataDir);
    const second = await world.attach(dataDir);

    expect([first.started, second.started, between]).toEqual([true, true, false]);
    expect(await queryValue(second.connection.host, 'select amount from kept')).toBe(1250);
    await second.detach();
    expect(isServed(dataDir)).toBe(false);
  });

  it('has one server, which the last process stops, also where its database is behind a link', async () => {
    const dataDir = await world.stoppedDataDir();
    const elsewhere = join(world.folder(), 'elsewhere');
    renameSync(join(dataDir, 'database'), elsewhere);
    symlinkSync(elsewhere, join(dataDir, 'database'));
    const processes = [1, 2].map(() => world.process(dataDir));

    const attached = await Promise.all(processes.map((one) => one.waitFor('attached')));

    expect(attached.map(({ started }) => started).sort()).toEqual([false, true]);
    expect(isRunning({ database: join(dataDir, 'database') })).toBe(true);
    await Promise.all(processes.map((one) => one.detach()));
    expect(isServed(dataDir)).toBe(false);
  });

  it('has a server with durable commits that listens on no port, logs no failed statement, and gets no Ctrl-C', async () => {
    const dataDir = await world.stoppedDataDir();
    const server = await world.attach(dataDir);
    const setting = (name: string) => queryValue(server.connection.host, `select current_setting('${name}')`);

    for (const name of ['fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums']) {
      expect([name, await setting(name)]).toEqual([name, 'on']);
    }
    expect([await setting('shared_buffers'), await setting('max_wal_size')]).toEqual(['256MB', '2GB']);
    expect(await setting('listen_addresses')).toBe('');
    expect(await queryValue(server.connection.host, 'select count(*)::int from pg_hba_file_rules')).toBe(1);
    expect(await queryValue(server.connection.host, "select type || ' ' || auth_method from pg_hba_file_rules")).toBe(
      'local peer',
    );
    if (process.platform === 'linux') {
      expect(await listeningSockets(server.connection.host)).toBe(0);
      // Ctrl-C reaches the process group.
      expect(groupOf(serverOf(dataDir) ?? 0)).not.toBe(groupOf(process.pid));
    }
    await expect(queryValue(server.connection.host, "select 'Ada Lovelace'::int")).rejects.toThrow('Ada Lovelace');
    await server.detach();
    expect(readFileSync(join(dataDir, 'server.log'), 'utf8')).not.toContain('Ada');
  });
});

describe('a service that uses the server', () => {
  it('keeps the server while a command attaches and detaches, attaches again when its session was ended, and stops the server as the last process', async () => {
    const dataDir = await world.stoppedDataDir();
    const lines: string[] = [];
    const service = await world.attach(dataDir, (line) => lines.push(line));
    const sessions = `from pg_stat_activity where application_name = 'embedded server'`;

    const command = world.process(dataDir);
    expect((await command.waitFor('attached')).started).toBe(false);
    await command.detach();
    expect(await queryValue(service.connection.host, 'select 1')).toBe(1);

    await queryValue(service.connection.host, `select pg_terminate_backend(pid, 5000) ${sessions}`);
    await until(async () => (await queryValue(service.connection.host, `select count(*)::int ${sessions}`)) === 1);
    await service.detach();
    await service.detach();
    expect([lines, isServed(dataDir)]).toEqual([[], false]);
  });

  it('leaves the server to a command that detaches later', async () => {
    const dataDir = await world.stoppedDataDir();
    const service = await world.attach(dataDir);
    const command = world.process(dataDir);
    await command.waitFor('attached');

    await service.detach();

    expect(await queryValue(service.connection.host, 'select 1')).toBe(1);
    await command.detach();
    expect(isServed(dataDir)).toBe(false);
  });

  it('leaves the server to the next process when it is killed', async () => {
    const dataDir = await world.stoppedDataDir();
    const killed = world.process(dataDir);
    await killed.waitFor('attached');
    await killed.kill();
    const orphan = serverOf(dataDir);

    const next = await world.attach(dataDir);

    expect(next.started).toBe(false);
    expect(serverOf(dataDir)).toEqual(orphan);
    await next.detach();
    expect(isServed(dataDir)).toBe(false);
  });

  it.each([
    [
      'makes the database',
      () => join(world.folder(), 'data'),
      (dataDir: string) => namesIn(dataDir).some((name) => name.startsWith('database-half-')),
    ],
    ['starts the server', () => world.stoppedDataDir(), isServed],
  ])('does not prevent the next start when it is killed while it %s', async (_when, folder, condition) => {
    const dataDir = await folder();
    const killed = world.process(dataDir);
    await until(() => condition(dataDir));
    await killed.kill();

    const next = await world.attach(dataDir);

    expect(await queryValue(next.connection.host, 'select 1')).toBe(1);
    expect(namesIn(dataDir)).toEqual(['database', 'server.log', 'socket']);
    await next.detach();
    expect(isServed(dataDir)).toBe(false);
  });
});

describe('a server that is killed', () => {
  it('is started again with all commits while a process uses it', async () => {
    const dataDir = await world.stoppedDataDir();
    const lines: string[] = [];
    const service = await world.attach(dataDir, (line) => lines.push(line));
    await queryValue(service.connection.host, 'create table kept as select 7 as amount');
    const killed = serverOf(dataDir);

    process.kill(killed ?? 0, 'SIGKILL');
    await until(() => lines.includes('the database server had ended while in use, and runs again'));

    expect(serverOf(dataDir)).not.toEqual(killed);
    expect(await queryValue(service.connection.host, 'select amount from kept')).toBe(7);
    await service.detach();
    expect(isServed(dataDir)).toBe(false);
  });

  it('recovers at the next start when its process was killed too', async () => {
    const dataDir = await world.stoppedDataDir();
    const service = world.process(dataDir);
    const { host = '' } = await service.waitFor('attached');
    await queryValue(host, 'create table kept as select 7 as amount');
    await service.kill();
    process.kill(serverOf(dataDir) ?? 0, 'SIGKILL');

    const next = await world.attach(dataDir);

    expect(next.started).toBe(true);
    expect(await queryValue(next.connection.host, 'select amount from kept')).toBe(7);
    await next.detach();
  });
});

/** The process group of a process, on Linux. */
const groupOf = (pid: number) => readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ')[2];

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

/** How many of the postmaster's descriptors are TCP sockets that listen (state 0A in /proc/net/tcp). */
async function listeningSockets(host: string): Promise<number> {
  const dataDir = String(await queryValue(host, "select current_setting('data_directory')"));
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
