import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ReplicaServer, until } from '@banking/embedded-postgres/testing';
import { Client } from 'pg';
import { Database } from './database.js';
import { sql } from './testing/sql.js';

const PROGRAMS = '/usr/lib/postgresql/15/bin';
const isMissing = !existsSync(join(PROGRAMS, 'postgres'));
// The name of a skipped test says why it is skipped. CI has the package.
const note = isMissing ? ', skipped: there is no PostgreSQL 15' : '';
const reads = isMissing && process.env['CI'] !== 'true' ? it.skip : it;

describe(`a list on a replica of PostgreSQL 15${note}`, () => {
  let root: string;
  let primary: ChildProcess;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'banking-reads-15-'));
    chmodSync(root, 0o711);
  });
  afterEach(async () => {
    if (primary?.exitCode === null) {
      primary.kill('SIGQUIT');
      await once(primary, 'exit');
    }
    rmSync(root, { recursive: true, force: true });
  });

  reads('shows every acknowledged write, also while the replay is paused and after a promotion', async () => {
    const connection = await startPrimary();
    const owner = new Client(connection);
    await owner.connect();
    await owner.query(
      `create role reader login; alter role reader set search_path = public; create table note (id int);
       grant select, insert on note to reader; revoke create, temporary on database postgres from public`,
    );
    const replica = await ReplicaServer.of(connection, { max_connections: '100' });
    const database = await Database.open({
      connection: { ...connection, user: 'reader' },
      ...{ acquireTimeoutMs: 20_000, statementTimeoutMs: 20_000 },
      replica: { connection: { ...replica.connection, user: 'reader' } },
    });
    const readNotes = sql<{ count: number; at_replica: boolean }>(
      'select count(*)::int as count, pg_is_in_recovery() as at_replica from note',
    );
    const read = async () => (await database.readPipeline({}, [readNotes] as const))[0][0]!;
    const add = () => database.write({}, [sql('insert into note values (1)')]);
    try {
      for (let count = 1; count <= 20; count += 1) {
        await add();
        expect((await read()).count).toBe(count);
      }
      expect(await until(read, ({ at_replica }) => at_replica)).toMatchObject({ count: 20 });

      await replica.pause();
      await add();
      expect(await read()).toEqual({ count: 21, at_replica: false });

      await replica.resume();
      await replica.promote();
      await replica.query('truncate note');
      expect(await read()).toEqual({ count: 21, at_replica: false });
    } finally {
      await database.end();
      await replica.remove();
      await owner.end();
    }
  });

  async function startPrimary(): Promise<Connection> {
    const owner = process.geteuid?.() === 0 ? serverUser() : undefined;
    const folder = join(root, 'primary');
    mkdirSync(folder);
    if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
    const data = join(folder, 'data');
    const initdb = ['-D', data, '-U', 'postgres', '--auth=trust', '-E', 'UTF8', '--locale=C'];
    execFileSync(join(PROGRAMS, 'initdb'), initdb, { ...owner, cwd: folder, stdio: 'ignore' });
    const settings = ['-c', 'listen_addresses=', '-c', `unix_socket_directories=${folder}`, '-p', '5432'];
    const options = { ...owner, cwd: folder, stdio: 'ignore' } as const;
    primary = spawn(join(PROGRAMS, 'postgres'), ['-D', data, ...settings], options);
    const connection = { host: folder, port: 5432, user: 'postgres', database: 'postgres', ssl: false } as const;
    await until(
      async () => {
        const client = new Client(connection);
        const [outcome] = await Promise.allSettled([client.connect()]);
        await client.end().catch(() => undefined);
        return outcome;
      },
      ({ status }) => status === 'fulfilled',
    );
    return connection;
  }
});

type Connection = Parameters<typeof ReplicaServer.of>[0];

/** The user of the package, because PostgreSQL refuses to run as root. */
function serverUser(): { readonly uid: number; readonly gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith('postgres:'));
  const [, , uid, gid] = line?.split(':') ?? [];
  if (uid === undefined) throw new Error('there is no user postgres: run as another user than root');
  return { uid: Number(uid), gid: Number(gid) };
}
