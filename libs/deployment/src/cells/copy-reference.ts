import { loadReference } from '@banking/operations';
import {
  type AdminSession,
  APP_ROLE,
  applicationNameOf,
  type ConnectionOptions,
  Database,
  OWNER_ROLE,
  SCHEMA,
} from '@banking/postgres';
import { hasDemoReference } from '../demo-reference.js';
import type { DeploymentMode } from '../deployment-mode.js';
import { RELEASE } from '../release.js';

/** In the order of their references. */
const TABLES = ['currency', 'product', 'bank', 'corridor'] as const;

/** Loads the reference data at home, as a service does when it starts. */
export async function loadAtHome(connection: ConnectionOptions, mode: DeploymentMode): Promise<void> {
  // The server may still show the connection when the first cell is added, which processes that know no cells prevent.
  const applicationName = applicationNameOf(RELEASE, true);
  const database = await Database.open({ connection, role: APP_ROLE, schema: SCHEMA, poolSize: 1, applicationName });
  try {
    await loadReference(database, { demo: hasDemoReference(mode) });
  } finally {
    await database.end();
  }
}

/** Gives a cell the reference data of home, with its times, so that a workspace that moves has the same. Keeps the rows that it has. */
export async function copyReference(home: AdminSession, cell: AdminSession): Promise<void> {
  for (const table of TABLES) {
    const [rows] = await home.query<{ list: string }>(
      `select coalesce(json_agg(t), '[]')::text as list from ${SCHEMA}.${table} t`,
    );
    await cell.actAs(OWNER_ROLE, SCHEMA, () =>
      cell.query(
        `insert into ${table} select * from json_populate_recordset(null::${table}, $1::json) on conflict do nothing`,
        [rows!.list],
      ),
    );
  }
}
