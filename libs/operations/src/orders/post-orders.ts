import { type Order, Refusal } from '@banking/domain';
import {
  accountKey,
  type Books,
  type DecisionContext,
  type LeasedPayout,
  leasedPayouts,
  postPayments,
  type PreparedPosting,
  preparePosting,
} from '@banking/ledger';
import {
  bisect,
  type BoundStatement,
  type Database,
  DatabaseError,
  type DbTransaction,
  RULE_VIOLATION,
} from '@banking/postgres';
import { freshPayout } from '@banking/payouts';
import type { Reservation } from '@banking/work-queue';
import { referenceReused, refusedQuote } from '../payments/field-refusal.js';
import { auditEntriesOf, decideOrders, type OrderDecision, type PostedOrder } from './decide-orders.js';
import { type AccountsByKey, type LockedOrder, lockOrders, payeeIn } from './lock-orders.js';
import { type IdempotencyKey, storeResponses } from '../idempotency/idempotency-key.js';
import type { ReferenceData } from '../reference/reference.js';
import type { BatchLimits } from '../limits/batch-limits.js';
import { limitExceeded, type LimitRow, type LimitUse } from '../limits/limit-row.js';
import { ORDER, type OrderFacts } from '../resources/compose-order.js';
import type { AccountRow } from '../resources/compose-parties.js';
import { noteAudit } from '../audit/audited-call.js';
import { answerOf, orderRecord } from './order-answers.js';
import { accountsAfter, orderStatements, placedOrderFacts, writesOf } from './order-writes.js';
import { holdAccounts, type RememberedAccounts, type RememberedPayment } from './remembered-accounts.js';
import { type OrderOutcome, type PreparedOrder, proposalOf } from './prepared-order.js';

/** What orders are posted with. */
export interface OrderPosting {
  readonly books: Books;
  readonly reference: ReferenceData;
  readonly remembered: RememberedAccounts;
  readonly handOver?: HandOver | undefined;
}

/** How a worker of the same process gets the work of orders. */
export interface HandOver {
  /** Reserves space for so many payouts of a network, or for fewer. They are written as claimed by the worker. */
  readonly reservePayouts?: ((rail: string, count: number) => Reservation | undefined) | undefined;
  /** Called when orders have been written; `isQueued` unless all that they need was handed over. */
  readonly onPlaced?: ((isQueued: boolean) => void) | undefined;
}

/**
 * Carries out orders in one database transaction: locks and reads, decides the orders in their order, writes with one statement a table,
 * and commits with the responses to requests with keys.
 *
 * Payments whose accounts and facts are remembered are carried out before, in a database transaction of their own: they are decided first,
 * then locked, compared, written and committed in one round trip.
 *
 * A batch that the database rejects is carried out in halves until each rejected order is alone. After a lost connection the outcome of
 * each order is `failed` with `CommitInDoubtError`, or refused with `unavailable`.
 *
 * @param waitsForLocks whether to wait for rows that another session has locked, or to leave their orders out
 * @param onDecided called when the batch is decided, and the database writes it
 * @returns an outcome for each order, in their order
 */
export async function postOrders(
  posting: OrderPosting,
  orders: readonly PreparedOrder[],
  waitsForLocks: boolean,
  onDecided: () => void = () => undefined,
): Promise<readonly OrderOutcome[]> {
  const outcomes = new Map(waitsForLocks ? [] : await postRemembered(posting, orders, onDecided));
  const others = orders.filter((order) => !outcomes.has(order));
  if (others.length === 0) return orders.map((order) => outcomes.get(order)!);
  const read = await bisect<PreparedOrder, OrderOutcome>(
    others,
    (batch) => postRead(posting, batch, waitsForLocks, onDecided),
    (order, error) => (error instanceof DatabaseError ? outcomeOfRejection(posting, order, error) : failure(error)),
  );
  others.forEach((order, index) => outcomes.set(order, read[index]!));
  return orders.map((order) => outcomes.get(order)!);
}

/** How often payments are tried on what is remembered, without those that were refused. The others are read. */
const REMEMBERED_TRIES = 2;

/** The outcomes of the orders that were carried out on what is remembered. No refusal and no replay comes from that: such orders are read. */
async function postRemembered(
  posting: OrderPosting,
  orders: readonly PreparedOrder[],
  onDecided: () => void,
): Promise<readonly (readonly [PreparedOrder, OrderOutcome])[]> {
  let payments = posting.remembered.recallable(orders);
  for (let tries = 0; payments.length > 0 && tries < REMEMBERED_TRIES; tries += 1) {
    const batch = await prepareBatch(posting, payments, onDecided);
    const recalled = posting.remembered.recall(batch.prepared, payments);
    if (!recalled) return [];
    const { context, accounts, limits } = recalled;
    const decisions = decideOrders(context, payments.map(asIfLocked), limits).filter(isPlaced);
    const placed = decisions.map(({ order }) => order);
    if (placed.length === 0) return [];
    const held = recalled.heldFor(placed);
    const hold = holdAccounts(held, accounts, placed, context.at);
    try {
      const written = await writeBatch(posting, batch, placed, (tx, leasedMax) =>
        writeDecisions(tx, decisions, recalled, { ...batch, leasedMax }, [hold]),
      );
      return decisions.map((decision) => [decision.order, placedOutcome(written.resources.get(decision)!, false)]);
    } catch (error) {
      if (!(error instanceof DatabaseError)) return placed.map((order) => [order, failure(error as Error)]);
      const refused = new Set(posting.remembered.refusedBy(error, held, placed));
      if (refused.size === 0) return [];
      payments = placed.filter((order) => !refused.has(order));
    }
  }
  return [];
}

/** What `hold_accounts` requires behind the locks. */
const asIfLocked = (order: RememberedPayment): LockedOrder => ({
  order,
  lockedElsewhere: undefined,
  placedEarlier: undefined,
  stored: undefined,
  conflicts: undefined,
  isOutdated: false,
  runState: undefined,
});

async function postRead(
  posting: OrderPosting,
  orders: readonly PreparedOrder[],
  waitsForLocks: boolean,
  onDecided: () => void,
): Promise<OrderOutcome[]> {
  const { books, reference, remembered } = posting;
  const batch = await prepareBatch(posting, orders, onDecided);
  const { decisions, resources } = await writeBatch(posting, batch, orders, async (tx, leasedMax) => {
    const locked = await lockOrders(tx, batch.prepared, orders, waitsForLocks);
    remembered.compare(locked.context, locked.limits);
    const decided = decideOrders(locked.context, locked.lockedOrders, locked.limits);
    return writeDecisions(tx, decided, locked, { ...batch, leasedMax });
  });
  return Promise.all(decisions.map((decision) => outcomeOf(decision, resources, books.database, reference)));
}

/** Writes a batch, and hands its payouts over to the worker of this process, as many as that takes. */
async function writeBatch(
  { books, handOver }: OrderPosting,
  { workspaces }: Batch,
  orders: readonly PreparedOrder[],
  write: (tx: DbTransaction, leasedMax: ReadonlyMap<string, number>) => Promise<Written>,
): Promise<Written> {
  const reservations = reserve(orders, handOver);
  const leasedMax = new Map([...reservations].map(([rail, { space }]) => [rail, space]));
  const written = await books.database
    .transaction({ workspaces }, (tx) => write(tx, leasedMax))
    .finally(() => reservations.forEach((reservation) => reservation.release()));
  for (const [name, reservation] of reservations) {
    reservation.take(written.leased.filter(({ rail }) => rail === name).map(freshPayout));
  }
  handOver?.onPlaced?.(written.leased.length < orders.length);
  return written;
}

/** Space of the worker of this process for payouts, by their network. */
function reserve(orders: readonly PreparedOrder[], handOver: HandOver | undefined): ReadonlyMap<string, Reservation> {
  const counts = new Map<string, number>();
  for (const { rail } of orders.flatMap(({ entries }) => entries)) {
    if (rail !== undefined) counts.set(rail, (counts.get(rail) ?? 0) + 1);
  }
  const reservations = new Map<string, Reservation>();
  for (const [rail, count] of counts) {
    const reservation = handOver?.reservePayouts?.(rail, count);
    if (reservation) reservations.set(rail, reservation);
  }
  return reservations;
}

interface Batch {
  readonly prepared: PreparedPosting;
  readonly workspaces: readonly number[];
  readonly compose: Compose;
  readonly remembered: RememberedAccounts;
  readonly onDecided: () => void;
}

/** What a batch needs before its database transaction, which holds a connection and locks. */
async function prepareBatch(
  { books, reference, remembered }: OrderPosting,
  orders: readonly PreparedOrder[],
  onDecided: () => void,
): Promise<Batch> {
  const prepared = await preparePosting(books, orders.map(proposalOf));
  const workspaces = [...new Set([...prepared.workspaces, ...orders.map(({ workspaceId }) => workspaceId)])];
  const known = await reference.current();
  const compose: Compose = (facts) =>
    reference.composeWith(known, (current) => ({
      version: current.version,
      resources: facts.map((row) => ORDER.compose(current, row)),
    }));
  return { prepared, workspaces, compose, remembered, onDecided };
}

/** Composes orders, all with one version of the reference data. */
type Compose = (
  facts: readonly OrderFacts[],
) => Promise<{ readonly version: bigint; readonly resources: readonly Order[] }>;

interface Answer {
  readonly decision: OrderDecision;
  readonly facts: OrderFacts;
  readonly key: IdempotencyKey | undefined;
}

interface Written {
  readonly decisions: readonly OrderDecision[];
  /** The orders that were placed or found. */
  readonly resources: ReadonlyMap<OrderDecision, Order>;
  readonly leased: readonly LeasedPayout[];
}

/** What a batch was decided on, as its orders leave it. */
interface DecidedOn {
  readonly context: DecisionContext;
  readonly accounts: AccountsByKey;
  readonly limits: BatchLimits;
}

/** Writes all decisions and commits. The responses are composed of the rows that are written, before these are sent. */
async function writeDecisions(
  tx: DbTransaction,
  decisions: readonly OrderDecision[],
  { context, accounts, limits }: DecidedOn,
  { compose, onDecided, remembered, leasedMax }: Batch & { readonly leasedMax: ReadonlyMap<string, number> },
  before: readonly BoundStatement<unknown>[] = [],
): Promise<Written> {
  const writes = decisions.map(writesOf);
  const transactions = decisions.flatMap((decision) => (decision.kind === 'posted' ? decision.posted : []));
  const responses = new Map<OrderDecision, Order>();
  const after = accountsAfter(accounts, transactions);
  const answers = decisions.flatMap((decision, index): Answer[] => {
    if (decision.kind === 'existing') return [{ decision, facts: decision.facts, key: undefined }];
    if (!isPlaced(decision)) return [];
    return [{ decision, facts: placedOrderFacts(decision, writes[index]!, after), key: decision.order.key }];
  });
  const { version, resources } = await compose(answers.map(({ facts }) => facts));
  answers.forEach(({ decision }, index) => responses.set(decision, resources[index]!));
  const keyed = answers.flatMap(({ decision, key, facts }) =>
    key ? [{ key, answer: orderRecord(version, facts, payeeOf(decision.order, after)) }] : [],
  );
  const entries = auditEntriesOf(decisions);
  setImmediate(onDecided);
  const rows = await tx.commit([
    ...before,
    ...postPayments(transactions, leasedMax),
    ...orderStatements(writes),
    ...(keyed.length === 0 ? [] : [storeResponses(keyed)]),
    ...(entries.length === 0 ? [] : [noteAudit(entries)]),
  ]);
  remembered.remember(context, after, limits);
  remembered.noteUsed(answers.map(({ decision }) => decision.order));
  return { decisions, resources: responses, leased: transactions.length > 0 ? leasedPayouts(rows[before.length]) : [] };
}

const isPlaced = (decision: OrderDecision): decision is PostedOrder & { readonly order: RememberedPayment } =>
  decision.kind === 'posted' && decision.order.kind === 'placement';

const placedOutcome = (resource: Order, isReplay: boolean): OrderOutcome => ({
  kind: 'placed',
  created: { resource, isReplay },
});

function payeeOf({ workspaceId, terms }: PreparedOrder, accounts: AccountsByKey): AccountRow | undefined {
  const accountId = payeeIn(workspaceId, terms);
  return accountId === undefined ? undefined : accounts.get(accountKey(workspaceId, accountId));
}

async function outcomeOf(
  decision: OrderDecision,
  resources: Written['resources'],
  database: Database,
  reference: ReferenceData,
): Promise<OrderOutcome> {
  const outcome = (resource: Order | undefined, isReplay: boolean): OrderOutcome =>
    resource === undefined ? { kind: 'run' } : placedOutcome(resource, isReplay);
  switch (decision.kind) {
    case 'posted':
    case 'existing':
      return outcome(resources.get(decision), false);
    case 'replays':
      return outcome(resources.get(decision.original), true);
    case 'stored':
      // A failure is that of this order alone: the other orders of the batch are committed.
      return answerOf({ database, reference }, decision.order.workspaceId, decision.record).then(
        (resource) => outcome(resource, decision.isReplay),
        failure,
      );
    case 'refused':
      return { kind: 'refused', refusal: decision.refusal };
    case 'locked':
      return { kind: 'locked', by: decision.by };
    case 'outdated':
      return { kind: 'outdated' };
    case 'not_due':
      return { kind: 'run' };
  }
}

export const failure = (error: Error): OrderOutcome =>
  error instanceof Refusal ? { kind: 'refused', refusal: error } : { kind: 'failed', error };

/** Constraints and codes of rules that another process broke between the locks and the commit. */
const REFUSALS: Readonly<Record<string, () => Refusal>> = {
  customer_order_reference: referenceReused,
  quote_use_pkey: () => refusedQuote('quote_used'),
  [RULE_VIOLATION.notApproved]: () => new Refusal('approval_changed'),
  [RULE_VIOLATION.quoteUnusable]: () => refusedQuote('quote_expired'),
};

/** The database asks for approvals of an order that was prepared by former rules: it is prepared again. A run is not what was approved. */
function outcomeOfUnapproved(order: PreparedOrder): OrderOutcome | undefined {
  return order.kind === 'placement' ? { kind: 'outdated' } : undefined;
}

/** The outcome of an order that the database rejects by itself. The refusal of a run is recorded as its failure. */
async function outcomeOfRejection(
  posting: OrderPosting,
  order: PreparedOrder,
  error: DatabaseError,
): Promise<OrderOutcome> {
  if (error.code === RULE_VIOLATION.limitExceeded) {
    const { limit, used, endsAt } = JSON.parse(error.detail ?? '{}') as Partial<ExceededLimit>;
    // The limits were changed since it was prepared.
    if (!limit) return { kind: 'outdated' };
    const use = used === undefined || endsAt === undefined ? undefined : { used, endsAt };
    return outcomeOfRefusal(posting, order, limitExceeded(limit, use));
  }
  const unapproved = error.code === RULE_VIOLATION.notApproved ? outcomeOfUnapproved(order) : undefined;
  if (unapproved) return unapproved;
  const refusal = (REFUSALS[error.constraint ?? ''] ?? REFUSALS[error.code ?? ''])?.();
  return refusal ? outcomeOfRefusal(posting, order, refusal) : { kind: 'failed', error };
}

/** What `count_payments` of the database says of a payment that it rejects, beside the workspaces. */
interface ExceededLimit extends LimitUse {
  readonly limit: LimitRow;
}

async function outcomeOfRefusal(posting: OrderPosting, order: PreparedOrder, refusal: Refusal): Promise<OrderOutcome> {
  if (order.kind === 'placement') return { kind: 'refused', refusal };
  const [outcome] = await postOrders(posting, [{ ...order, terms: undefined, entries: [], refusal }], true);
  return outcome ?? { kind: 'refused', refusal };
}
