/* eslint-disable house/plain-words -- "nobody" is the name of a Unix user */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPackage, provideBinaries } from './binaries.js';
import { chooseServerUser } from './server-user.js';
import { queryValue, isServed, World, type UserIds } from './testing/world.js';
const world = new World();
afterEach(() => world.end());

const asRoot = process.geteuid?.() === 0;
/** The user `daemon`, which every system has and no test server runs as. */
const ordinary: UserIds | undefined = asRoot ? { uid: 1, gid: 1 } : undefined;
/** The cases of root need root; a run as another user logs what it skips. */
const itAsRoot: typeof it | typeof it.skip = asRoot ? it : it.skip;
if (!asRoot) console.log('skipped: what only root can try (the server as another user, private homes)');

describe('a DATA_DIR with a long path', () => {
  it('has its socket in a short private folder, the same at every start', async () => {
    const dataDir = join(world.folder(), 'a'.repeat(60), 'b'.repeat(60));

    const first = await world.attach(dataDir);
    await first.detach();
    const { host } = first.connection;
    rmSync(host, { recursive: true });
    const second = await world.attach(dataDir);
    await second.detach();

    expect(Buffer.byteLength(join(host, '.s.PGSQL.5432'))).toBeLessThanOrEqual(103);
    expect([second.connection.host, lstatSync(host).mode & 0o777]).toEqual([host, 0o700]);
    chmodSync(host, 0o777);
    await expect(world.attach(dataDir)).rejects.toThrow(`${host} belongs to another user or is open to others`);
    rmSync(host, { recursive: true });
  });
});

describe('a DATA_DIR with spaces, quotes and commas in its path', () => {
  it('has a server', async () => {
    const server = await world.attach(join(world.folder(), `it's a "bank", really`));

    expect(await queryValue(server.connection.host, 'select 1')).toBe(1);
    await server.detach();
  });
});

describe('an ordinary user', () => {
  it('has a server that runs as that user, with private folders', async () => {
    const dataDir = join(world.folder(ordinary), 'data');
    const uid = ordinary?.uid ?? process.geteuid?.();

    const service = world.process(dataDir, ordinary);
    const attached = await service.waitFor('attached');

    expect(attached.started).toBe(true);
    for (const name of ['.', 'database', 'socket']) {
      const stat = lstatSync(join(dataDir, name));
      expect([name, stat.uid, stat.mode & 0o777]).toEqual([name, uid, 0o700]);
    }
    await service.detach();
    expect(isServed(dataDir)).toBe(false);
  });

  itAsRoot('shares the server with root, and can use it after root', async () => {
    const dataDir = join(world.folder(ordinary), 'data');
    const service = world.process(dataDir, ordinary);
    await service.waitFor('attached');

    const root = await world.attach(dataDir);
    await service.detach();
    expect(await queryValue(root.connection.host, 'select 1')).toBe(1);
    await root.detach();
    const again = await world.attach(dataDir);
    await again.detach();
    const last = world.process(dataDir, ordinary);

    expect([root.started, again.started, (await last.waitFor('attached')).started]).toEqual([false, true, true]);
    await last.detach();
  });

  itAsRoot('is refused in a DATA_DIR of root', async () => {
    const dataDir = join(world.folder(), 'data');
    await (await world.attach(dataDir)).detach();

    const refused = await world.process(dataDir, ordinary).waitFor('refused');

    expect(refused.text).toMatch(/^EmbeddedServerError: .*(belongs to another user|cannot be written)/);
  });
});

describe('root', () => {
  itAsRoot('has a server that runs as postgres or nobody, without groups', async () => {
    const dataDir = join(world.folder(), 'data');
    const server = await world.attach(dataDir);

    const pid = readFileSync(join(dataDir, 'database', 'postmaster.pid'), 'latin1').split('\n')[0] ?? '';
    const user = chooseServerUser([]);

    expect(lstatSync(join(dataDir, 'database')).uid).toBe(user?.uid);
    if (process.platform === 'linux') {
      const status = readFileSync(`/proc/${pid}/status`, 'latin1');
      expect(status).toMatch(new RegExp(`^Uid:\\s${user?.uid}\\s`, 'm'));
      expect(status).toMatch(/^Groups:\s*$/m);
    }
    await server.detach();
  });

  itAsRoot('uses the folders of a process that was killed before it gave them away', async () => {
    const dataDir = join(world.folder(), 'data');
    mkdirSync(dataDir, { mode: 0o711 });
    mkdirSync(join(dataDir, 'socket'), { mode: 0o700 });

    const server = await world.attach(dataDir);

    expect(lstatSync(server.connection.host).uid).toBe(chooseServerUser([])?.uid);
    await server.detach();
  });

  itAsRoot('is refused below a folder that the user of the server cannot enter, and leaves nothing there', async () => {
    const home = world.folder();
    mkdirSync(join(home, 'checkout'));
    chmodSync(home, 0o700);

    await expect(world.attach(join(home, 'checkout', '.data'))).rejects.toThrow(
      new RegExp(`^PostgreSQL refuses to run as root, .* cannot enter ${home}: .* \\(chmod o\\+x ${home}\\)`),
    );
    expect(readdirSync(join(home, 'checkout'))).toEqual([]);
  });
});

describe("PostgreSQL's programs", () => {
  const installed = findPackage();

  /** As `npm ci --ignore-scripts` leaves them: without the links. */
  const withoutLinks = (folder: string) => {
    const native = join(folder, 'native');
    cpSync(installed.native, native, { recursive: true, filter: (path) => !lstatSync(path).isSymbolicLink() });
    return { ...installed, native };
  };
  const runs = (program: string, user?: UserIds) => spawnSync(program, ['--version'], { ...user, cwd: '/' }).status;

  it('get their missing links in place', () => {
    const [folder, home] = [world.folder(), world.folder()];
    const found = withoutLinks(folder);
    expect(runs(join(found.native, 'bin', 'initdb'))).not.toBe(0);

    const user = chooseServerUser([]);
    const binaries = provideBinaries(found, home, user, () => undefined);

    expect(binaries.initdb).toBe(join(found.native, 'bin', 'initdb'));
    expect(runs(binaries.initdb, user && { uid: user.uid, gid: user.gid })).toBe(0);
    expect(readdirSync(home)).toEqual([]);
  });

  it('are copied with their links from a read-only folder', () => {
    const [folder, home] = [world.folder(), world.folder(ordinary)];
    const found = withoutLinks(folder);
    chmodSync(join(found.native, 'lib'), 0o555);

    const script = `
      const { provideBinaries } = require(${JSON.stringify(join(world.installation(ordinary), 'dist/binaries.js'))});
      console.log(provideBinaries(${JSON.stringify(found)}, ${JSON.stringify(home)}, undefined, () => {}).initdb);`;
    const { stdout } = spawnSync(process.execPath, ['-e', script], { ...ordinary, cwd: '/', encoding: 'utf8' });
    chmodSync(join(found.native, 'lib'), 0o755);

    expect(stdout.trim()).toBe(join(home, `banking-postgres-${installed.version}`, 'bin', 'initdb'));
  });

  itAsRoot('are copied once from a private home, with any umask', () => {
    const [folder, home] = [world.folder(), world.folder()];
    const found = withoutLinks(folder);
    chmodSync(found.native, 0o700);
    const user = chooseServerUser([]);
    const lines: string[] = [];

    const first = provideBinaries(found, home, user, (line) => lines.push(line));
    const second = provideBinaries(found, home, user, (line) => lines.push(line));

    expect(second).toEqual(first);
    expect(lines).toHaveLength(1);
    expect(readdirSync(home)).toEqual([`banking-postgres-${installed.version}`]);
    expect(lstatSync(join(home, `banking-postgres-${installed.version}`)).mode & 0o022).toBe(0);
  });

  itAsRoot('are not run from a folder of another user', () => {
    const [folder, home] = [world.folder(), world.folder()];
    const found = withoutLinks(folder);
    chmodSync(found.native, 0o700);
    mkdirSync(join(home, `banking-postgres-${installed.version}`));
    chmodSync(join(home, `banking-postgres-${installed.version}`), 0o777);

    expect(() => provideBinaries(found, home, chooseServerUser([]), () => undefined)).toThrow(
      /open to others: remove it/,
    );
  });

  it('are refused with the advice to set DATABASE_URL when they do not run', () => {
    const [folder, home] = [world.folder(), world.folder()];
    mkdirSync(join(folder, 'native', 'bin'), { recursive: true });
    for (const name of ['initdb', 'postgres']) {
      writeFileSync(join(folder, 'native', 'bin', name), '#!/bin/sh\necho wrong machine >&2; exit 1\n', {
        mode: 0o755,
      });
    }

    const provide = () =>
      provideBinaries({ ...installed, native: join(folder, 'native') }, home, undefined, () => undefined);

    expect(provide).toThrow(
      /do not run on this system \(wrong machine\): set DATABASE_URL to a PostgreSQL 15 or later/,
    );
    expect(readdirSync(home)).toEqual([`banking-postgres-${installed.version}`]);
  });
});
