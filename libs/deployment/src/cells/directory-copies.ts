import { setTimeout as pause } from 'node:timers/promises';
import {
  type AdminSession,
  type ConnectionOptions,
  OWNER_ROLE,
  quoteName,
  SCHEMA,
  withAdminSession,
  withNewSlot,
} from '@banking/postgres';
import { SLOT_NAME } from '@banking/operations';
import { DeploymentError } from '../explain-failure.js';
import { asOwner } from './act-as.js';
import { compareCopy, COPIED, inSession, slotOfCopy } from './compare-copy.js';
import { createPublication } from './publication.js';
import { requireRemover } from './remove-rows.js';
import { createSubscription, dropSlot, dropSubscription, isSubscribed, literal, unlogged } from './subscription.js';
import { requireKnownWorkspaces, writeCopy } from './write-copy.js';

const withSchema = (tables: readonly string[]): string => tables.map((table) => `${SCHEMA}.${table}`).join(', ');

/** The publication at home, and the subscription in each other cell. */
const NAME = 'banking_directory';

/** Each table may wait a quarter of a minute for the transactions that run at home. */
const COPY_MAX_MS = 10 * 60_000;
const POLL_MS = 50;
/** For how long a copy with rows that differ may need to receive what home has committed. Then it is made anew. */
const FOLLOW_MAX_MS = 60_000;

/** Ensures that home publishes the directory. @throws DeploymentError where the server of home cannot */
export async function publishDirectory(home: AdminSession): Promise<void> {
  const [server] = await home.query<{ level: string; isPublished: boolean }>(
    `select current_setting('wal_level') as level, exists (select from pg_publication where pubname = $1) as "isPublished"`,
    [NAME],
  );
  if (server?.level !== 'logical') {
    throw new DeploymentError(
      'The server of home does not support logical replication. Set wal_level = logical there and restart it. With embedded ' +
        'databases, stop every process that uses DATA_DIR first.',
    );
  }
  if (server.isPublished) return;
  await createPublication(home, NAME, withSchema(COPIED));
}

/**
 * The server of a cell tries again for ever where it may not read the directory, and reports that in its own log only. Its login is looked
 * up at home, because this process may not reach home by the same address.
 *
 * @throws DeploymentError with the SQL for an administrator
 */
export async function requireReader(home: AdminSession, homeAddress: string): Promise<void> {
  // Any other address is that of an embedded server, whose login is its superuser.
  const login = URL.canParse(homeAddress) ? decodeURIComponent(new URL(homeAddress).username) : '';
  const [reader] = await home.query<Reader>(READER, [login, COPIED]);
  if (reader === undefined) return;
  const name = quoteName(login);
  const { attributes, mayEnter, unreadable } = reader;
  const missing = [
    ...(attributes.length > 0 ? [`alter role ${name} ${attributes.join(' ')};`] : []),
    ...(mayEnter ? [] : [`grant usage on schema ${SCHEMA} to ${name};`]),
    ...(unreadable.length > 0 ? [`grant select on ${withSchema(unreadable)} to ${name};`] : []),
  ];
  if (missing.length === 0) return;
  throw new DeploymentError(
    `The login ${name}, by which the cell reaches home, may not copy the directory. Set homeUrl of the cell to a login that may, or let an ` +
      `administrator run at home: ${missing.join(' ')}`,
  );
}

interface Reader {
  /** Those that it lacks. */
  readonly attributes: readonly string[];
  readonly mayEnter: boolean;
  readonly unreadable: readonly string[];
}

const READER = `
  select array_remove(array[case when not (rolsuper or rolreplication) then 'replication' end,
                            case when not (rolsuper or rolbypassrls) then 'bypassrls' end], null) as attributes,
         has_schema_privilege(r.oid, n.oid, 'usage') as "mayEnter",
         array(select c.relname::text from pg_class c
               where c.relnamespace = n.oid and c.relname = any ($2) and not has_table_privilege(r.oid, c.oid, 'select')
               order by c.relname) as unreadable
  from pg_roles r join pg_namespace n on n.nspname = '${SCHEMA}' where r.rolname = $1`;

interface CopySettings {
  readonly cellName: string;
  /** Of the login that may replicate. */
  readonly homeConnection: ConnectionOptions;
  /** How the server of the cell reaches home. */
  readonly homeAddress: string;
  readonly log?: ((line: string) => void) | undefined;
}

/**
 * Ensures that a cell has a copy of the directory that follows each change, and waits until it is complete. A copy that lacks changes is
 * made anew: after home was recovered to an earlier moment, PostgreSQL skips what home commits until it is where the copy was.
 *
 * The slot is created by itself: if home and the cell are databases of one server, a subscription that creates it would wait for its own
 * database transaction.
 */
export async function copyDirectory(home: AdminSession, cell: AdminSession, settings: CopySettings): Promise<void> {
  const { cellName, homeAddress, log } = settings;
  const [named] = await home.query<{ slot: string }>(`select ${SLOT_NAME} as slot from (values ($1)) c (name)`, [
    cellName,
  ]);
  const { slot } = named!;
  if (await isSubscribed(cell, NAME)) {
    await follow(cell, homeAddress);
    if (await isWhole(home, cell, cellName)) return;
    log?.(`The copy of the directory in the cell ${cellName} lacks changes of home. It is made anew.`);
  } else if (!(await hasRows(cell))) {
    await home.query(
      `select pg_create_logical_replication_slot($1, 'pgoutput')
       where not exists (select from pg_replication_slots where slot_name = $1)`,
      [slot],
    );
    await createSubscription(cell, { name: NAME, address: homeAddress, slot });
    return untilCopied(cell);
  }
  await makeAnew(home, cell, slot, settings);
}

/** Whether the copy has all that home had committed. It waits for a copy that is behind, but not for ever. */
async function isWhole(home: AdminSession, cell: AdminSession, cellName: string): Promise<boolean> {
  const { slot, isLost } = await slotOfCopy(inSession(home), cellName);
  if (isLost || !(await isEnabled(cell))) return false;
  await untilCopied(cell);
  const { lost, isFollowing } = await compareCopy(inSession(home), inSession(cell), slot, FOLLOW_MAX_MS);
  return isFollowing && lost.length === 0;
}

/** The subscription of a cell that was restored from a dump is disabled, and does not know what it has. */
async function isEnabled(cell: AdminSession): Promise<boolean> {
  const [subscription] = await cell.query<{ isEnabled: boolean }>(
    `select subenabled as "isEnabled" from pg_subscription
     where subname = $1 and subdbid = (select oid from pg_database where datname = current_database())`,
    [NAME],
  );
  return subscription!.isEnabled;
}

/** Every copy has at least the cells. */
async function hasRows(cell: AdminSession): Promise<boolean> {
  const [row] = await asOwner(cell, () =>
    cell.query<{ exists: boolean }>('select exists (select from cell) as exists'),
  );
  return row!.exists;
}

/**
 * Begins with the rows as they are where a new slot begins, so that the copy misses no change and gets none twice. It may be repeated after
 * an interruption. The service reads the former rows until then.
 */
async function makeAnew(
  home: AdminSession,
  cell: AdminSession,
  slot: string,
  { cellName, homeConnection, homeAddress }: CopySettings,
): Promise<void> {
  await requireRemover(cell, cellName);
  await requireKnownWorkspaces(home, cell, cellName);
  await dropSubscription(cell, NAME);
  await dropSlot(home, slot);
  await withNewSlot(homeConnection, { slot, role: OWNER_ROLE, schema: SCHEMA }, (rows) => writeCopy(rows, cell));
  await createSubscription(cell, { name: NAME, address: homeAddress, slot, copiesRows: false });
}

/** Changes the address of home where it differs. The address can be read by superusers only; others keep the one they have set. */
async function follow(cell: AdminSession, homeAddress: string): Promise<void> {
  const [current] = await cell
    .query<{ address: string }>(
      `select subconninfo as address from pg_subscription where subname = $1
     and has_column_privilege('pg_subscription', 'subconninfo', 'select')
     and subdbid = (select oid from pg_database where datname = current_database())`,
      [NAME],
    )
    .catch(() => []);
  if (current === undefined || current.address === homeAddress) return;
  await unlogged(cell, `alter subscription ${NAME} connection ${literal(homeAddress)}`);
}

async function untilCopied(cell: AdminSession): Promise<void> {
  const untilMs = performance.now() + COPY_MAX_MS;
  for (;;) {
    const [copy] = await cell.query<{ isReady: boolean | null }>(
      `select bool_and(r.srsubstate = 'r') as "isReady"
       from pg_subscription_rel r join pg_subscription s on s.oid = r.srsubid
       where s.subname = $1 and s.subdbid = (select oid from pg_database where datname = current_database())`,
      [NAME],
    );
    if (copy?.isReady === true) return;
    if (performance.now() > untilMs) {
      throw new DeploymentError(
        'The copy of the directory is not complete after ten minutes. The log of the PostgreSQL server of the cell has the reason.',
      );
    }
    await pause(POLL_MS);
  }
}

/** Opens both connections. */
export function withBoth<T>(
  home: ConnectionOptions,
  cell: ConnectionOptions,
  work: (home: AdminSession, cell: AdminSession) => Promise<T>,
): Promise<T> {
  return withAdminSession(home, (homeSession) =>
    withAdminSession(cell, (cellSession) => work(homeSession, cellSession)),
  );
}
