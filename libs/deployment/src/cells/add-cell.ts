import {
  type AdminSession,
  type ConnectionOptions,
  DatabaseError,
  OWNER_ROLE,
  SCHEMA,
  SQLSTATE,
} from '@banking/postgres';
import { VERSIONS_OF_CELL } from '@banking/operations';
import { HOME_CELL } from '@banking/process';
import { DeploymentError } from '../deployment-error.js';
import type { DeploymentMode } from '../deployment-mode.js';
import { migrateDeployment } from '../migrate-deployment.js';
import { copyDirectory, publishDirectory, withBoth } from './directory-copies.js';
import { CELLS_MAX, lastValues, stepSequences } from './step-sequences.js';

export interface NewCell extends DeploymentMode {
  readonly name: string;
  /** Connections of logins that may migrate, replicate and subscribe. */
  readonly home: ConnectionOptions;
  readonly cell: ConnectionOptions;
  /** How the server of the cell reaches home, as libpq reads it. It may hold a password. */
  readonly homeAddress: string;
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
  const { isSandbox, isSandboxStated } = mode;
  await migrateDeployment({ connection: home, isSandbox, isSandboxStated, log });
  await migrateDeployment({ connection: cell, isSandbox, isSandboxStated, log });
  return withBoth(home, cell, async (atHome, inCell) => {
    const taken = await explained('home', async () => {
      const prepared = await prepareHome(atHome, name);
      await publishDirectory(atHome);
      return prepared;
    });
    await explained(name, () => prepareCell(inCell, name, taken));
    await explained(name, () => copyDirectory(atHome, inCell, { cellName: name, homeAddress }));
    return taken.number;
  });
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

/** @throws DeploymentError if the database is another cell */
async function setIdentity(session: AdminSession, number: number, name: string): Promise<void> {
  await session.query('insert into cell_identity (number, name) values ($1, $2) on conflict do nothing', [
    number,
    name,
  ]);
  const [stored] = await session.query<{ number: number; name: string }>('select number, name from cell_identity');
  if (stored?.number === number && stored.name === name) return;
  throw new DeploymentError(
    `The database is the cell "${stored?.name}" already, not "${name}". Correct the configuration.`,
  );
}

/** Names the database and the page with the rights, where a right is missing. */
async function explained<T>(where: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== SQLSTATE.insufficientPrivilege) throw error;
    throw new DeploymentError(
      `The login of the cell "${where}" may not prepare it: ${error.message}. docs/scale-out.md lists the rights that it needs.`,
      { cause: error },
    );
  }
}
