import { minorUnits } from '@banking/domain';
import type { DeliveredRailEvent, RailEvent } from '@banking/payouts';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import type { EventPage } from './adapter-messages.js';

/** Longer than a request for events with its wait. A worker that is killed delays the events of its network by this at most. */
const LEASE = `clock_timestamp() + interval '30 s'`;

const ADD_CURSOR = sqlStatement('add_rail_cursor', 'insert into rail_cursor (rail) values ($1) on conflict do nothing');

const LEASE_CURSOR = sqlStatement<{ position: string | null; fence: bigint }>(
  'lease_rail_cursor',
  `update rail_cursor set leased_until = ${LEASE}, fence = fence + 1
   where rail = $1 and (leased_until is null or leased_until <= clock_timestamp())
   returning position, fence`,
);

const RENEW_CURSOR = sqlStatement(
  'renew_rail_cursor',
  `update rail_cursor set leased_until = ${LEASE} where rail = $1 and fence = $2 and leased_until is not null returning fence`,
);

const RELEASE_CURSOR = sqlStatement(
  'release_rail_cursor',
  'update rail_cursor set leased_until = null where rail = $1 and fence = $2',
);

/**
 * Under the fence, so that a worker which was stopped past its lease moves nothing back. Events of workspaces that other databases serve
 * are passed over: each database has a cursor of its own.
 */
const STORE_EVENTS = sqlStatement(
  'store_rail_events',
  `with moved as (
     update rail_cursor set position = $3, leased_until = null where rail = $1 and fence = $2 returning rail
   )
   insert into rail_event (rail, position, key, provider_event, status, reason_code, message, amount, currency)
   select m.rail, e.position, e.key, e.provider_event, e.status, e.reason_code, e.message, e.amount, e.currency
   from moved m
   cross join unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bigint[],
            $11::text[])
     with ordinality e(position, key, provider_event, status, reason_code, message, amount, currency, place)
   where case when e.key ~ '^payout-[1-9][0-9]{0,15}-' then is_served_here(split_part(e.key, '-', 2)::bigint) else true end
   order by e.place
   on conflict (rail, position) do nothing`,
);

interface EventOfRow {
  provider_event: string;
  status: string;
  reason_code: string | null;
  message: string | null;
  is_return: boolean;
}

interface EventRow extends EventOfRow {
  id: bigint;
  key: string;
  amount: bigint;
  currency: string;
}

/** Delivered for ten seconds, as the sandbox network does. */
const TAKE_EVENTS = sqlStatement<EventRow>(
  'take_rail_events',
  `with next as (
     select id from rail_event where rail = $1 and greatest(received_at, handed_until) <= statement_timestamp()
     order by greatest(received_at, handed_until), id limit $2
     for update skip locked
   )
   update rail_event e set handed_until = clock_timestamp() + interval '10 s'
   from next n where e.id = n.id
   returning e.id, e.key, e.provider_event, e.status, e.reason_code, e.message, e.amount, e.currency, e.is_return`,
);

const FIND_EVENTS = sqlStatement<EventOfRow>(
  'find_rail_events',
  `select provider_event, status, reason_code, message, is_return from rail_event where rail = $1 and key = $2 order by id`,
);

const DELETE_EVENTS = sqlStatement('delete_rail_events', 'delete from rail_event where id = any($1::bigint[])');

/** Where a worker continues to read the events of an adapter. */
export interface LeasedCursor {
  /** Undefined at the beginning. */
  readonly position: string | undefined;
  readonly fence: bigint;
}

/**
 * The events of an adapter that are not recorded yet. They are stored in the database transaction that moves the cursor behind them, so a
 * worker that is killed loses none, and one that cannot be recorded keeps no other back. One worker reads the adapter at a time; any number
 * record what it has stored.
 */
export class RailInbox {
  constructor(
    private readonly database: Database,
    private readonly rail: string,
  ) {}

  /** The row that every event refers to. */
  async addCursor(): Promise<void> {
    await this.database.pipeline({}, [bind(ADD_CURSOR, this.rail)]);
  }

  /** Undefined while another worker reads. */
  async lease(): Promise<LeasedCursor | undefined> {
    const [, [row]] = await this.database.pipeline({}, [
      bind(ADD_CURSOR, this.rail),
      bind(LEASE_CURSOR, this.rail),
    ] as const);
    return row && { position: row.position ?? undefined, fence: row.fence };
  }

  /** Extends a lease before it ends. False if another worker reads meanwhile. */
  async renew({ fence }: LeasedCursor): Promise<boolean> {
    const [rows] = await this.database.pipeline({}, [bind(RENEW_CURSOR, this.rail, fence)] as const);
    return rows.length === 1;
  }

  async release({ fence }: LeasedCursor): Promise<void> {
    await this.database.pipeline({}, [bind(RELEASE_CURSOR, this.rail, fence)]);
  }

  /** Stores events and moves the cursor behind the page. Nothing, if another worker reads meanwhile. */
  async store({ fence }: LeasedCursor, { events, lastPosition }: EventPage): Promise<void> {
    if (lastPosition === undefined) return;
    await this.database.pipeline({}, [
      bind(
        STORE_EVENTS,
        ...[this.rail, fence, lastPosition],
        events.map(({ position }) => position),
        events.map(({ key }) => key),
        events.map(({ event }) => event.providerEvent),
        events.map(({ event }) => event.status),
        events.map(({ event }) => event.reasonCode ?? null),
        events.map(({ event }) => event.message ?? null),
        events.map(({ amount }) => amount),
        events.map(({ currency }) => currency),
      ),
    ]);
  }

  /** The next stored events, the longest stored first. */
  async take(limit: number): Promise<readonly DeliveredRailEvent[]> {
    const [rows] = await this.database.pipeline({}, [bind(TAKE_EVENTS, this.rail, limit)] as const);
    return rows
      .sort((one, other) => (one.id < other.id ? -1 : 1))
      .map((row) => ({
        ...{ id: row.id.toString(), key: row.key, event: eventOf(row) },
        content: { amount: minorUnits(row.amount), currency: row.currency },
      }));
  }

  /** The stored events of a payment, the longest stored first. */
  async find(key: string): Promise<readonly RailEvent[]> {
    const [rows] = await this.database.pipeline({}, [bind(FIND_EVENTS, this.rail, key)] as const);
    return rows.map(eventOf);
  }

  async delete(ids: readonly string[]): Promise<void> {
    await this.database.pipeline({}, [bind(DELETE_EVENTS, ids)]);
  }
}

const eventOf = (row: EventOfRow): RailEvent => ({
  ...{ providerEvent: row.provider_event, status: row.status },
  ...{ reasonCode: row.reason_code ?? undefined, message: row.message ?? undefined },
  ...(row.is_return && { isReturn: true }),
});
