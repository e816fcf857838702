import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { type ConnectionOptions, SERVICE_ROLES } from '@banking/postgres';
import { administer, copyDataDirTemplate } from '@banking/postgres/testing';
import type { CellConfig } from '@banking/process';
import { addCell } from '../cells/add-cell.js';
import type { DeploymentSettings } from '../open-deployment.js';
import { Relay } from './relay.js';
import { addressOf } from '../cells/subscription.js';

/** A server with a database for each cell of a deployment. The specs run as its superuser. */
export interface CellServer {
  readonly names: readonly string[];
  connectionOf(name: string): ConnectionOptions;
  /** The settings of a process of the deployment. */
  readonly settings: DeploymentSettings & { readonly cells: readonly CellConfig[] };
  query<Row extends object>(name: string, text: string): Promise<Row[]>;
  /** Ends the connections of processes to a database and refuses new ones, or accepts them again. */
  setAway(name: string, isAway: boolean): Promise<void>;
  add(name: string): Promise<number>;
  close(): Promise<void>;
}

/**
 * @param others the further cells, until `add` is called: databases with the schema, which home has too
 * @param empty those of them that are empty databases instead
 */
export async function cellServer(others: readonly string[], empty: readonly string[] = []): Promise<CellServer> {
  const folder = await mkdtemp(join(tmpdir(), 'banking-cells-'));
  // It has the database of home.
  await copyDataDirTemplate(folder, 'migrated');
  const server = await attachEmbeddedServer({ dataDir: folder, isReplicated: true });
  const names = ['home', ...others];
  const connectionOf = (name: string): ConnectionOptions => ({ ...server.connection, database: name });
  const relays = new Map<string, Relay>();
  for (const name of names) relays.set(name, await Relay.open(join(folder, name), server.connection));
  const urlOf = (name: string) => {
    const { port, user } = server.connection;
    return `postgres://${user}@localhost:${port}/${name}?host=${encodeURIComponent(join(folder, name))}`;
  };
  await administer(server.connection, async (client) => {
    for (const name of empty) await client.query(`create database ${name}`);
    for (const name of others.filter((one) => !empty.includes(one))) {
      await client.query(`create database ${name} template home`);
    }
    // The copy of one table would wait for that of another: in one server, each sees the other's database transaction.
    await client.query('alter system set max_sync_workers_per_subscription = 1');
    await client.query('select pg_reload_conf()');
  });
  const settings = {
    databaseUrl: urlOf('home'),
    cells: others.map((name) => ({ name, databaseUrl: urlOf(name), dataDir: '/nowhere' })),
    dataDir: '/nowhere',
    isSandbox: true,
    isService: true,
    roles: SERVICE_ROLES,
  };
  return {
    names,
    connectionOf,
    settings,
    query: (name, text) =>
      administer(connectionOf(name), async (client) => {
        await client.query('set search_path = banking');
        return (await client.query(text)).rows as never[];
      }),
    setAway: (name, isAway) => (isAway ? relays.get(name)!.close() : relays.get(name)!.listen()),
    add: (name) =>
      addCell({
        ...{ name, home: connectionOf('home'), cell: connectionOf(name), homeAddress: addressOf(connectionOf('home')) },
        isSandbox: true,
      }),
    async close() {
      // The slots of subscriptions would outlive their databases.
      for (const name of others) {
        await administer(connectionOf(name), (client) => client.query('drop subscription if exists banking_directory'));
      }
      for (const relay of relays.values()) await relay.close();
      await server.detach();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
