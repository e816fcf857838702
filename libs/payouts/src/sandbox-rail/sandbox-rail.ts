import { minorUnits } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';
import type { DeliveredRailEvent, Payment, Rail, SubmittedPayment } from '../rail.js';
import type { RailEvent } from '../record-rail-event.js';
import { WorkError } from '@banking/work-queue';
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

/** A known key is the same payment, submitted once more: it has no further events. */
const SUBMIT = sqlStatement(
  'sandbox_submit',
  `with payment as (
     insert into sandbox_rail_payment as p (key, amount, currency) values ($1, $2, $3)
     on conflict (key) do update set submissions = p.submissions + 1
     returning submissions
   )
   insert into sandbox_rail_event (key, position, provider_event, status, reason_code, due_at)
   select $1, e.position, e.name, e.status, e.reason, clock_timestamp() + e.after_ms * interval '1 ms'
   from payment, unnest($4::int[], $5::text[], $6::text[], $7::text[], $8::int[]) e(position, name, status, reason, after_ms)
   where payment.submissions = 1`,
);
const FIND = sqlStatement<{ key: string }>('sandbox_find', 'select key from sandbox_rail_payment where key = $1');
const LIST_EVENTS = sqlStatement<EventRow>(
  'sandbox_list_events',
  `select key, position, provider_event, status, reason_code from sandbox_rail_event
   where key = $1 and due_at <= clock_timestamp() order by due_at, position`,
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
/**
 * Delivered for ten seconds: an event that is not acknowledged in that time is delivered again. One range of
 * `sandbox_rail_event_by_delivery`: delivered events lie behind it until then, as those of the future do.
 */
export const RECEIVE = sqlStatement<EventRow & { due_at: string }>(
  'sandbox_receive',
  `with next as (
     select key, position from sandbox_rail_event
     where not acknowledged and greatest(due_at, handed_until) <= statement_timestamp()
     order by greatest(due_at, handed_until) limit $1 for update skip locked
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
  constructor(
    private readonly database: Database,
    private readonly seed = 'sandbox',
  ) {}

  async submit({ key, amount, currency, creditor }: Payment, signal: AbortSignal): Promise<readonly RailEvent[]> {
    const outcome = outcomeFor(creditor.account);
    if (outcome.submission === 'unreachable')
      throw new WorkError('the sandbox network cannot be reached for this account');
    const events = schedule(outcome, key, this.seed);
    const [, reported] = await this.database.pipeline({}, [
      bind(
        SUBMIT,
        key,
        amount,
        currency,
        events.map(({ position }) => position),
        events.map(({ providerEvent }) => providerEvent),
        events.map(({ status }) => status),
        events.map(({ reasonCode }) => reasonCode ?? null),
        events.map(({ afterMs }) => afterMs),
      ),
      bind(LIST_EVENTS, key),
    ] as const);
    if (outcome.submission === 'silent') await untilAborted(signal);
    return reported.map(eventOf);
  }

  async find(key: string): Promise<readonly RailEvent[] | undefined> {
    const [payments, reported] = await this.database.pipeline({}, [bind(FIND, key), bind(LIST_EVENTS, key)] as const);
    return payments.length === 0 ? undefined : reported.map(eventOf);
  }

  async listSubmitted(since: string, afterKey?: string): Promise<readonly SubmittedPayment[]> {
    const [rows] = await this.database.pipeline({}, [bind(LIST_SUBMITTED, since, afterKey)] as const);
    return rows.map(({ key, amount, currency, accepted_at, events }) => {
      return { key, amount: minorUnits(amount), currency, acceptedAt: accepted_at, events: events.map(eventOf) };
    });
  }

  async receive(limit: number): Promise<readonly DeliveredRailEvent[]> {
    const [rows] = await this.database.pipeline({}, [bind(RECEIVE, limit)] as const);
    return rows
      .sort((a, b) => (a.due_at < b.due_at ? -1 : a.due_at > b.due_at ? 1 : a.position - b.position))
      .map((row) => ({ id: `${row.key} ${row.position}`, key: row.key, event: eventOf(row) }));
  }

  async acknowledge(events: readonly DeliveredRailEvent[]): Promise<void> {
    const keys = events.map(({ key }) => key);
    const positions = events.map(({ id }) => id.slice(id.lastIndexOf(' ') + 1));
    await this.database.pipeline({}, [bind(ACKNOWLEDGE, keys, positions)]);
  }
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
