import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPackage, provideBinaries } from './binaries.js';
import { chooseServerUser } from './server-user.js';
import { ask, isServed, World, type UserIds } from './testing/world.js';

jest.setTimeout(90_000);
const world = new World();
afterEach(() => world.end());

const asRoot = process.geteuid?.() === 0;
/** The user `daemon`, whom every system has and no test server runs as. */
const ordinary: UserIds | undefined = asRoot ? { uid: 1, gid: 1 } : undefined;
/** Root's cases need root; a run as somebody else says what it leaves out. */
const itAsRoot: typeof it | typeof it.skip = asRoot ? it : it.skip;
if (!asRoot) console.log('skipped: what only root can try (the server as another user, private homes)');

describe('Given a DATA_DIR with a long path', () => {
  it('When it is joined, Then the socket is in a short private folder, which stays the same', async () => {
    const dataDir = join(world.folder(), 'a'.repeat(60), 'b'.repeat(60));

    const first = await world.join(dataDir);
    await first.leave();
    const second = await world.join(dataDir);

    expect(Buffer.byteLength(join(first.connection.host, '.s.PGSQL.5432'))).toBeLessThanOrEqual(103);
    expect(lstatSync(first.connection.host).mode & 0o777).toBe(0o700);
    expect(second.connection.host).toBe(first.connection.host);
    await second.leave();
  });

  it('When the short folder is open to others or gone, Then it is not used, or made again', async () => {
    const dataDir = join(world.folder(), 'a'.repeat(60), 'b'.repeat(60));
    const first = await world.join(dataDir);
    await first.leave();
    rmSync(first.connection.host, { recursive: true });

    const second = await world.join(dataDir);
    await second.leave();
    chmodSync(first.connection.host, 0o777);
    const third = await world.join(dataDir);

    expect(second.connection.host).toBe(first.connection.host);
    expect(third.connection.host).not.toBe(first.connection.host);
    await third.leave();
    rmSync(first.connection.host, { recursive: true });
  });
});

describe('Given a DATA_DIR whose path has spaces, quotes and commas', () => {
  it('When it is joined, Then there is a server', async () => {
    const server = await world.join(join(world.folder(), `it's a "bank", really`));

    expect(await ask(server.connection.host, 'select 1')).toBe(1);
    await server.leave();
  });
});

describe('Given an ordinary user', () => {
  it('When it joins, Then the server runs as that user and every folder is private', async () => {
    const dataDir = join(world.folder(ordinary), 'data');
    const uid = ordinary?.uid ?? process.geteuid?.();

    const service = world.process(dataDir, ordinary);
    const joined = await service.hears('joined');

    expect(joined.started).toBe(true);
    for (const name of ['.', 'run', 'database', 'socket']) {
      const stat = lstatSync(join(dataDir, name));
      expect([name, stat.uid, stat.mode & 0o777]).toEqual([name, uid, 0o700]);
    }
    await service.leave();
    expect(isServed(dataDir)).toBe(false);
  });

  itAsRoot('When root joins beside it, Then they share the server, and what root leaves is still usable', async () => {
    const dataDir = join(world.folder(ordinary), 'data');
    const service = world.process(dataDir, ordinary);
    await service.hears('joined');

    const root = await world.join(dataDir);
    await service.leave();
    expect(await ask(root.connection.host, 'select 1')).toBe(1);
    await root.leave();
    const again = await world.join(dataDir);
    await again.leave();
    const last = world.process(dataDir, ordinary);

    expect([root.started, again.started, (await last.hears('joined')).started]).toEqual([false, true, true]);
    await last.leave();
  });

  itAsRoot("When the DATA_DIR is root's, Then it is told so", async () => {
    const dataDir = join(world.folder(), 'data');
    await (await world.join(dataDir)).leave();

    const refused = await world.process(dataDir, ordinary).hears('refused');

    expect(refused.text).toMatch(/^EmbeddedServerError: .*(belongs to another user|cannot be written)/);
  });
});

describe('Given root', () => {
  itAsRoot('When it joins, Then the server runs as postgres or nobody, without groups', async () => {
    const dataDir = join(world.folder(), 'data');
    const server = await world.join(dataDir);

    const pid = readFileSync(join(dataDir, 'database', 'postmaster.pid'), 'latin1').split('\n')[0] ?? '';
    const user = chooseServerUser([]);

    expect(lstatSync(join(dataDir, 'database')).uid).toBe(user?.uid);
    expect(lstatSync(join(dataDir, 'run')).uid).toBe(0);
    if (process.platform === 'linux') {
      const status = readFileSync(`/proc/${pid}/status`, 'latin1');
      expect(status).toMatch(new RegExp(`^Uid:\\s${user?.uid}\\s`, 'm'));
      expect(status).toMatch(/^Groups:\s*$/m);
    }
    await server.leave();
  });

  itAsRoot(
    'When DATA_DIR is below a private home, Then the database is in a system folder and is kept there',
    async () => {
      const home = world.folder();
      chmodSync(home, 0o700);
      const dataDir = join(home, '.data');
      const lines: string[] = [];

      const first = await world.join(dataDir, (line) => lines.push(line));
      await ask(first.connection.host, 'create table kept as select 7 as amount');
      await first.leave();
      const second = await world.join(dataDir);

      expect(lines.join()).toMatch(/cannot enter .*: the database is kept in \/var\/(lib|db)\/banking-\w+ instead/);
      expect(await ask(second.connection.host, 'select amount from kept')).toBe(7);
      await second.leave();
      expect(isServed(dataDir)).toBe(false);
    },
  );

  itAsRoot(
    'When such a DATA_DIR is copied or its system folder is gone, Then no other database is used for it',
    async () => {
      const home = world.folder();
      chmodSync(home, 0o700);
      const dataDir = join(home, '.data');
      await (await world.join(dataDir)).leave();
      cpSync(dataDir, join(home, 'copy'), { recursive: true, verbatimSymlinks: true });
      chmodSync(join(home, 'copy', 'run'), 0o700);

      await expect(world.join(join(home, 'copy'))).rejects.toThrow(/seems to be a copy/);
      rmSync(join(home, 'copy'), { recursive: true });
      rmSync(readFileSync(join(dataDir, 'database-folder'), 'utf8').trim(), { recursive: true });
      await expect(world.join(dataDir)).rejects.toThrow(/which is gone: bring it back/);
    },
  );
});

describe("Given PostgreSQL's programs", () => {
  const installed = findPackage();

  /** As `npm ci --ignore-scripts` leaves them: without the links. */
  const withoutLinks = (folder: string) => {
    const native = join(folder, 'native');
    cpSync(installed.native, native, { recursive: true, filter: (path) => !lstatSync(path).isSymbolicLink() });
    return { ...installed, native };
  };
  const runs = (program: string, user?: UserIds) => spawnSync(program, ['--version'], { ...user, cwd: '/' }).status;

  it('When their links were never made, Then they are made in place', () => {
    const [folder, home] = [world.folder(), world.folder()];
    const found = withoutLinks(folder);
    expect(runs(join(found.native, 'bin', 'initdb'))).not.toBe(0);

    const user = chooseServerUser([]);
    const binaries = provideBinaries(found, [home], user, () => undefined);

    expect(binaries.initdb).toBe(join(found.native, 'bin', 'initdb'));
    expect(runs(binaries.initdb, user && { uid: user.uid, gid: user.gid })).toBe(0);
    expect(readdirSync(home)).toEqual([]);
  });

  it('When they lie in a folder that is read-only, Then a copy gets the links', () => {
    const [folder, home] = [world.folder(), world.folder(ordinary)];
    const found = withoutLinks(folder);
    chmodSync(join(found.native, 'lib'), 0o555);

    const script = `
      const { provideBinaries } = require(${JSON.stringify(join(world.installation(ordinary), 'dist/embedded/binaries.js'))});
      console.log(provideBinaries(${JSON.stringify(found)}, ${JSON.stringify([home])}, undefined, () => {}).initdb);`;
    const { stdout } = spawnSync(process.execPath, ['-e', script], { ...ordinary, cwd: '/', encoding: 'utf8' });
    chmodSync(join(found.native, 'lib'), 0o755);

    expect(stdout.trim()).toBe(join(home, `banking-postgres-${installed.version}`, 'bin', 'initdb'));
  });

  itAsRoot('When they lie below a private home, Then they are copied once, whatever the umask was', () => {
    const [folder, home] = [world.folder(), world.folder()];
    const found = withoutLinks(folder);
    chmodSync(found.native, 0o700);
    const user = chooseServerUser([]);
    const lines: string[] = [];

    const first = provideBinaries(found, [home], user, (line) => lines.push(line));
    const second = provideBinaries(found, [home], user, (line) => lines.push(line));

    expect(second).toEqual(first);
    expect(lines).toHaveLength(1);
    expect(readdirSync(home)).toEqual([`banking-postgres-${installed.version}`]);
    expect(lstatSync(join(home, `banking-postgres-${installed.version}`)).mode & 0o022).toBe(0);
  });

  itAsRoot("When the place of the copy is somebody else's, Then it is not run", () => {
    const [folder, home] = [world.folder(), world.folder()];
    const found = withoutLinks(folder);
    chmodSync(found.native, 0o700);
    mkdirSync(join(home, `banking-postgres-${installed.version}`));
    chmodSync(join(home, `banking-postgres-${installed.version}`), 0o777);

    expect(() => provideBinaries(found, [home], chooseServerUser([]), () => undefined)).toThrow(
      /open to others: remove it/,
    );
  });

  it('When they do not run here at all, Then it says to set DATABASE_URL', () => {
    const [folder, home] = [world.folder(), world.folder()];
    mkdirSync(join(folder, 'native', 'bin'), { recursive: true });
    for (const name of ['initdb', 'postgres']) {
      writeFileSync(join(folder, 'native', 'bin', name), '#!/bin/sh\necho wrong machine >&2; exit 1\n', {
        mode: 0o755,
      });
    }

    const provide = () =>
      provideBinaries({ ...installed, native: join(folder, 'native') }, [home], undefined, () => undefined);

    expect(provide).toThrow(
      /do not run on this system \(wrong machine\): set DATABASE_URL to a PostgreSQL 15 or later/,
    );
    expect(readdirSync(home)).toEqual([`banking-postgres-${installed.version}`]);
  });
});
