import { minorUnits } from '@banking/domain';
import { BatchedCalls, bind, sqlStatement, type Database } from '@banking/postgres';
import type { DeliveredRailEvent, Payment, Rail, SubmittedPayment } from '../rail.js';
import type { RailEvent } from '../rail-event-writes.js';
import { CLAIM_BY_INDEX, WorkError } from '@banking/work-queue';
import { sandboxMessage } from './messages.js';
import { outcomeFor, schedule } from './outcomes.js';

interface EventRow {
  key: string;
  position: number;
  provider_event: string;
  status: string;
  reason_code: string | null;
}

interface PaymentRow {
  key: string;
  amount: bigint;
  currency: string;
  accepted_at: string;
  events: EventRow[];
}

/** A known key is the same payment, submitted once more: it has no further events. In the order of the keys, as every batch locks. */
const SUBMIT = sqlStatement(
  'sandbox_submit',
  `with payment as (
     insert into sandbox_rail_payment as p (key, amount, currency)
     select * from unnest($1::text[], $2::bigint[], $3::text[]) u(key, amount, currency) order by u.key
     on conflict (key) do update set submissions = p.submissions + 1
     returning key, submissions
   )
   insert into sandbox_rail_event (key, position, provider_event, status, reason_code, due_at)
   select e.key, e.position, e.name, e.status, e.reason, clock_timestamp() + e.after_ms * interval '1 ms'
   from unnest($4::text[], $5::int[], $6::text[], $7::text[], $8::text[], $9::int[]) e(key, position, name, status, reason, after_ms)
   join payment p on p.key = e.key
   where p.submissions = 1`,
);
const FIND = sqlStatement<{ key: string }>('sandbox_find', 'select key from sandbox_rail_payment where key = any($1)');
const LIST_EVENTS = sqlStatement<EventRow>(
  'sandbox_list_events',
  `select key, position, provider_event, status, reason_code from sandbox_rail_event
   where key = any($1) and due_at <= clock_timestamp() order by due_at, position`,
);
const LISTED_MAX = 500;
const LIST_SUBMITTED = sqlStatement<PaymentRow>(
  'sandbox_list_submitted',
  `select p.key, p.amount, p.currency, rfc3339(p.accepted_at) as accepted_at, coalesce(e.events, '[]') as events
   from sandbox_rail_payment p left join lateral (
     select json_agg(json_build_object('key', key, 'position', position, 'provider_event', provider_event, 'status', status,
                                       'reason_code', reason_code) order by due_at, position) as events
     from sandbox_rail_event where key = p.key and due_at <= clock_timestamp()
   ) e on true
   where p.accepted_at >= $1::timestamptz and ($2::text is null or p.key > $2)
   order by p.key limit ${LISTED_MAX}`,
);
/** The longest due events among which the senders of payments take turns. */
const WINDOW = 1_000;
/**
 * Delivered for ten seconds: an event that is not acknowledged in that time is delivered again. One range of
 * `sandbox_rail_event_by_delivery`: delivered events lie behind it until then, as those of the future do.
 *
 * The second part of a key is its sender. The longest due event of each sender comes before the second of any.
 * The events of a workspace that another database serves are received there.
 */
export const RECEIVE = sqlStatement<EventRow & { due_at: string }>(
  'sandbox_receive',
  `with due as (
     select e.*, row_number() over (partition by split_part(e.key, '-', 2) order by e.deliverable_at) as turn
     from (
       select key, position, greatest(due_at, handed_until) as deliverable_at from sandbox_rail_event
       where not acknowledged and greatest(due_at, handed_until) <= statement_timestamp()
         and split_part(key, '-', 2) not in (select c.workspace_id::text from cell_workspace c where c.state <> 'open')
       order by greatest(due_at, handed_until) limit ${WINDOW}
     ) e
   ), next as (
     select n.* from (select * from due order by turn, deliverable_at) d cross join lateral (
       select e.key, e.position from sandbox_rail_event e
       where (e.key, e.position) = (d.key, d.position)
         and not e.acknowledged and greatest(e.due_at, e.handed_until) <= statement_timestamp()
       for update skip locked
     ) n
     limit $1
   )
   update sandbox_rail_event e set handed_until = clock_timestamp() + interval '10 s'
   from next n where (e.key, e.position) = (n.key, n.position)
   returning e.key, e.position, e.provider_event, e.status, e.reason_code, rfc3339(e.due_at) as due_at`,
);
const ACKNOWLEDGE = sqlStatement(
  'sandbox_acknowledge',
  `update sandbox_rail_event e set acknowledged = true
   from unnest($1::text[], $2::int[]) u(key, position) where (e.key, e.position) = (u.key, u.position)`,
);

/**
 * A network that moves no money: it accepts payments and reports the events that the end of the account number selects
 * (`SANDBOX_OUTCOMES`). It stores them in the database, so that they survive a restart. The same seed gives the same delays.
 */
export class SandboxRail implements Rail {
  private readonly submissions = new BatchedCalls((payments: readonly Payment[]) => this.submitAll(payments));
  private readonly searches = new BatchedCalls((keys: readonly string[]) => this.findAll(keys));

  constructor(
    private readonly database: Database,
    private readonly seed = 'sandbox',
  ) {}

  /** Payments that are submitted at the same time share one statement. */
  async submit(payment: Payment, signal: AbortSignal): Promise<readonly RailEvent[]> {
    const { submission } = outcomeFor(payment.creditor.account);
    if (submission === 'unreachable') throw new WorkError('the sandbox network cannot be reached for this account');
    const reported = await this.submissions.call(payment);
    if (submission === 'silent') await untilAborted(signal);
    return reported;
  }

  async find(key: string): Promise<readonly RailEvent[] | undefined> {
    return this.searches.call(key);
  }

  async listSubmitted(since: string, afterKey?: string): Promise<readonly SubmittedPayment[]> {
    const [rows] = await this.database.pipeline({}, [bind(LIST_SUBMITTED, since, afterKey)] as const);
    return rows.map(({ key, amount, currency, accepted_at, events }) => {
      return { key, amount: minorUnits(amount), currency, acceptedAt: accepted_at, events: events.map(eventOf) };
    });
  }

  async receive(limit: number): Promise<readonly DeliveredRailEvent[]> {
    const [, rows] = await this.database.pipeline({}, [CLAIM_BY_INDEX, bind(RECEIVE, limit)] as const);
    return rows
      .sort((a, b) => (a.due_at < b.due_at ? -1 : a.due_at > b.due_at ? 1 : a.position - b.position))
      .map((row) => ({ id: `${row.key} ${row.position}`, key: row.key, event: eventOf(row) }));
  }

  async acknowledge(events: readonly DeliveredRailEvent[]): Promise<void> {
    const keys = events.map(({ key }) => key);
    const positions = events.map(({ id }) => id.slice(id.lastIndexOf(' ') + 1));
    await this.database.pipeline({}, [bind(ACKNOWLEDGE, keys, positions)]);
  }

  private async submitAll(payments: readonly Payment[]): Promise<readonly (readonly RailEvent[])[]> {
    // Two tries of one payment may come together. A statement inserts each key once, so the second try is submitted after the first.
    const byKey = new Map(payments.map((payment) => [payment.key, payment]));
    const distinct = [...byKey.values()];
    const again = payments.filter((payment) => byKey.get(payment.key) !== payment);
    if (again.length > 0) await this.submitAll(again);
    const keys = distinct.map(({ key }) => key);
    const events = distinct.flatMap(({ key, creditor }) =>
      schedule(outcomeFor(creditor.account), key, this.seed).map((event) => ({ ...event, key })),
    );
    const [, reported] = await this.database.pipeline({}, [
      bind(
        SUBMIT,
        keys,
        distinct.map(({ amount }) => amount),
        distinct.map(({ currency }) => currency),
        events.map(({ key }) => key),
        events.map(({ position }) => position),
        events.map(({ providerEvent }) => providerEvent),
        events.map(({ status }) => status),
        events.map(({ reasonCode }) => reasonCode ?? null),
        events.map(({ afterMs }) => afterMs),
      ),
      bind(LIST_EVENTS, keys),
    ] as const);
    const eventsByKey = groupByKey(reported);
    return payments.map(({ key }) => eventsByKey.get(key) ?? []);
  }

  private async findAll(keys: readonly string[]): Promise<readonly (readonly RailEvent[] | undefined)[]> {
    const [payments, reported] = await this.database.pipeline({}, [bind(FIND, keys), bind(LIST_EVENTS, keys)] as const);
    const found = new Set(payments.map(({ key }) => key));
    const eventsByKey = groupByKey(reported);
    return keys.map((key) => (found.has(key) ? (eventsByKey.get(key) ?? []) : undefined));
  }
}

function groupByKey(rows: readonly EventRow[]): ReadonlyMap<string, readonly RailEvent[]> {
  const groups = new Map<string, RailEvent[]>();
  for (const row of rows) {
    const group = groups.get(row.key);
    if (group) group.push(eventOf(row));
    else groups.set(row.key, [eventOf(row)]);
  }
  return groups;
}

function eventOf({ provider_event, status, reason_code }: EventRow): RailEvent {
  const reasonCode = reason_code ?? undefined;
  return { providerEvent: provider_event, status, reasonCode, message: sandboxMessage(status, reasonCode) };
}

/** A call without a response ends when it is aborted. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(new WorkError('the sandbox network does not answer for this account'));
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}
