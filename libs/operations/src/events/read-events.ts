import type { EventQuery, WorkspaceId } from '@banking/domain';
import { bind, type Database, sqlStatement, type SqlStatement } from '@banking/postgres';
import { PLAN_PAGES_ONCE } from '../lists/plan-by-order.js';
import { EVENT_COLUMNS, type EventRow } from './compose-event.js';

/** How many events of a workspace one query reads at most, so that a filter with few matches ends soon. */
export const SCANNED_MAX = 10_000;

export type EventFilters = Pick<EventQuery, 'type' | 'resourceType' | 'resourceId' | 'createdFrom' | 'createdTo'>;

/** Some events behind a position. */
export interface ReadEvents {
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
 */
const POSITION_AT = sqlStatement<{ position: bigint | null }>(
  'event_position_at',
  `with recursive search (low, high) as (
     select (select e.id from event e where e.workspace_id = $1 order by e.id limit 1),
            (select e.id from event e where e.workspace_id = $1 order by e.id desc limit 1) + 1
     union all
     select case when p.is_since then s.low else p.id + 1 end, case when p.is_since then m.middle else s.high end
     from search s
     cross join lateral (select (s.low + s.high) / 2 as middle) m
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
