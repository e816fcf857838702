import { APP_ROLE, type ConnectionOptions, Database, SCHEMA } from '@banking/postgres';
import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';
import { sql } from './worlds.js';

/** Empty databases on the test server, for specs of a first start. */
export class OwnDatabases {
  private created = 0;

  private constructor(
    private readonly server: FreshDatabase,
    private readonly prefix: string,
  ) {}

  static async open(): Promise<OwnDatabases> {
    const server = await freshDatabase();
    const row = await server.database.read<{ name: string }>({}, sql('select current_database() as name'));
    return new OwnDatabases(server, row!.name);
  }

  /** The URL of a new database without a schema. */
  async create(): Promise<string> {
    const name = `${this.prefix}_${++this.created}`;
    await this.server.owner.query(`create database ${name}`);
    return urlOf(this.server.connection, name);
  }

  /** The databases go with the run: their names begin with its prefix. */
  async close(): Promise<void> {
    await this.server.close();
  }
}

/** Runs SQL in the schema of such a database, as the login that administers the server. */
export async function administer<Row>(url: string, text: string): Promise<Row[]> {
  const database = await Database.open({ connection: { connectionString: url }, role: APP_ROLE });
  try {
    // Leaves the role of the app for the login; this connection is used for nothing else.
    const [, , rows] = await database.flight({}, [
      sql('reset role'),
      sql(`set search_path = ${SCHEMA}`),
      sql<Row>(text),
    ] as const);
    return rows;
  } finally {
    await database.end();
  }
}

/** The same server and login, in another database. */
function urlOf({ connectionString, host = '', port, user = '' }: ConnectionOptions, database: string): string {
  const url = new URL(connectionString ?? `postgres://${user}@localhost:${port}/?host=${encodeURIComponent(host)}`);
  url.pathname = `/${database}`;
  return url.href;
}
