import { minorUnits, type MinorUnits, type PayoutStatus, Refusal } from '@banking/domain';
import { type Books, ownLegsOf } from '@banking/ledger';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import { OutageError, type WorkKey } from '@banking/work-queue';
import { type NoteChanges, type Outgoing, parsePayoutKey, PAYOUT, payoutKey, servedHere } from './open-payouts.js';
import { holdLateWork } from './parked-work.js';
import type { FoundPayment, OpenRails, Rail, RailEvent, SubmittedPayment } from './rail.js';
import { recordEvent } from './record-rail-events.js';

/**
 * A difference between the network and the books that an operator decides. `payment_not_in_books`: the network has a payment whose payout
 * was lost. `payment_not_at_network`: the network accepted a payout and no longer has it. `content_differs`: the amounts or currencies
 * differ. `carried_elsewhere`: in the books another network carries it. `event_not_recorded`: the books cannot hold the returned money.
 */
export type PaymentDifferenceKind =
  'payment_not_in_books' | 'payment_not_at_network' | 'content_differs' | 'carried_elsewhere' | 'event_not_recorded';

interface PaymentDifference {
  readonly kind: PaymentDifferenceKind;
  /** The name of the network. */
  readonly rail: string;
  readonly key: string;
  readonly workspaceId: number;
  /** Of the key. After a restore, a lost transaction and a new one may have the same id. */
  readonly transactionId: number;
  /** At the network, or in the books if the network does not have the payment: minor units. */
  readonly amount: string;
  /** ISO 4217. */
  readonly currency: string;
  /** RFC 3339; missing if the network does not have the payment. */
  readonly acceptedAt?: string;
  /** The last event of the network. */
  readonly status?: string;
}

/** A payout whose events the network has and the books did not. */
interface LaggingPayout {
  readonly workspaceId: number;
  readonly transactionId: number;
  /** In the books, before. */
  readonly status: BookedPayout['status'];
  readonly newEvents: readonly string[];
}

export interface Reconciliation {
  /** RFC 3339. Payments that the network accepted before are not compared, except those of open payouts. */
  readonly since: string;
  /** Whether the events were recorded, and the network is asked before each open payout is submitted or its money returns. */
  readonly isApplied: boolean;
  /** Payments of the network since then. */
  readonly payments: number;
  /** Of them, payments of other services. */
  readonly foreignPayments: number;
  readonly openPayouts: number;
  /** Open payouts that the network does not have: a worker submits them. */
  readonly unsubmitted: number;
  /** Open payouts that the network does not have, and that no worker submits without the approval that they lack. */
  readonly unapproved: number;
  /** Open payouts of a network that is not configured: they are not compared. */
  readonly withoutNetwork: number;
  /** Networks that did not serve. Their payments are not all compared. */
  readonly unreachable: readonly string[];
  readonly lagging: readonly LaggingPayout[];
  readonly differences: readonly PaymentDifference[];
  /** Due work, such as the run of an order, that may have made a payment which the books do not have. It is parked. */
  readonly heldWork: readonly WorkKey[];
}

export interface ReconcileOptions {
  readonly books: Books;
  readonly rails: OpenRails;
  /** All workspaces of the deployment. */
  readonly workspaceIds: readonly number[];
  /** RFC 3339. Default: seven days before the last transaction of the books. */
  readonly since?: string | undefined;
  /** Whether to record the events. Default: nothing is changed. */
  readonly isApplied?: boolean | undefined;
  /** Writes the parked work to the audit trail. */
  readonly noteChanges?: NoteChanges | undefined;
  /** Aborts a call to the network. Default: after 10 s. */
  readonly deadline?: (() => AbortSignal) | undefined;
}

/** A network may still contradict a final status so long after it accepted the payment. */
const DEFAULT_DAYS = 7;

/** Work before payouts, as a worker locks them. */
const MAKE_DUE = sqlStatement(
  'make_payouts_due',
  `update work w set due_at = clock_timestamp()
   from unnest($1::bigint[], $2::bigint[]) u(workspace_id, subject_id)
   where (w.workspace_id, w.kind, w.subject_id) = (u.workspace_id, '${PAYOUT}', u.subject_id)
     and w.parked_at is null and w.due_at > clock_timestamp()`,
);

/** A payout that was tried is asked for by key anyway. It is no try, because a payout is decided and returned before its first one. */
const ASK_FIRST = sqlStatement(
  'ask_network_first',
  `update payout p set ask_first = true, updated_at = statement_timestamp()
   from unnest($1::bigint[], $2::bigint[]) u(workspace_id, transaction_id)
   where (p.workspace_id, p.transaction_id) = (u.workspace_id, u.transaction_id) and p.tries = 0 and not p.ask_first
     and p.status in ('due', 'submitting')`,
);

/**
 * Compares the payments of the networks with the payouts of the books, after a restore or a promotion. The books then lack what happened
 * later, and the network does not deliver acknowledged events again.
 *
 * Events of payouts that the books have are recorded as if the network had delivered them. A payment that the books do not have is
 * reported, never booked, and work that could make it again is parked. May run beside workers, and again.
 *
 * @throws the errors of the network, and Refusal for a transient failure of the database
 */
export async function reconcilePayouts(options: ReconcileOptions): Promise<Reconciliation> {
  const { books, workspaceIds, isApplied = false } = options;
  const since =
    options.since ??
    (await findDaysBeforeLastTransaction(books.database, workspaceIds, DEFAULT_DAYS)) ??
    new Date(0).toISOString();
  const run = new ReconcileRun({ ...options, since, isApplied });
  for (const [name, rail] of options.rails) await run.unlessAway(name, () => run.compareListed(name, rail));
  await run.compareOpen();
  const { lagging, differences, unreachable } = run;
  const lost = differences.filter(({ kind }) => kind === 'payment_not_in_books');
  const heldWork = await holdLateWork(books.database, lost, isApplied, options.noteChanges);
  return { since, isApplied, ...run.counts, unreachable: [...unreachable], lagging, differences, heldWork };
}

class ReconcileRun {
  readonly lagging: LaggingPayout[] = [];
  readonly differences: PaymentDifference[] = [];
  /** Networks that do not serve: they are not asked again. */
  readonly unreachable = new Set<string>();
  readonly counts = {
    payments: 0,
    foreignPayments: 0,
    openPayouts: 0,
    unsubmitted: 0,
    unapproved: 0,
    withoutNetwork: 0,
  };
  /** Keys of payments whose events are not taken over, because they are not those of the payout. */
  private readonly differing = new Set<string>();

  constructor(private readonly options: ReconcileOptions & { readonly since: string; readonly isApplied: boolean }) {}

  /** A network that does not serve keeps no other from being compared. */
  async unlessAway<Value>(rail: string, call: () => Promise<Value>): Promise<Value | undefined> {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof OutageError)) throw error;
      this.unreachable.add(rail);
      return undefined;
    }
  }

  /** Reads each page of the network before the books: a payout is committed before its payment is submitted. */
  async compareListed(name: string, rail: Rail): Promise<void> {
    const { since } = this.options;
    for (let last: string | undefined; ;) {
      const page = await rail.listSubmitted(since, last, this.deadline());
      last = page.at(-1)?.key;
      if (last === undefined) return;
      await this.comparePage(name, page);
    }
  }

  private async comparePage(rail: string, page: readonly SubmittedPayment[]): Promise<void> {
    const { database } = this.options.books;
    // Another database compares the payments of its own workspaces.
    const own = await servedHere(database, page);
    const booked = await findPayouts(
      database,
      own.flatMap(({ key }) => parsePayoutKey(key) ?? []),
    );
    this.counts.payments += own.length;
    for (const payment of own) {
      const name = parsePayoutKey(payment.key);
      const payout = booked.get(payment.key);
      if (name === undefined) this.counts.foreignPayments += 1;
      else if (payout === undefined) this.report('payment_not_in_books', { ...name, rail }, payment, payment);
      else if (payout.rail !== rail) this.report('carried_elsewhere', { ...name, rail }, payment, payment);
      else if (!isSameContent(payment, payout)) {
        this.differing.add(payment.key);
        this.report('content_differs', payout, payment, payment);
      } else if (isFinal(payout)) await this.takeOver(payout, payment.events);
    }
  }

  /** Asks for each open payout by key, whenever it was submitted. */
  async compareOpen(): Promise<void> {
    const { books, rails, workspaceIds, isApplied } = this.options;
    for await (const page of listOpenPayouts(books.database, workspaceIds)) {
      if (isApplied) await this.askFirst(page);
      for (const payout of page) {
        this.counts.openPayouts += 1;
        if (this.differing.has(payout.key)) continue;
        const rail = rails.get(payout.rail);
        if (!rail) {
          this.counts.withoutNetwork += 1;
          continue;
        }
        if (this.unreachable.has(payout.rail)) continue;
        const answer = await this.unlessAway(payout.rail, async () => ({
          found: await rail.find(payout.key, this.deadline()),
        }));
        if (answer === undefined) continue;
        const { found } = answer;
        if (found && !isSameContent(found, payout))
          this.report('content_differs', payout, { ...found, key: payout.key }, found);
        else if (found) await this.takeOver(payout, found.events);
        else if (payout.isAccepted) this.report('payment_not_at_network', payout, payout);
        else if (payout.isUnapproved) this.counts.unapproved += 1;
        else this.counts.unsubmitted += 1;
      }
    }
  }

  private async takeOver(payout: BookedPayout, events: readonly RailEvent[]): Promise<void> {
    const { workspaceId, transactionId, status } = payout;
    const missing = events.filter((event) => !payout.events.has(nameOfEvent(event)));
    if (missing.length === 0) return;
    this.lagging.push({ workspaceId, transactionId, status, newEvents: missing.map((event) => event.status) });
    if (!this.options.isApplied) return;
    try {
      for (const event of missing) await recordEvent(this.options.books, workspaceId, transactionId, event);
    } catch (error) {
      if (!(error instanceof Refusal && error.reason === 'balance_limit_exceeded')) throw error;
      this.report('event_not_recorded', payout, payout, { events });
    }
  }

  private async askFirst(page: readonly BookedPayout[]): Promise<void> {
    const workspaces = page.map(({ workspaceId }) => workspaceId);
    const transactions = page.map(({ transactionId }) => transactionId);
    await this.options.books.database.pipeline({ workspaces: [...new Set(workspaces)] }, [
      bind(MAKE_DUE, workspaces, transactions),
      bind(ASK_FIRST, workspaces, transactions),
    ]);
  }

  private report(
    kind: PaymentDifferenceKind,
    { rail, workspaceId, transactionId }: Pick<BookedPayout, 'rail' | 'workspaceId' | 'transactionId'>,
    { key, amount, currency }: Pick<BookedPayout, 'key' | 'amount' | 'currency'>,
    { acceptedAt, events = [] }: Partial<SubmittedPayment> = {},
  ): void {
    const status = events.at(-1)?.status;
    this.differences.push({
      ...{ kind, rail, key, workspaceId, transactionId, amount: amount.toString(), currency },
      ...(acceptedAt !== undefined && { acceptedAt }),
      ...(status !== undefined && { status }),
    });
  }

  private deadline(): AbortSignal {
    return (this.options.deadline ?? (() => AbortSignal.timeout(10_000)))();
  }
}

export const isSameContent = (
  payment: Pick<FoundPayment, 'amount' | 'currency'>,
  payout: Pick<BookedPayout, 'amount' | 'currency'>,
): boolean => payment.amount === payout.amount && payment.currency === payout.currency;

const isFinal = ({ status }: BookedPayout): boolean => status === 'settled' || status === 'failed';

/** A payout in the books, with what a network must have of it. */
export interface BookedPayout {
  readonly key: string;
  /** The network that carries it. */
  readonly rail: string;
  readonly workspaceId: number;
  readonly transactionId: number;
  readonly status: PayoutStatus;
  /** Whether the network is known to have had it. */
  readonly isAccepted: boolean;
  /** Whether it lacks the approval without which no worker submits it. */
  readonly isUnapproved: boolean;
  /** The amount that arrives. */
  readonly amount: MinorUnits;
  /** ISO 4217. */
  readonly currency: string;
  /** Id and status of each recorded event, as `nameOfEvent` writes them. */
  readonly events: ReadonlySet<string>;
}

interface PayoutRow {
  workspace_id: bigint;
  transaction_id: bigint;
  key_nonce: string;
  rail: string;
  status: BookedPayout['status'];
  is_accepted: boolean;
  is_unapproved: boolean;
  amount: bigint;
  currency: string;
  events: string[];
}

/** After a conversion the amount that arrives is in the target currency: the credit of the settlement account. */
const PAYOUT_COLUMNS = `
  p.workspace_id, p.transaction_id, p.key_nonce, p.rail, p.status, s.amount, c.code as currency, p.accepted_at is not null as is_accepted,
  p.needs_decision and p.status = 'due' and not exists (
    select from payout_decision d
    where (d.workspace_id, d.transaction_id) = (p.workspace_id, p.transaction_id) and d.decision = 'approve') as is_unapproved,
  array(
    select e.provider_event || ' ' || e.status
    from remittance_event e where (e.workspace_id, e.transaction_id) = (p.workspace_id, p.transaction_id)
  ) as events`;

const SETTLEMENT = `
  join ${ownLegsOf('settlement', { workspaceId: 'p.workspace_id', id: 'p.transaction_id' })} s on s.direction = 'credit'
  join currency c on c.id = s.currency_id`;

export const FIND_PAYOUTS = sqlStatement<PayoutRow>(
  'find_payouts',
  `select ${PAYOUT_COLUMNS}
   from unnest($1::bigint[], $2::bigint[]) u(workspace_id, transaction_id)
   join payout p on (p.workspace_id, p.transaction_id) = (u.workspace_id, u.transaction_id) ${SETTLEMENT}`,
);

const PAGE_SIZE = 500;

/** Payouts with work: the others were submitted by another system, or have a final status. */
export const LIST_OPEN_PAYOUTS = sqlStatement<PayoutRow>(
  'list_open_payouts',
  `select ${PAYOUT_COLUMNS}
   from work k join payout p on (p.workspace_id, p.transaction_id) = (k.workspace_id, k.subject_id) ${SETTLEMENT}
   where k.kind = '${PAYOUT}' and (k.workspace_id, k.subject_id) > ($1, $2) and p.status not in ('settled', 'failed')
   order by k.workspace_id, k.subject_id limit ${PAGE_SIZE}`,
);

const LAST_TRANSACTION = sqlStatement<{ at: string | null }>(
  'find_last_transaction',
  `select rfc3339(max(x.created_at) - $2 * interval '1 day') as at
   from unnest($1::bigint[]) w cross join lateral (
     select created_at from transaction where workspace_id = w order by id desc limit 1
   ) x`,
);

/** Finds the payouts of these ids, by key. A payout of the same ids and another key is not among them. */
export async function findPayouts(
  database: Database,
  names: readonly Outgoing[],
): Promise<ReadonlyMap<string, BookedPayout>> {
  const workspaces = names.map(({ workspaceId }) => workspaceId);
  const transactions = names.map(({ transactionId }) => transactionId);
  const [rows] = await database.pipeline({ workspaces: [...new Set(workspaces)] }, [
    bind(FIND_PAYOUTS, workspaces, transactions),
  ] as const);
  return new Map(rows.map(bookedPayoutOf).map((payout) => [payout.key, payout]));
}

/** The payouts of these workspaces that have no final status, page by page. */
async function* listOpenPayouts(
  database: Database,
  workspaces: readonly number[],
): AsyncGenerator<readonly BookedPayout[]> {
  let last: Pick<BookedPayout, 'workspaceId' | 'transactionId'> = { workspaceId: 0, transactionId: 0 };
  for (;;) {
    const query = bind(LIST_OPEN_PAYOUTS, last.workspaceId, last.transactionId);
    const [rows] = await database.pipeline({ workspaces }, [query] as const);
    const page = rows.map(bookedPayoutOf);
    const end = page.at(-1);
    if (end === undefined) return;
    yield page;
    last = end;
  }
}

/** Some days before the last transaction of the books: RFC 3339. Undefined for empty books. */
async function findDaysBeforeLastTransaction(
  database: Database,
  workspaces: readonly number[],
  days: number,
): Promise<string | undefined> {
  const row = await database.read({ workspaces }, bind(LAST_TRANSACTION, workspaces, days));
  return row?.at ?? undefined;
}

const nameOfEvent = ({ providerEvent, status }: { providerEvent: string; status: string }): string =>
  `${providerEvent} ${status}`;

function bookedPayoutOf({ workspace_id, transaction_id, key_nonce, amount, events, ...row }: PayoutRow): BookedPayout {
  const workspaceId = Number(workspace_id);
  const transactionId = Number(transaction_id);
  return {
    key: payoutKey({ workspaceId, transactionId, nonce: key_nonce }),
    ...{ rail: row.rail, isAccepted: row.is_accepted, isUnapproved: row.is_unapproved },
    ...{ workspaceId, transactionId, status: row.status, amount: minorUnits(amount), currency: row.currency },
    events: new Set(events),
  };
}
