import {
  chmodSync,
  chownSync,
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
import { isServed, serverOf, World, type UserIds } from './testing/world.js';
const world = new World();
afterEach(() => world.end());
afterAll(() => world.removeTemplate());

const root = process.geteuid?.() === 0;
/** The user `daemon`, which every system has and no test server runs as. */
const ordinary: UserIds | undefined = root ? { uid: 1, gid: 1 } : undefined;

describe('a DATA_DIR that cannot be used', () => {
  it('is refused when it is a file', async () => {
    const dataDir = join(world.folder(), 'data');
    writeFileSync(dataDir, 'not a folder');

    for (const wanted of [dataDir, join(dataDir, 'below')]) {
      await expect(world.attach(wanted)).rejects.toThrow(
        `DATA_DIR ${wanted} cannot be a folder, because ${dataDir} is a file: set DATA_DIR to a folder, or move the file away.`,
      );
    }
  });

  it('is refused without the permission to write', async () => {
    const folder = world.folder();
    chmodSync(folder, 0o555);

    const refused = await world.process(join(folder, 'data'), ordinary).waitFor('refused');

    expect(refused.text).toMatch(/^EmbeddedServerError: DATA_DIR .* cannot be written \(EACCES/);
  });

  (process.platform === 'linux' ? it : it.skip)('is refused where no folder can be made', async () => {
    await expect(world.attach('/proc/banking')).rejects.toThrow(
      'DATA_DIR /proc/banking cannot be made (ENOENT at /proc/banking): set DATA_DIR to a folder elsewhere.',
    );
  });

  it('is refused when its log is a link', async () => {
    const dataDir = await world.stoppedDataDir();
    rmSync(join(dataDir, 'server.log'));
    symlinkSync(join(world.folder(), 'another-file'), join(dataDir, 'server.log'));

    await expect(world.attach(dataDir)).rejects.toThrow('server.log is no file. Remove it, and start again.');
  });

  (root ? it : it.skip)('is refused when its database belongs to another user, as after a copy', async () => {
    const dataDir = await world.stoppedDataDir();
    const file = join(dataDir, 'database', 'global', 'pg_control');
    chownSync(file, 0, 0);
    chmodSync(file, 0o600);

    await expect(world.attach(dataDir)).rejects.toThrow(`${file} belongs to another user than the server runs as.`);
    await expect(world.attach(dataDir)).rejects.toThrow(/give it back \(chown -R \w+ /);
  });

  it('is refused when its socket folder is a link', async () => {
    const [dataDir, elsewhere] = [world.folder(), world.folder()];
    symlinkSync(elsewhere, join(dataDir, 'socket'));

    await expect(world.attach(dataDir)).rejects.toThrow(/belongs to another user or is open to others/);
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it('is refused with a database of another major version', async () => {
    const dataDir = world.folder();
    mkdirSync(join(dataDir, 'database'));
    writeFileSync(join(dataDir, 'database', 'PG_VERSION'), '17\n');

    await expect(world.attach(dataDir)).rejects.toThrow(
      /made by PostgreSQL 17, and this is PostgreSQL 18: .*pg_upgrade/,
    );
  });

  it.each(['', 'garbage'])('is refused as damaged with the version %j', async (version) => {
    const dataDir = world.folder();
    mkdirSync(join(dataDir, 'database'));
    writeFileSync(join(dataDir, 'database', 'PG_VERSION'), version);

    await expect(world.attach(dataDir)).rejects.toThrow(/is damaged \(its PG_VERSION names no version\): put a backup/);
  });

  it('is refused with a file instead of its folder of the socket', async () => {
    const dataDir = world.folder();
    writeFileSync(join(dataDir, 'socket'), '');

    await expect(world.attach(dataDir)).rejects.toThrow(/socket is a file where a folder has to be: move it away/);
  });

  it('is refused without a change when its database folder has no database', async () => {
    const dataDir = world.folder();
    mkdirSync(join(dataDir, 'database'));
    writeFileSync(join(dataDir, 'database', 'letters.txt'), 'mine');

    await expect(world.attach(dataDir)).rejects.toThrow(/is no PostgreSQL database/);
    expect(readdirSync(join(dataDir, 'database'))).toEqual(['letters.txt']);
  });

  it.each([
    ['its control file cut short', (database: string) => truncateSync(join(database, 'global', 'pg_control'), 10)],
    // With these settings it starts, and then accepts no connection.
    ['its tables gone', (database: string) => rmSync(join(database, 'base'), { recursive: true })],
    ['its catalogue overwritten', overwriteTables],
  ])('is refused with the log of PostgreSQL when its database has %s', async (_damage, damage) => {
    const dataDir = await world.stoppedDataDir();
    damage(join(dataDir, 'database'));

    const refused = world.attach(dataDir);

    await expect(refused).rejects.toThrow(EmbeddedServerError);
    await expect(refused).rejects.toThrow(
      /does not start with the database in .* move it away[\s\S]*(FATAL|PANIC|postgres: )/,
    );
    expect(isServed(dataDir)).toBe(false);
  });
});

describe('the files of a killed server', () => {
  it('do not prevent a start when another process has its number', async () => {
    const dataDir = await world.stoppedDataDir();
    const killed = world.process(dataDir, undefined);
    await killed.waitFor('attached');
    await killed.kill();
    process.kill(serverOf(dataDir) ?? 0, 'SIGKILL');
    const stranger = world.process(await world.stoppedDataDir());
    await stranger.waitFor('attached');
    reuseNumber(join(dataDir, 'database'), stranger.child.pid ?? 0);

    const next = await world.attach(dataDir);

    expect(next.started).toBe(true);
    await next.detach();
    await stranger.detach();
  });

  it('do not prevent a start when a power failure has emptied postmaster.pid', async () => {
    const dataDir = await world.stoppedDataDir();
    writeFileSync(join(dataDir, 'database', 'postmaster.pid'), '');

    const next = await world.attach(dataDir);

    expect(next.started).toBe(true);
    await next.detach();
  });
});

describe('explainFileError', () => {
  it('explains a full disk and returns any other error unchanged', () => {
    const full = Object.assign(new Error('write'), { code: 'ENOSPC' });
    const other = new Error('unhandled');

    expect((explainFileError(full, '/data') as Error).message).toBe(
      'The disk under /data is full: free at least 200 MB and start again, or set DATA_DIR to a folder on another disk.',
    );
    expect(explainFileError(other, '/data')).toBe(other);
  });
});

/** Overwrites the beginning of every table and index, which PostgreSQL detects by its checksums. */
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
