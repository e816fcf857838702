import { setTimeout as pause } from 'node:timers/promises';
import { type AdminSession, type ConnectionOptions, quoteName, SCHEMA, withAdminSession } from '@banking/postgres';
import { SLOT_NAME } from '@banking/operations';
import { DeploymentError } from '../explain-failure.js';
import { createPublication } from './publication.js';
import { createSubscription, literal, unlogged } from './subscription.js';

/** The tables that are written at home, and that every other cell has a copy of. */
const COPIED = [
  ...['app', 'app_user', 'user_identity', 'app_membership', 'workspace', 'workspace_role', 'member'],
  ...['cell', 'workspace_place'],
];

const withSchema = (tables: readonly string[]): string => tables.map((table) => `${SCHEMA}.${table}`).join(', ');

/** The publication at home, and the subscription in each other cell. */
const NAME = 'banking_directory';

/** Each table may wait a quarter of a minute for the transactions that run at home. */
const COPY_MAX_MS = 10 * 60_000;
const POLL_MS = 50;

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

/**
 * Ensures that a cell has a copy of the directory that follows each change, and waits until it is complete.
 *
 * The slot is created by itself: if home and the cell are databases of one server, a subscription that creates it would wait for its own
 * database transaction.
 */
export async function copyDirectory(
  home: AdminSession,
  cell: AdminSession,
  { cellName, homeAddress }: { readonly cellName: string; readonly homeAddress: string },
): Promise<void> {
  const [named] = await home.query<{ slot: string }>(`select ${SLOT_NAME} as slot from (values ($1)) c (name)`, [
    cellName,
  ]);
  const { slot } = named!;
  const [subscribed] = await cell.query<{ isSubscribed: boolean }>(
    `select exists (select from pg_subscription s join pg_database d on d.oid = s.subdbid
                    where s.subname = $1 and d.datname = current_database()) as "isSubscribed"`,
    [NAME],
  );
  if (subscribed?.isSubscribed) {
    await follow(cell, homeAddress);
  } else {
    await home.query(
      `select pg_create_logical_replication_slot($1, 'pgoutput')
       where not exists (select from pg_replication_slots where slot_name = $1)`,
      [slot],
    );
    await createSubscription(cell, { name: NAME, address: homeAddress, slot });
  }
  await untilCopied(cell);
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
