import { bind, statement, type Database } from '@banking/postgres';
import type { Payment, Rail, RailWord } from '../rail.js';
import type { RailEvent } from '../track-remittance.js';
import { WorkError } from '../work/handle-claim.js';
import { sandboxMessage } from './messages.js';
import { outcomeFor, schedule } from './outcomes.js';

interface EventRow {
  key: string;
  position: number;
  provider_event: string;
  status: string;
  reason_code: string | null;
}

/** A key it has already is the same payment: handed over once more, and nothing is said twice for it. */
const SUBMIT = statement(
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
const FIND = statement<{ key: string }>('sandbox_find', 'select key from sandbox_rail_payment where key = $1');
const SAID = statement<EventRow>(
  'sandbox_said',
  `select key, position, provider_event, status, reason_code from sandbox_rail_event
   where key = $1 and due_at <= clock_timestamp() order by due_at, position`,
);
/**
 * In somebody's hands for ten seconds; who does not acknowledge in that time hears it again. One range of
 * `sandbox_rail_event_by_delivery`: events that were handed out lie behind it until then, as those of the future do.
 */
export const RECEIVE = statement<EventRow & { due_at: string }>(
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
const ACKNOWLEDGE = statement(
  'sandbox_acknowledge',
  `update sandbox_rail_event e set acknowledged = true
   from unnest($1::text[], $2::int[]) u(key, position) where (e.key, e.position) = (u.key, u.position)`,
);

/**
 * A network that moves no money: it takes payments, says of each what the end of its account number asks for (`SANDBOX_OUTCOMES`),
 * and remembers it in the database, so that nothing is forgotten when we restart. The same seed gives the same delays.
 */
export class SandboxRail implements Rail {
  constructor(
    private readonly database: Database,
    private readonly seed = 'sandbox',
  ) {}

  async submit({ key, amount, currency, creditor }: Payment, signal: AbortSignal): Promise<readonly RailEvent[]> {
    const outcome = outcomeFor(creditor.account);
    if (outcome.handOver === 'unreachable')
      throw new WorkError('the sandbox network cannot be reached for this account');
    const events = schedule(outcome, key, this.seed);
    const [, said] = await this.database.flight({}, [
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
      bind(SAID, key),
    ] as const);
    if (outcome.handOver === 'silent') await untilAborted(signal);
    return said.map(eventOf);
  }

  async find(key: string): Promise<readonly RailEvent[] | undefined> {
    const [found, said] = await this.database.flight({}, [bind(FIND, key), bind(SAID, key)] as const);
    return found.length === 0 ? undefined : said.map(eventOf);
  }

  async receive(limit: number): Promise<readonly RailWord[]> {
    const [rows] = await this.database.flight({}, [bind(RECEIVE, limit)] as const);
    return rows
      .sort((a, b) => (a.due_at < b.due_at ? -1 : a.due_at > b.due_at ? 1 : a.position - b.position))
      .map((row) => ({ id: `${row.key} ${row.position}`, key: row.key, event: eventOf(row) }));
  }

  async acknowledge(words: readonly RailWord[]): Promise<void> {
    const positions = words.map(({ id }) => id.slice(id.lastIndexOf(' ') + 1));
    await this.database.flight({}, [bind(ACKNOWLEDGE, words.map(({ key }) => key), positions)]); // prettier-ignore
  }
}

function eventOf({ provider_event, status, reason_code }: EventRow): RailEvent {
  const reasonCode = reason_code ?? undefined;
  return { providerEvent: provider_event, status, reasonCode, message: sandboxMessage(status, reasonCode) };
}

/** How a call ends that nobody answers. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(new WorkError('the sandbox network does not answer for this account'));
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}
