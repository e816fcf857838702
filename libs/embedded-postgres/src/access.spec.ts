/* eslint-disable house/plain-words -- "nobody" is the name of a Unix user */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { EmbeddedServerError } from './embedded-server-error.js';
import type { Connection } from './session.js';
import { chooseServerUser, refuseSharedUser } from './server-user.js';
import { queryValue, World } from './testing/world.js';
const world = new World();
afterEach(() => world.end());

const asRoot = process.geteuid?.() === 0;
const itAsRoot: typeof it | typeof it.skip = asRoot ? it : it.skip;
if (!asRoot) console.log('skipped: what only root can try (connecting as another user of this machine)');

/** The user `daemon`, which every system has. */
const DAEMON = 1;
/** The id of no user of this machine. */
const UNUSED = 61_234;

/** The kernel gives the server the effective user of the client at the connect. */
async function whoAmI(connection: Connection, role: string, uid: number): Promise<unknown> {
  const client = new Client({ ...connection, user: role });
  client.on('error', () => undefined);
  process.seteuid!(uid);
  const connected = client.connect();
  process.seteuid!(0);
  await connected;
  const { rows } = await client.query<{ me: string }>('select session_user as me');
  await client.end();
  return rows[0]?.me;
}

describe('an embedded server with a socket that every user can reach', () => {
  itAsRoot('refuses another user of this machine', async () => {
    const server = await world.attach(join(world.folder(), 'data'));
    await queryValue(server.connection.host, 'create role app login');
    for (const path of [server.connection.host, join(server.connection.host, '.s.PGSQL.5432')]) chmodSync(path, 0o777);

    for (const role of ['postgres', 'app']) {
      await expect(whoAmI(server.connection, role, DAEMON)).rejects.toMatchObject({ code: '28000' });
      expect(await whoAmI(server.connection, role, 0)).toBe(role);
      expect(await whoAmI(server.connection, role, chooseServerUser([])!.uid)).toBe(role);
    }
    await server.detach();
  });
});

describe('a database with changed access files', () => {
  it('requires the peer method again after the next start', async () => {
    const dataDir = join(world.folder(), 'data');
    await (await world.attach(dataDir)).detach();
    writeFileSync(join(dataDir, 'database', 'pg_hba.conf'), 'local all all trust\nhost all all all trust\n');
    writeFileSync(join(dataDir, 'database', 'pg_ident.conf'), 'banking /.* all\n');

    const server = await world.attach(dataDir);

    const rules = `select string_agg(type || ' ' || auth_method, ', ') from pg_hba_file_rules`;
    const names = `select count(*)::int from pg_ident_file_mappings where sys_name like '/%'`;
    expect([await queryValue(server.connection.host, rules), await queryValue(server.connection.host, names)]).toEqual([
      'local peer',
      0,
    ]);
    await server.detach();
  });

  it('has links in their place replaced and not followed', async () => {
    const dataDir = join(world.folder(), 'data');
    await (await world.attach(dataDir)).detach();
    const [file, elsewhere] = [join(dataDir, 'database', 'pg_hba.conf'), join(world.folder(), 'precious')];
    writeFileSync(elsewhere, 'precious');
    for (const path of [file, `${file}.${process.pid}`]) {
      rmSync(path, { force: true });
      symlinkSync(elsewhere, path);
    }

    await (await world.attach(dataDir)).detach();

    expect(readFileSync(elsewhere, 'utf8')).toBe('precious');
    expect(lstatSync(file)).toMatchObject({ uid: lstatSync(join(dataDir, 'database')).uid, mode: 0o100600 });
  });
});

describe('root with the user nobody', () => {
  const children: ChildProcess[] = [];
  afterEach(async () => {
    for (const child of children.splice(0)) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });
  const runAs = async (uid: number) => {
    const child = spawn('sleep', ['600'], { uid, gid: uid, stdio: 'ignore', cwd: '/' });
    children.push(child);
    await once(child, 'spawn');
    return child;
  };

  itAsRoot('refuses the user nobody while another program runs as it', async () => {
    const nobody = { name: 'nobody', uid: UNUSED, gid: UNUSED };
    expect(() => refuseSharedUser(nobody)).not.toThrow();

    const { pid } = await runAs(UNUSED);

    expect(() => refuseSharedUser(nobody)).toThrow(EmbeddedServerError);
    expect(() => refuseSharedUser(nobody)).toThrow(
      new RegExp(
        `^The database server would run as nobody, and so does sleep \\(process ${pid}\\), .+: start as an ordinary user, or make a user postgres`,
      ),
    );
    expect(() => refuseSharedUser({ ...nobody, name: 'postgres' })).not.toThrow();
  });

  // If servers run as nobody because no other user exists, this would stop those of other specs.
  (asRoot && chooseServerUser([])?.name !== 'nobody' ? it : it.skip)(
    'starts no server for a database of nobody while another program runs as it',
    async () => {
      const dataDir = world.folder();
      mkdirSync(join(dataDir, 'database'));
      const nobody = 65_534;
      await runAs(nobody);
      chownSync(join(dataDir, 'database'), nobody, nobody);

      await expect(world.attach(dataDir)).rejects.toThrow(
        /^The database server would run as nobody, and so does sleep /,
      );
    },
  );
});
