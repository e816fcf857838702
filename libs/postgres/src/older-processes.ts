import type { Client } from 'pg';
import { MigrationError, type Migration } from './migration-files.js';
import type { AdminSession } from './admin-session.js';
import { isAtLeast, knowsCells, releaseOfProcess, type Release } from './release.js';

/** Connections of processes of one release. */
export interface ConnectedProcesses {
  /** Empty for a process that names no release, which counts as older. */
  readonly release: Release;
  readonly connections: number;
}

/** Behind a pooler, a connection shows the name of its last user. */
const CONNECTED = `
  select application_name as application, count(*)::int as connections
    from pg_stat_activity
   where datname = current_database() and pid <> pg_backend_pid()
   group by application_name
   order by application_name`;

interface ConnectedRow {
  readonly application: string;
  readonly connections: number;
}

/** The releases whose processes are connected to this database. Every login may read the names of connections. */
export async function readConnectedProcesses(client: Client): Promise<ConnectedProcesses[]> {
  const { rows } = await client.query<ConnectedRow>(CONNECTED);
  return processesIn(rows);
}

function processesIn(rows: readonly ConnectedRow[], isWanted: (application: string) => boolean = () => true) {
  return rows.flatMap(({ application, connections }): ConnectedProcesses[] => {
    const release = releaseOfProcess(application);
    return release === undefined || !isWanted(application) ? [] : [{ release, connections }];
  });
}

/** Those that cannot use the schema after a migration. */
export function olderThan(processes: readonly ConnectedProcesses[], since: Release): ConnectedProcesses[] {
  return processes.filter(({ release }) => !isAtLeast(release, since));
}

/** The connections to this database of processes that do not know that the deployment has several databases. */
export async function readProcessesWithoutCells(session: AdminSession): Promise<ConnectedProcesses[]> {
  return processesIn(await session.query(CONNECTED), (application) => !knowsCells(application));
}

/** For messages: `release 1.1.0 (2 connections)`. */
export function describeProcesses(processes: readonly ConnectedProcesses[]): string {
  return processes
    .map(({ release, connections }) => {
      const name = release === '' ? 'an unknown release' : `release ${release}`;
      return `${name} (${connections === 1 ? 'one connection' : `${connections} connections`})`;
    })
    .join(', ');
}

/**
 * Checks before a contract migration that no process is connected that it would break. A migration in a database transaction locks
 * `schema_migration` before the check: a process connects before it reads that table, so it is either seen here or waits and then
 * reads this migration. Behind a pooler in transaction mode, a connection shows the name of its last user only: a process may be
 * missed.
 *
 * @throws MigrationError with the releases of such processes
 */
export async function refuseOlderProcesses(client: Client, { name, phase }: Migration): Promise<void> {
  if (phase?.name !== 'contract') return;
  if (client.getTransactionStatus() === 'T') await client.query('lock table schema_migration in access exclusive mode');
  const older = olderThan(await readConnectedProcesses(client), phase.since);
  if (older.length === 0) return;
  throw new MigrationError(
    `${name} removes what releases before ${phase.since} use, and such processes are connected: ${describeProcesses(older)}. ` +
      `Stop them or replace them by release ${phase.since} or newer, and run the migration again. Nothing of it was applied. ` +
      'If only a connection pooler still has their connections, run banking migrate --ignore-older-processes.',
  );
}
