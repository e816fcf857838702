import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { EmbeddedServerError, explainFileError } from './embedded-server-error.js';
import { isAlive } from './process-identity.js';
import { isServed, serverOf, World, type UserIds } from './testing/world.js';

jest.setTimeout(90_000);
const world = new World();
afterEach(() => world.end());

const root = process.geteuid?.() === 0;
/** The user `daemon`, whom every system has and no test server runs as. */
const ordinary: UserIds | undefined = root ? { uid: 1, gid: 1 } : undefined;

describe('Given a DATA_DIR that cannot be used', () => {
  it('When it is a file, Then that is what it says', async () => {
    const dataDir = join(world.folder(), 'data');
    writeFileSync(dataDir, 'not a folder');

    await expect(world.join(dataDir)).rejects.toThrow(/is a file: set DATA_DIR to a folder/);
    await expect(world.join(join(dataDir, 'below'))).rejects.toThrow(EmbeddedServerError);
  });

  it('When it may not be written, Then it says so', async () => {
    const folder = world.folder();
    chmodSync(folder, 0o555);

    const refused = await world.process(join(folder, 'data'), ordinary).hears('refused');

    expect(refused.text).toMatch(/^EmbeddedServerError: DATA_DIR .* cannot be written \(EACCES/);
  });

  (process.platform === 'linux' ? it : it.skip)('When no folder can ever be made there, Then it says so', async () => {
    await expect(world.join('/proc/banking')).rejects.toThrow(EmbeddedServerError);
  });

  it('When its run folder leads elsewhere, Then it is not followed', async () => {
    const [dataDir, elsewhere] = [world.folder(), world.folder()];
    symlinkSync(elsewhere, join(dataDir, 'run'));

    await expect(world.join(dataDir)).rejects.toThrow(/belongs to another user or is open to others/);
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it('When its database is of another major version, Then it says which and what to do', async () => {
    const dataDir = world.folder();
    mkdirSync(join(dataDir, 'database'));
    writeFileSync(join(dataDir, 'database', 'PG_VERSION'), '17\n');

    await expect(world.join(dataDir)).rejects.toThrow(/made by PostgreSQL 17, and this is PostgreSQL 18: .*pg_upgrade/);
    expect(readdirSync(join(dataDir, 'run'))).toEqual([]);
  });

  it.each(['', 'garbage'])('When the version of its database reads %j, Then it is called damaged', async (version) => {
    const dataDir = world.folder();
    mkdirSync(join(dataDir, 'database'));
    writeFileSync(join(dataDir, 'database', 'PG_VERSION'), version);

    await expect(world.join(dataDir)).rejects.toThrow(/is damaged \(its PG_VERSION names no version\): put a backup/);
  });

  it.each(['run', 'socket'])(
    'When a file is in the place of its folder %s, Then that is what it says',
    async (name) => {
      const dataDir = world.folder();
      writeFileSync(join(dataDir, name), '');

      await expect(world.join(dataDir)).rejects.toThrow(
        `${join(dataDir, name)} is a file where a folder has to be: move it`,
      );
    },
  );

  it('When a folder or a link is in the place of its log, Then that is what it says', async () => {
    const dataDir = world.folder();
    mkdirSync(join(dataDir, 'server.log'));

    await expect(world.join(dataDir)).rejects.toThrow(/server\.log is a folder where a file has to be: move it away/);

    rmSync(join(dataDir, 'server.log'), { recursive: true });
    symlinkSync(join(dataDir, 'elsewhere'), join(dataDir, 'server.log'));
    await expect(world.join(dataDir)).rejects.toThrow(/server\.log is a link where a file has to be: move it away/);
  });

  it('When its database is none, Then it is not touched', async () => {
    const dataDir = world.folder();
    mkdirSync(join(dataDir, 'database'));
    writeFileSync(join(dataDir, 'database', 'letters.txt'), 'mine');

    await expect(world.join(dataDir)).rejects.toThrow(/is no PostgreSQL database/);
    expect(readdirSync(join(dataDir, 'database'))).toEqual(['letters.txt']);
  });

  it.each([
    ['its control file cut short', (database: string) => truncateSync(join(database, 'global', 'pg_control'), 10)],
    ['its log of writes gone', (database: string) => rmSync(join(database, 'pg_wal'), { recursive: true })],
    // With these it starts, and then can not take a connection.
    ['its tables gone', (database: string) => rmSync(join(database, 'base'), { recursive: true })],
    ['its map of files gone', (database: string) => rmSync(join(database, 'global', 'pg_filenode.map'))],
    ['its catalogue overwritten', overwriteTables],
  ])('When its database has %s, Then the last words of PostgreSQL are given', async (_damage, damage) => {
    const dataDir = join(world.folder(), 'data');
    await (await world.join(dataDir)).leave();
    damage(join(dataDir, 'database'));

    const refused = world.join(dataDir);

    await expect(refused).rejects.toThrow(EmbeddedServerError);
    await expect(refused).rejects.toThrow(
      /does not start with the database in .* move it away[\s\S]*(FATAL|PANIC|postgres: )/,
    );
    expect(isServed(dataDir)).toBe(false);
  });
});

describe('Given what a killed server left', () => {
  it('When its number is borne by another process now, Then the server starts all the same', async () => {
    const dataDir = join(world.folder(), 'data');
    const killed = world.process(dataDir, undefined);
    await killed.hears('joined');
    await killed.kill();
    process.kill(serverOf(dataDir)?.pid ?? 0, 'SIGKILL');
    const stranger = world.process(join(world.folder(), 'other'));
    await stranger.hears('joined');
    reuseNumber(join(dataDir, 'database'), stranger.child.pid ?? 0);

    const next = await world.join(dataDir);

    expect(next.started).toBe(true);
    await next.leave();
    await stranger.leave();
  });

  it('When a power cut emptied postmaster.pid, Then the server starts all the same', async () => {
    const dataDir = join(world.folder(), 'data');
    await (await world.join(dataDir)).leave();
    writeFileSync(join(dataDir, 'database', 'postmaster.pid'), '');

    const next = await world.join(dataDir);

    expect(next.started).toBe(true);
    await next.leave();
  });
});

describe('Given a DATA_DIR that is removed while the server is in use', () => {
  it('When the server is left, Then it is stopped all the same', async () => {
    const folder = world.folder();
    const service = await world.join(join(folder, 'data'));
    const server = serverOf(join(folder, 'data'));
    rmSync(join(folder, 'data'), { recursive: true });

    await service.leave();

    expect(server && isAlive(server)).toBe(false);
  });
});

describe('Given an error of the file system', () => {
  it('When the disk is full, Then it says what to free; when it is none, Then it stays what it was', () => {
    const full = Object.assign(new Error('write'), { code: 'ENOSPC' });
    const other = new Error('a bug');

    expect((explainFileError(full, '/data') as Error).message).toBe(
      'The disk under /data is full: free at least 200 MB and start again, or set DATA_DIR to a folder on another disk.',
    );
    expect(explainFileError(other, '/data')).toBe(other);
  });
});

/** Puts noise over the beginning of every table and index, which PostgreSQL notices by its checksums. */
function overwriteTables(database: string): void {
  for (const base of readdirSync(join(database, 'base'))) {
    for (const name of readdirSync(join(database, 'base', base)).filter((one) => /^\d+$/.test(one))) {
      const file = join(database, 'base', base, name);
      const content = readFileSync(file);
      writeFileSync(file, content.fill(0x5a, 0, Math.min(4096, content.length)));
    }
  }
}

function reuseNumber(database: string, pid: number): void {
  const path = join(database, 'postmaster.pid');
  const [, ...rest] = readFileSync(path, 'latin1').split('\n');
  writeFileSync(path, [String(pid), ...rest].join('\n'));
}
