import { setTimeout as pause } from 'node:timers/promises';
import {
  type AdminSession,
  type ConnectionOptions,
  DatabaseError,
  describeProcesses,
  OWNER_ROLE,
  readProcessesWithoutCells,
  readTable,
  SCHEMA,
  SQLSTATE,
} from '@banking/postgres';
import { VERSIONS_OF_CELL } from '@banking/operations';
import { HOME_CELL } from '@banking/process';
import { DeploymentError } from '../explain-failure.js';
import type { DeploymentMode } from '../deployment-mode.js';
import { migrateDeployment, missingMigrations } from '../migrate-deployment.js';
import { copyDirectory, publishDirectory, requireReader, withBoth } from './directory-copies.js';
import { CELLS_MAX, lastValues, stepSequences } from './step-sequences.js';
import { prepareReferenceAt } from '../prepare-reference.js';

interface NewCell extends DeploymentMode {
  readonly name: string;
  /** Connections of logins that may migrate, replicate and subscribe. */
  readonly home: ConnectionOptions;
  readonly cell: ConnectionOptions;
  /** How the server of the cell reaches home, as libpq reads it. It may hold a password. */
  readonly homeAddress: string;
  /** The document of REFERENCE_FILE. */
  readonly reference?: string | undefined;
  readonly log?: ((line: string) => void) | undefined;
}

/** What a cell takes over from home. */
interface FromHome {
  readonly number: number;
  readonly floors: ReadonlyMap<string, bigint>;
  readonly cursorKey: Buffer;
}

/**
 * Makes an empty database a cell: schema, identity, sequences, the key of cursors and a copy of the directory. The database at home becomes
 * home with the first cell. Each step may be repeated, so an interrupted call is repeated as a whole.
 *
 * @returns the number of the cell
 * @throws DeploymentError where a server, a login or the database is not suitable, with the change to make
 */
export async function addCell(settings: NewCell): Promise<number> {
  const { name, home, cell, homeAddress, log, ...mode } = settings;
  const { isSandbox } = mode;
  await refuseBeforeOthers(home, mode);
  await migrateDeployment({ connection: cell, isSandbox, log });
  await migrateDeployment({ connection: home, isSandbox, log });
  // The server may still show the connection when the first cell is added, which processes that know no cells prevent.
  await prepareReferenceAt(home, { ...mode, isCell: true });
  return withBoth(home, cell, async (atHome, inCell) => {
    await lockCells(atHome, log);
    await requireReader(atHome, homeAddress);
    const taken = await explained('home', async () => {
      const prepared = await prepareHome(atHome, name);
      await publishDirectory(atHome);
      return prepared;
    });
    await explained(name, () => prepareCell(inCell, name, taken));
    await explained(name, () => copyReference(atHome, inCell));
    await explained(name, () =>
      copyDirectory(atHome, inCell, { cellName: name, homeConnection: home, homeAddress, log }),
    );
    return taken.number;
  });
}

/** Home is migrated after every cell. @throws DeploymentError if it has other cells and lacks a migration */
async function refuseBeforeOthers(home: ConnectionOptions, mode: DeploymentMode): Promise<void> {
  const missing = await missingMigrations({ connection: home, ...mode });
  if (missing.length === 0) return;
  const cells = await readTable<{ number: number }>(home, { schema: SCHEMA, table: 'cell', roles: [OWNER_ROLE] });
  if (cells?.some(({ number }) => number !== 0))
    throw new DeploymentError(`Home lacks ${missing.join(', ')}. Run banking migrate first, for every cell.`);
}

const LOCK_POLL_MS = 100;

/** Until the end of the session, no other process prepares home or a cell. It polls, as a lock has a time limit. */
async function lockCells(home: AdminSession, log: NewCell['log']): Promise<void> {
  for (let isWaiting = false; ; isWaiting = true) {
    const [lock] = await home.query<{ isLocked: boolean }>(
      `select pg_try_advisory_lock(hashtextextended('banking cells', 0)) as "isLocked"`,
    );
    if (lock?.isLocked) return;
    if (!isWaiting) log?.('waiting for another process that adds a cell');
    await pause(LOCK_POLL_MS);
  }
}

function prepareHome(home: AdminSession, name: string): Promise<FromHome> {
  return home.actAs(OWNER_ROLE, SCHEMA, async () => {
    await setIdentity(home, 0, HOME_CELL);
    await home.query('lock table cell in share row exclusive mode');
    await home.query(`insert into cell (number, name) values (0, '${HOME_CELL}') on conflict do nothing`);
    await stepSequences(home, 0);
    // What home has from before it was home stays there.
    await home.query(
      `insert into workspace_place (workspace_id, cell_number) select id, 0 from workspace on conflict do nothing`,
    );
    await home.query(
      `select set_config('app.workspaces', coalesce((select '{' || string_agg(id::text, ',') || '}' from workspace), ''), true)`,
    );
    await home.query(
      `insert into account_place (code, workspace_id) select code, workspace_id from account_code on conflict do nothing`,
    );
    const [seal] = await home.query<{ key: Buffer }>(`select key from seal where name = 'cursor'`);
    return { number: await numberOf(home, name), floors: await lastValues(home), cursorKey: seal!.key };
  });
}

/** The number of the cell; a free one for a new cell. */
async function numberOf(home: AdminSession, name: string): Promise<number> {
  const cells = await home.query<{ number: number; name: string }>('select number, name from cell');
  const known = cells.find((one) => one.name === name);
  if (known) return known.number;
  const number = Array.from({ length: CELLS_MAX }, (_, at) => at).find((at) => !cells.some((one) => one.number === at));
  if (number === undefined) throw new DeploymentError(`The deployment has ${CELLS_MAX} cells, which is the limit.`);
  await home.query('insert into cell (number, name) values ($1, $2)', [number, name]);
  return number;
}

function prepareCell(cell: AdminSession, name: string, { number, floors, cursorKey }: FromHome): Promise<void> {
  return cell.actAs(OWNER_ROLE, SCHEMA, async () => {
    const [used] = await cell.query<{ isUsed: boolean }>(
      'select not exists (select from cell_identity) and (exists (select from app) or exists (select from app_user)) as "isUsed"',
    );
    if (used?.isUsed) {
      throw new DeploymentError(`The database of the cell "${name}" has data already. Name an empty database.`);
    }
    await setIdentity(cell, number, name);
    await stepSequences(cell, number, floors);
    // Stored responses name the version that they were composed with, and may move to another cell.
    await cell.query('update reference_version set version = version + $1 where version < $1', [
      BigInt(number) * VERSIONS_OF_CELL,
    ]);
    await cell.query(`update seal set key = $1 where name = 'cursor'`, [cursorKey]);
  });
}

/** @throws DeploymentError if the database is another cell, or as `refuseProcessesWithoutCells` does */
async function setIdentity(session: AdminSession, number: number, name: string): Promise<void> {
  const read = () => session.query<{ number: number; name: string }>('select number, name from cell_identity');
  if ((await read()).length === 0) {
    await refuseProcessesWithoutCells(session);
    await session.query('insert into cell_identity (number, name) values ($1, $2)', [number, name]);
  }
  const [stored] = await read();
  if (stored?.number === number && stored.name === name) return;
  throw new DeploymentError(
    `The database is the cell "${stored?.name}" already, not "${name}". Correct the configuration.`,
  );
}

/**
 * Before a database becomes a cell. A process that does not know of cells would serve workspaces of other cells as empty, also those that
 * are moved later. It connects before it reads `cell_identity`, so it is either seen here, or waits and then reads that this is a cell.
 * Behind a pooler in transaction mode, a connection shows the name of its last user only: a process may be missed.
 *
 * @throws DeploymentError
 */
async function refuseProcessesWithoutCells(session: AdminSession): Promise<void> {
  await session.query('lock table cell_identity in access exclusive mode');
  const connected = await readProcessesWithoutCells(session);
  if (connected.length === 0) return;
  throw new DeploymentError(
    'Processes without CELLS_FILE or CELLS are connected, and would serve workspaces of other databases as empty: ' +
      `${describeProcesses(connected)}. Stop them, run this again, and start them with CELLS_FILE.`,
  );
}

/** Names the database and the page with the rights, where a right is missing. */
async function explained<T>(where: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== SQLSTATE.insufficientPrivilege) throw error;
    throw new DeploymentError(
      `The login of the cell "${where}" may not prepare it: ${error.message}. docs/cells.md lists the rights that it needs.`,
      { cause: error },
    );
  }
}

/** In the order of their references. */
const TABLES = ['reference_change', 'currency', 'product', 'bank', 'purpose', 'corridor'] as const;

/**
 * Gives a new cell the reference data of home, with its times, so that a workspace that moves has the same. Later documents are applied in
 * each cell.
 */
async function copyReference(home: AdminSession, cell: AdminSession): Promise<void> {
  const [known] = await cell.query<{ exists: boolean }>(
    `select exists (select from ${SCHEMA}.reference_change) as exists`,
  );
  if (known?.exists === true) return;
  // One statement, and so one snapshot.
  const lists = TABLES.map((table) => `(select coalesce(json_agg(t), '[]') from ${table} t)::text as ${table}`);
  const [rows] = await home.actAs(OWNER_ROLE, SCHEMA, () =>
    home.query<Readonly<Record<(typeof TABLES)[number], string>>>(`select ${lists.join(', ')}`),
  );
  await cell.actAs(OWNER_ROLE, SCHEMA, async () => {
    for (const table of TABLES) {
      await cell.query(`insert into ${table} select * from json_populate_recordset(null::${table}, $1::json)`, [
        rows![table],
      ]);
    }
  });
}
