import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyDeployment } from '@banking/books-proof';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { readDemoBookings } from '@banking/operations/demo';
import { API_ROLE, type ConnectionOptions, SCHEMA, SERVICE_ROLES } from '@banking/postgres';
import { administer, copyDataDirTemplate, openDatabase } from '@banking/postgres/testing';
import { addCell } from '../cells/add-cell.js';
import type { MoveOptions } from '../cells/move-workspace.js';
import { addressOf } from '../cells/subscription.js';
import { qualified, tablesOfWorkspace } from '../cells/tables-of-workspace.js';
import type { CellServer } from './cell-server.js';

/** Home and the cell `b`, each with a server of its own. */
export interface MoveWorld extends CellServer {
  /** The settings of a command. The time in which a workspace may be closed does not depend on this machine. */
  command(workspaceId: number): Omit<MoveOptions, 'to'>;
  /** The rows of a workspace in a database, by table. */
  rowsOf(cell: string, workspaceId: number): Promise<Readonly<Record<string, readonly string[]>>>;
  /** What moves have left behind in a database: publications, subscriptions, slots, and the states of workspaces. */
  leftovers(cell: string): Promise<readonly string[]>;
  /** Ends the connections of commands, as if their process was killed. */
  killCommands(): Promise<void>;
}

const LEFTOVERS = `
  select 'publication ' || pubname as name from pg_publication where pubname like 'banking_move%'
  union all select 'subscription ' || subname from pg_subscription where subname like 'banking_move%'
  union all select 'slot ' || slot_name from pg_replication_slots where slot_name like '%banking_move%'
  union all select state || ' ' || workspace_id from cell_workspace where state <> 'open'`;

/** The logins of `deploy/postgres/logins.sql` that a move uses, and that of `homeUrl`, each with the rights that docs/cells.md lists. */
const DOCUMENTED_LOGINS = `
  create role migrator login noinherit replication;
  grant banking_owner, banking_api, banking_worker, banking_verifier, banking_operator, banking_provisioning to migrator;
  alter database home owner to migrator;
  create role copier login replication bypassrls;
  grant usage on schema banking to copier;
  grant select on all tables in schema banking to copier`;

/**
 * @param hasLogins whether commands use logins with the documented rights at home. Default: a superuser, as in the other database, where
 *   PostgreSQL lets other logins subscribe only with a password
 */
export async function moveWorld(hasLogins = false): Promise<MoveWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'banking-move-'));
  await chmod(folder, 0o755);
  const names = ['home', 'b'];
  const servers = new Map<string, EmbeddedServer>();
  const connectionOf = (name: string): ConnectionOptions => ({ ...servers.get(name)!.connection, database: 'home' });
  const loginTo = (name: string, user: string): ConnectionOptions =>
    hasLogins && name === 'home' ? { ...connectionOf(name), user } : connectionOf(name);
  const ownerOf = (name: string) => loginTo(name, 'migrator');
  const addressTo = (name: string) => addressOf(loginTo(name, 'copier'));
  const urlOf = (name: string) => {
    const { host, port, user } = servers.get(name)!.connection;
    return `postgres://${user}@localhost:${port}/home?host=${encodeURIComponent(host)}`;
  };
  const close = async () => {
    for (const server of [...servers.values()].reverse()) await server.detach();
    await rm(folder, { recursive: true, force: true });
  };
  const add = (name: string) =>
    addCell({
      ...{ name, home: ownerOf('home'), cell: connectionOf(name), homeAddress: addressTo('home') },
      isSandbox: true,
    });
  try {
    for (const name of names) {
      const dataDir = join(folder, name);
      await mkdir(dataDir);
      await copyDataDirTemplate(dataDir, 'migrated');
      servers.set(name, await attachEmbeddedServer({ dataDir, isReplicated: true }));
    }
    if (hasLogins) await administer(connectionOf('home'), (client) => client.query(DOCUMENTED_LOGINS));
    await add('b');
  } catch (error) {
    // The spec has no world to close.
    await close();
    throw error;
  }
  const query = <Row extends object>(name: string, text: string): Promise<Row[]> =>
    administer(connectionOf(name), async (client) => {
      await client.query('set search_path = banking');
      return (await client.query(text)).rows as Row[];
    });
  const verify: MoveOptions['verify'] = async (database, workspaceId) => {
    const home = await openDatabase({ connection: connectionOf('home'), role: API_ROLE, schema: SCHEMA, poolSize: 1 });
    const bookedWithoutOrder = await readDemoBookings(home).finally(() => home.end());
    const { findings } = await verifyDeployment(database, [workspaceId], { isWhole: false, bookedWithoutOrder });
    return findings.map(({ check, detail }) => `${check}: ${detail}`);
  };
  return {
    names,
    connectionOf,
    settings: {
      databaseUrl: urlOf('home'),
      cells: [{ name: 'b', databaseUrl: urlOf('b'), dataDir: '/nowhere' }],
      dataDir: '/nowhere',
      isSandbox: true,
      isService: true,
      roles: SERVICE_ROLES,
    },
    query,
    setAway: () => Promise.reject(new Error('not for these servers')),
    add,
    command: (workspaceId) => ({
      ...{ workspaceId, operatingSystemUser: 'spec', windowMs: 120_000, connectionOf: ownerOf, verify },
      addressOf: addressTo,
    }),
    rowsOf: (cell, workspaceId) =>
      administer(connectionOf(cell), async (client) => {
        const session = { query: async (text: string) => (await client.query(text)).rows };
        const rows: Record<string, readonly string[]> = {};
        for (const { name, condition, compared } of await tablesOfWorkspace(session as never)) {
          const { rows: found } = await client.query<{ row: string }>(
            `select row (${compared.join(', ')})::text as row from ${qualified(name)} where ${condition(workspaceId)} order by 1`,
          );
          rows[name] = found.map(({ row }) => row);
        }
        return rows;
      }),
    leftovers: async (cell) => (await query<{ name: string }>(cell, LEFTOVERS)).map(({ name }) => name).sort(),
    async killCommands() {
      for (const name of names) {
        await query(
          name,
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'banking-admin'`,
        );
      }
    },
    close,
  };
}
