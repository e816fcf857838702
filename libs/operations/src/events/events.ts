import {
  type AccountId,
  type Event,
  EVENT_RESOURCE_TYPES,
  EVENT_WAIT_MAX_S,
  type EventChanges,
  type EventId,
  type EventPage,
  type EventQuery,
  ID_MAX,
  isEventType,
  type OrderId,
  type QuoteId,
  type RecipientId,
  Refusal,
  type ServiceAccountId,
  type TransactionId,
  type WorkspaceId,
  type PlainNumber,
} from '@banking/domain';
import { bind, type Database, lookup, sqlStatement, type SqlStatement } from '@banking/postgres';
import { checkedLimit } from '../lists/list-page.js';
import { checkPeriod, PLAN_PAGES_ONCE } from '../lists/paged-list.js';
import type { CursorScope } from '../lists/sign-cursor.js';
import { timestampOf, withoutNulls } from '../resources/columns.js';
import { type Reading, readWithoutReference } from '../resources/reading.js';
import type { EventWaits } from './event-waits.js';

/** The changes as they are stored: the status before a new resource is null. */
interface StoredChanges {
  readonly status?: { readonly before: string | null; readonly after: string };
  readonly accountId?: AccountId;
  readonly recipientId?: RecipientId;
  readonly quoteId?: QuoteId;
  readonly orderId?: OrderId;
  readonly transactionId?: TransactionId;
  readonly serviceAccountId?: ServiceAccountId;
}

interface EventRow {
  readonly id: bigint;
  readonly type: string;
  readonly resourceType: string;
  readonly resourceId: bigint;
  readonly sequence: number;
  readonly changes: StoredChanges;
  readonly actor: Event['actor'];
  readonly createdAt: string;
}

/** The columns of an event `e`. */
const EVENT_COLUMNS = `e.id, e.type, e.resource_type as "resourceType", e.resource_id as "resourceId", e.sequence, e.changes,
  e.actor, e.created_at as "createdAt"`;

export const composeEvent = (row: EventRow): Event => ({
  id: Number(row.id) as EventId,
  type: row.type,
  createdAt: timestampOf(row.createdAt),
  sequence: row.sequence,
  resource: { type: row.resourceType, id: Number(row.resourceId) },
  changes: changesOf(row.changes),
  actor: row.actor,
});

/** The interface never sends null. */
const changesOf = (stored: StoredChanges): EventChanges =>
  withoutNulls<EventChanges>({
    status: stored.status === undefined ? null : statusOf(stored.status),
    accountID: stored.accountId ?? null,
    recipientID: stored.recipientId ?? null,
    quoteID: stored.quoteId ?? null,
    orderID: stored.orderId ?? null,
    transactionID: stored.transactionId ?? null,
    serviceAccountID: stored.serviceAccountId ?? null,
  });

const statusOf = ({ before, after }: NonNullable<StoredChanges['status']>) =>
  before === null ? { after } : { before, after };

/** How many events of a workspace one query reads at most, so that a filter with few matches ends soon. */
export const SCANNED_MAX = 10_000;

type EventFilters = Pick<EventQuery, 'type' | 'resourceType' | 'resourceId' | 'createdFrom' | 'createdTo'>;

/** Some events behind a position. */
interface ReadEvents {
  readonly rows: readonly EventRow[];
  /** The id up to which all events were read. A later query continues behind it. */
  readonly position: bigint;
  /** Whether the query ended at a limit, so that more events may match. */
  readonly isCut: boolean;
  /** The greatest id of a deleted event of the workspace; 0 if none was deleted. */
  readonly deletedTo: bigint;
}

/** A row of a page, or without its columns the position of a page without rows. */
type ReadRow = { readonly last: bigint | null; readonly isCut: boolean } & (EventRow | { readonly id: null });

const READ_ALL = sqlStatement<EventRow>(
  'read_events',
  `select ${EVENT_COLUMNS} from event e where e.workspace_id = $1 and e.id > $2 order by e.id limit $3`,
);

const OTHER_FILTERS = `($4::text[] is null or e.type = any($4::text[]))
         and ($5::timestamptz is null or e.created_at >= $5::timestamptz)
         and ($6::timestamptz is null or e.created_at < $6::timestamptz)`;

const READ_FILTERED = sqlStatement<ReadRow>(
  'read_filtered_events',
  `select s.last, s.count = ${SCANNED_MAX} as "isCut", p.*
   from (select max(k.id) as last, count(*) as count
         from (select e.id from event e where e.workspace_id = $1 and e.id > $2 order by e.id limit ${SCANNED_MAX}) k) s
   left join lateral (
     select ${EVENT_COLUMNS} from event e
     where e.workspace_id = $1 and e.id > $2 and e.id <= s.last and ($7::text is null or e.resource_type = $7::text) and ${OTHER_FILTERS}
     order by e.id limit $3) p on true
   order by p.id`,
);

/** The sequence of a resource has the order of the ids. */
const READ_OF_RESOURCE = sqlStatement<ReadRow>(
  'read_events_of_resource',
  `select s.last, false as "isCut", p.*
   from (select (select e.id from event e where e.workspace_id = $1 order by e.id desc limit 1) as last) s
   left join lateral (
     select ${EVENT_COLUMNS} from event e
     where e.workspace_id = $1 and e.resource_type = $7 and e.resource_id = $8 and e.id > $2 and ${OTHER_FILTERS}
     order by e.sequence limit $3) p on true
   order by p.id`,
);

const LAST_DELETED = sqlStatement<{ id: bigint }>(
  'last_deleted_event',
  'select d.last_id as id from event_deletion d where d.workspace_id = $1',
);

/** Reads the events of a workspace behind a position, by id. */
export async function readEvents(
  database: Database,
  workspaceId: WorkspaceId,
  { after, limit, filters }: { readonly after: bigint; readonly limit: number; readonly filters: EventFilters },
): Promise<ReadEvents> {
  const send = async <Row>(statement: SqlStatement<Row>, ...more: unknown[]) => {
    const bound = bind(statement, workspaceId, after, limit, ...more);
    // Behind the events: a deletion between the two is seen by the second, so a reader may be told too early and never too late.
    const deletion = bind(LAST_DELETED, workspaceId);
    const pipeline = [PLAN_PAGES_ONCE, bound, deletion] as const;
    const [, rows, [deleted]] = await database.readPipeline({ workspaces: [workspaceId] }, pipeline);
    return { rows, deletedTo: deleted?.id ?? 0n };
  };
  const { type, resourceType, resourceId, createdFrom, createdTo } = filters;
  if (Object.values(filters).every((value) => value === undefined)) {
    const { rows, deletedTo } = await send(READ_ALL);
    return { rows, position: rows.at(-1)?.id ?? after, isCut: rows.length === limit, deletedTo };
  }
  const others = [type ?? null, createdFrom ?? null, createdTo ?? null, resourceType ?? null];
  const { rows: found, deletedTo } =
    resourceId === undefined
      ? await send(READ_FILTERED, ...others)
      : await send(READ_OF_RESOURCE, ...others, resourceId);
  const rows = found.filter((row): row is ReadRow & EventRow => row.id !== null);
  if (rows.length === limit) return { rows, position: rows.at(-1)!.id, isCut: true, deletedTo };
  const { last = null, isCut = false } = found[0] ?? {};
  return { rows, position: last === null || last < after ? after : last, isCut, deletedTo };
}

/**
 * The smallest id that was recorded at a time or later, less one. An event is recorded after its change, and in the order of the ids, so
 * no event that was created since then is before it. A minute is subtracted, because a clock may be set back a little.
 *
 * It searches by halves: `low` is an id that may be the one, and `high` is one from which all are recorded since then.
 * A subquery computes the middle: a division is not leakproof, so no index of PostgreSQL 15 takes it on a table with row-level security.
 */
const POSITION_AT = sqlStatement<{ position: bigint | null }>(
  'event_position_at',
  `with recursive search (low, high) as (
     select (select e.id from event e where e.workspace_id = $1 order by e.id limit 1),
            (select e.id from event e where e.workspace_id = $1 order by e.id desc limit 1) + 1
     union all
     select case when p.is_since then s.low else p.id + 1 end, case when p.is_since then m.middle else s.high end
     from search s
     cross join ${lookup('select (s.low + s.high) / 2 as middle')} m
     cross join lateral (
       select e.id, e.recorded_at >= $2::timestamptz - interval '1 minute' as is_since
       from event e where e.workspace_id = $1 and e.id >= m.middle order by e.id limit 1) p
     where s.low < s.high)
   select min(s.low) - 1 as position from search s where s.low >= s.high`,
);

/** The position behind which all events are that were created at a time or later. */
export async function positionAt(database: Database, workspaceId: WorkspaceId, instant: string): Promise<bigint> {
  const bound = bind(POSITION_AT, workspaceId, instant);
  const [rows] = await database.readPipeline({ workspaces: [workspaceId] }, [bound]);
  return rows[0]?.position ?? 0n;
}

const LAST_EVENT = sqlStatement<{ id: bigint }>(
  'last_event',
  'select e.id from event e where e.workspace_id = $1 order by e.id desc limit 1',
);

/** The position behind all events that are recorded now. */
export async function positionNow(database: Database, workspaceId: WorkspaceId): Promise<bigint> {
  return (await database.read({ workspaces: [workspaceId] }, bind(LAST_EVENT, workspaceId)))?.id ?? 0n;
}

const GET_EVENT = sqlStatement<EventRow>(
  'get_event',
  `select ${EVENT_COLUMNS} from event e where e.workspace_id = $1 and e.id = $2`,
);

/** @throws Refusal `event_not_found`, also for an event of another workspace */
export async function getEvent(
  reading: Reading,
  workspaceId: WorkspaceId,
  eventId: EventId | PlainNumber,
): Promise<Event> {
  const bound = bind(GET_EVENT, workspaceId, eventId);
  return readWithoutReference(reading, workspaceId, bound, composeEvent, 'event_not_found');
}

/** @throws Refusal as the port's `listEvents` states */
export async function listEvents(
  { database, cursors }: Reading,
  waits: EventWaits,
  workspaceId: WorkspaceId,
  { limit, cursor, wait = 0, ...rest }: EventQuery,
  signal?: AbortSignal,
): Promise<EventPage> {
  const filters = checkedFilters(rest);
  const most = checkedLimit({ limit });
  if (!Number.isInteger(wait) || wait < 0 || wait > EVENT_WAIT_MAX_S) {
    throw invalid('wait', `wait must be a whole number from 0 to ${EVENT_WAIT_MAX_S}.`);
  }
  const endsAtMs = performance.now() + wait * 1_000;
  const scope: CursorScope = { list: 'list_events', workspaceId, filters };
  const { after, deletedBefore } =
    cursor === undefined
      ? { after: await startOf(filters, (instant) => positionAt(database, workspaceId, instant)) }
      : readPosition(await cursors.verifyText(scope, cursor));
  const read = (from: bigint) => readEvents(database, workspaceId, { after: from, limit: most, filters });

  let page = await read(after);
  // A reader without a cursor begins with the events that are left.
  const known = deletedBefore ?? page.deletedTo;
  if (page.deletedTo > after && page.deletedTo > known) throw new Refusal('cursor_expired');
  while (page.rows.length === 0 && !page.isCut) {
    if (!(await waits.until(workspaceId, page.position, endsAtMs - performance.now(), signal))) break;
    page = await read(page.position);
  }
  return { items: page.rows.map(composeEvent), next: await cursors.signText(scope, positionText(page, known)) };
}

/**
 * The position of a cursor, and up to which id events were deleted when the reader began without one. Such a reader lists what is left of
 * those, and is told when an event behind them is deleted.
 */
function readPosition(text: string): { readonly after: bigint; readonly deletedBefore: bigint } {
  const [after = '', deletedBefore = '0'] = text.split(' ');
  return { after: BigInt(after), deletedBefore: BigInt(deletedBefore) };
}

/** What was deleted before the beginning is of no account behind it. */
const positionText = ({ position }: ReadEvents, deletedBefore: bigint): string =>
  position >= deletedBefore ? `${position}` : `${position} ${deletedBefore}`;

async function startOf({ createdFrom }: EventFilters, at: (instant: string) => Promise<bigint>): Promise<bigint> {
  return createdFrom === undefined ? 0n : at(createdFrom);
}

/** The filters that are given, in one form for each meaning. */
function checkedFilters({ type, resourceType, resourceId, createdFrom, createdTo }: EventFilters): EventFilters {
  checkPeriod({ createdFrom, createdTo });
  if (type?.length === 0 || type?.some((one) => !isEventType(one))) {
    throw invalid('type', 'type must be one of the types of events.');
  }
  if (resourceType !== undefined && !EVENT_RESOURCE_TYPES.includes(resourceType)) {
    throw invalid('resourceType', `resourceType must be one of ${EVENT_RESOURCE_TYPES.join(', ')}.`);
  }
  if (resourceId !== undefined && !(Number.isInteger(resourceId) && resourceId >= 1 && resourceId <= ID_MAX)) {
    throw new Refusal('id_malformed');
  }
  if (resourceId !== undefined && resourceType === undefined) {
    throw invalid('resourceId', 'resourceId needs resourceType, because resources of two types may have the same id.');
  }
  return {
    ...(type !== undefined && { type: [...new Set(type)].sort() }),
    ...(resourceType !== undefined && { resourceType }),
    ...(resourceId !== undefined && { resourceId }),
    ...(createdFrom !== undefined && { createdFrom }),
    ...(createdTo !== undefined && { createdTo }),
  };
}

const invalid = (path: string, message: string): Refusal =>
  new Refusal('parameter_invalid', message, { details: [{ path, reason: 'parameter_invalid', message }] });
