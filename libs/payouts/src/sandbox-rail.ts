import { createHash } from 'node:crypto';
import { minorUnits, type PayeeVerificationResult } from '@banking/domain';
import { BatchedCalls, bind, type Database, sqlStatement } from '@banking/postgres';
import { CLAIM_BY_INDEX, WorkError } from '@banking/work-queue';
import type {
  DeliveredRailEvent,
  OpenRails,
  Payee,
  PayeeVerification,
  Payment,
  Rail,
  RailEvent,
  RailRouting,
  SubmittedPayment,
} from './rail.js';

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

const FIND = sqlStatement<Omit<PaymentRow, 'events'>>(
  'sandbox_find',
  'select key, amount, currency, rfc3339(accepted_at) as accepted_at from sandbox_rail_payment where key = any($1)',
);

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

/** Its name. */
export const SANDBOX_RAIL = 'sandbox';

/** The sandbox network carries every payout. */
export const SANDBOX_ROUTING: RailRouting = {
  names: [SANDBOX_RAIL],
  railFor: () => SANDBOX_RAIL,
  needsPostalAddress: () => false,
  faultOf: () => undefined,
};

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
    /** How much of the delays of events is waited for: 0 for none. */
    private readonly pace = 1,
  ) {}

  /** Payments that are submitted at the same time share one statement. */
  async submit(payment: Payment, signal: AbortSignal): Promise<readonly RailEvent[]> {
    const { submission } = outcomeFor(payment.creditor.account);
    if (submission === 'unreachable') throw new WorkError('the sandbox network cannot be reached for this account');
    const reported = await this.submissions.call(payment);
    if (submission === 'silent') await untilAborted(signal);
    return reported;
  }

  async find(key: string): Promise<SubmittedPayment | undefined> {
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

  async verifyPayee({ name, account }: Payee, signal: AbortSignal): Promise<PayeeVerification> {
    const outcome = verificationFor(account);
    if (outcome === 'silent') return untilAborted(signal);
    return { result: outcome, ...(outcome === 'close_match' && { name: `${name.slice(0, 130)} Jr` }) };
  }

  private async submitAll(payments: readonly Payment[]): Promise<readonly (readonly RailEvent[])[]> {
    // Two tries of one payment may come together. A statement inserts each key once, so the second try is submitted after the first.
    const byKey = new Map(payments.map((payment) => [payment.key, payment]));
    const distinct = [...byKey.values()];
    const again = payments.filter((payment) => byKey.get(payment.key) !== payment);
    if (again.length > 0) await this.submitAll(again);
    const keys = distinct.map(({ key }) => key);
    const events = distinct.flatMap(({ key, creditor }) =>
      schedule(outcomeFor(creditor.account), key, this.seed).map((event) => ({
        ...event,
        key,
        afterMs: Math.round(event.afterMs * this.pace),
      })),
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

  private async findAll(keys: readonly string[]): Promise<readonly (SubmittedPayment | undefined)[]> {
    const [payments, reported] = await this.database.pipeline({}, [bind(FIND, keys), bind(LIST_EVENTS, keys)] as const);
    const eventsByKey = groupByKey(reported);
    const found = new Map(
      payments.map(({ key, amount, currency, accepted_at: acceptedAt }) => [
        key,
        { key, amount: minorUnits(amount), currency, acceptedAt, events: eventsByKey.get(key) ?? [] },
      ]),
    );
    return keys.map((key) => found.get(key));
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

/** The networks of a sandbox. */
export const sandboxRails = (database: Database): OpenRails => new Map([[SANDBOX_RAIL, new SandboxRail(database)]]);

/** A call without a response ends when it is aborted. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(new WorkError('the sandbox network does not answer for this account'));
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}

/** A sentence for each code of the ISO 20022 external code set ExternalPaymentTransactionStatus1Code. */
const STATUS_MESSAGES: Readonly<Record<string, string>> = {
  ACSP: 'Settlement is in progress.',
  ACCC: 'The amount was credited to the account of the beneficiary.',
  RJCT: 'The payment was rejected.',
};

/** Codes of the ISO 20022 external code set ExternalStatusReason1Code. */
const REASON_MESSAGES: Readonly<Record<string, string>> = {
  AC01: 'The account number is invalid or missing.',
  AC04: 'The account is closed.',
  G000: 'The payment was transferred to the next bank and is tracked.',
  G001: 'The payment was transferred to the next bank and is not tracked.',
  G002: 'The credit may not be confirmed on the same day.',
  G003: 'The credit is pending until documents arrive.',
  G004: 'The credit is pending until funds arrive.',
};

const textOf = (messages: Readonly<Record<string, string>>, code: string | undefined) =>
  code !== undefined && Object.hasOwn(messages, code) ? messages[code] : undefined;

/** The text of the sandbox network for a status and its reason. Undefined for an unknown status. */
export function sandboxMessage(status: string, reasonCode?: string): string | undefined {
  const parts = [textOf(STATUS_MESSAGES, status), textOf(REASON_MESSAGES, reasonCode)].filter(Boolean);
  return parts.length === 0 ? undefined : parts.join(' ');
}

/** An event of the network, with its delay after the submission. */
interface PlannedEvent {
  readonly afterMs: number;
  readonly status: string;
  readonly reasonCode?: string;
  /** Repeats the event before: the same event id, delivered again. */
  readonly repeats?: true;
}

/** The outcome of a payment. */
interface SandboxOutcome {
  /** The description in docs/integrate/sandbox.md. */
  readonly description: string;
  readonly events: readonly PlannedEvent[];
  /** The failure of the submission itself. */
  readonly submission?: 'silent' | 'unreachable';
}

const S = 1_000;
const accepted = { afterMs: S, status: 'ACSP', reasonCode: 'G000' };
const forwarded = { afterMs: 3 * S, status: 'ACSP', reasonCode: 'G001' };
const credited = { afterMs: 6 * S, status: 'ACCC' };
const rejected = { afterMs: 4 * S, status: 'RJCT', reasonCode: 'AC04' };

const ORDINARY: SandboxOutcome = {
  description: 'credited after about six seconds',
  events: [accepted, forwarded, credited],
};

/**
 * The outcomes by the last four characters of the creditor's account number; any other payment is credited.
 *
 * An integrator can choose the end of an account number in every corridor: an IBAN has its check digits in front, so each ending has
 * a valid one. An amount would not do, because a conversion determines its digits.
 */
export const SANDBOX_OUTCOMES: Readonly<Record<string, SandboxOutcome>> = {
  '9001': { description: 'rejected at once: AC01', events: [{ afterMs: 0, status: 'RJCT', reasonCode: 'AC01' }] },
  '9004': { description: 'rejected after about four seconds: AC04', events: [accepted, rejected] },
  '9010': {
    description: 'credited after about a minute',
    events: [accepted, forwarded, { ...credited, afterMs: 60 * S }],
  },
  '9011': { description: 'never gets a final status', events: [accepted, { ...forwarded, reasonCode: 'G002' }] },
  '9020': {
    description: 'accepted, but the response to the submission is lost; then credited',
    events: ORDINARY.events,
    submission: 'silent',
  },
  '9021': {
    description: 'credited; each event arrives twice, and the last is listed twice',
    events: [accepted, { ...accepted, repeats: true }, forwarded, { ...forwarded, repeats: true }, credited, credited],
  },
  '9022': {
    description: 'credited, and the events arrive in the wrong order',
    events: [
      { ...credited, afterMs: S },
      { ...forwarded, afterMs: 3 * S },
      { ...accepted, afterMs: 6 * S },
    ],
  },
  '9023': { description: 'rejected, and credited two seconds later', events: [accepted, rejected, credited] },
  '9024': {
    description: 'credited, and rejected two seconds later',
    events: [accepted, credited, { ...rejected, afterMs: 8 * S }],
  },
  '9030': {
    description: 'the network is unreachable: parked after ten attempts',
    events: [],
    submission: 'unreachable',
  },
};

export function outcomeFor(account: string): SandboxOutcome {
  const ending = account.slice(-4);
  return Object.hasOwn(SANDBOX_OUTCOMES, ending) ? SANDBOX_OUTCOMES[ending]! : ORDINARY;
}

/** What the network says of the holder of an account, by the last four characters of the account. Any other ending matches. */
const SANDBOX_VERIFICATIONS: Readonly<Record<string, PayeeVerificationResult | 'silent'>> = {
  '9031': 'close_match',
  '9032': 'no_match',
  '9033': 'not_possible',
  '9034': 'silent',
};

function verificationFor(account: string): PayeeVerificationResult | 'silent' {
  const ending = account.slice(-4);
  return Object.hasOwn(SANDBOX_VERIFICATIONS, ending) ? SANDBOX_VERIFICATIONS[ending]! : 'match';
}

/** An event with its position, its id and its time. */
interface ScheduledEvent extends PlannedEvent {
  readonly position: number;
  readonly providerEvent: string;
}

/** The events with their times: up to a fifth sooner or later than planned, the same for the same seed and key. */
export function schedule({ events }: SandboxOutcome, key: string, seed: string): ScheduledEvent[] {
  const byte = createHash('sha256').update(`${seed} ${key}`).digest()[0]!;
  const pace = 0.8 + (0.4 * byte) / 255;
  let id = 0;
  return events.map((planned, position) => {
    if (!planned.repeats) id += 1;
    return { ...planned, position, afterMs: Math.round(planned.afterMs * pace), providerEvent: `sandbox-${id}` };
  });
}
