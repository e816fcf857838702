import { type Order, Refusal } from '@banking/domain';
import {
  accountKey,
  type Books,
  type DecisionContext,
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
import { auditEntriesOf, decideOrders, type OrderDecision, type PostedOrder } from './decide-orders.js';
import { type AccountsByKey, type LockedOrder, lockOrders, payeeIn } from './lock-orders.js';
import { type IdempotencyKey, storeResponses } from '../idempotency/idempotency-key.js';
import type { ReferenceData } from '../reference/reference.js';
import { ORDER, type OrderFacts } from '../resources/compose-order.js';
import type { AccountRow } from '../resources/compose-parties.js';
import { noteAudit } from '../audit/audited-call.js';
import { answerOf, orderRecord } from './order-answers.js';
import { accountsAfter, placedOrderFacts, writesOf } from './order-writes.js';
import { orderStatements } from './order-statements.js';
import { holdAccounts, type RememberedAccounts } from './remembered-accounts.js';
import { type OrderOutcome, type Placement, type PreparedOrder, proposalOf } from './prepared-order.js';

/** What orders are posted with. */
export interface OrderPosting {
  readonly books: Books;
  readonly reference: ReferenceData;
  readonly remembered: RememberedAccounts;
}

/**
 * Carries out orders in one database transaction: locks and reads, decides the orders in their order, writes with one statement a table,
 * and commits with the responses to requests with keys. Payments whose accounts are remembered are decided before, and are locked,
 * compared, written and committed in one round trip.
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
  return bisect<PreparedOrder, OrderOutcome>(
    orders,
    (batch) => postBatch(posting, batch, waitsForLocks, onDecided),
    (order, error) => (error instanceof DatabaseError ? outcomeOfRejection(posting, order, error) : failure(error)),
  );
}

async function postBatch(
  { books, reference, remembered }: OrderPosting,
  orders: readonly PreparedOrder[],
  waitsForLocks: boolean,
  onDecided: () => void,
): Promise<OrderOutcome[]> {
  const posting = await preparePosting(books, orders.map(proposalOf));
  const workspaces = [...new Set([...posting.workspaces, ...orders.map(({ workspaceId }) => workspaceId)])];
  // Read before, because the database transaction holds a connection and locks.
  const known = await reference.current();
  const compose: Compose = (facts) =>
    reference.composeWith(known, (current) => ({
      version: current.version,
      resources: facts.map((row) => ORDER.compose(current, row)),
    }));
  const batch = { posting, orders, workspaces, compose, onDecided };
  const { decisions, resources } =
    (waitsForLocks ? undefined : await postRemembered(books, remembered, batch)) ??
    (await books.database.transaction({ workspaces }, async (tx) => {
      const locked = await lockOrders(tx, posting, orders, waitsForLocks);
      remembered.compare(locked.context);
      return writeDecisions(tx, decideOrders(locked.context, locked.lockedOrders), locked, { ...batch, remembered });
    }));
  return Promise.all(decisions.map((decision) => outcomeOf(decision, resources, books.database, reference)));
}

interface Batch {
  readonly posting: PreparedPosting;
  readonly orders: readonly PreparedOrder[];
  readonly workspaces: readonly number[];
  readonly compose: Compose;
  readonly onDecided: () => void;
}

/**
 * Carries out a batch of payments in one round trip, on accounts and facts that are remembered. Undefined if it has to be read first:
 * nothing was written. So no refusal comes from what is remembered, and no replay.
 */
async function postRemembered(
  books: Books,
  remembered: RememberedAccounts,
  batch: Batch,
): Promise<Written | undefined> {
  const payments = batch.orders.filter(isRemembered);
  const recalled = payments.length === batch.orders.length ? remembered.recall(batch.posting, payments) : undefined;
  if (!recalled) return undefined;
  const { context, states, accounts } = recalled;
  const decisions = decideOrders(context, payments.map(asIfLocked));
  if (!decisions.every(isPlaced)) return undefined;
  const hold = holdAccounts(states, accounts, payments, context.at);
  try {
    return await books.database.transaction({ workspaces: batch.workspaces }, (tx) =>
      writeDecisions(tx, decisions, recalled, { ...batch, remembered }, [hold]),
    );
  } catch (error) {
    if (error instanceof DatabaseError) return undefined;
    throw error;
  }
}

const isRemembered = (order: PreparedOrder): order is PreparedOrder & Placement =>
  order.kind === 'placement' && order.rememberedVersions !== undefined;

/** As `hold_accounts` requires it to be behind the locks. An order of an earlier attempt has changed the version of its account. */
const asIfLocked = (order: PreparedOrder): LockedOrder => ({
  order,
  isLockedElsewhere: false,
  placedEarlier: undefined,
  stored: undefined,
  conflicts: undefined,
  isOutdated: false,
  runState: undefined,
});

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
}

/** Writes all decisions and commits. The responses are composed of the rows that are written, before these are sent. */
async function writeDecisions(
  tx: DbTransaction,
  decisions: readonly OrderDecision[],
  { context, accounts }: { readonly context: DecisionContext; readonly accounts: AccountsByKey },
  { compose, onDecided, remembered }: Pick<Batch, 'compose' | 'onDecided'> & Pick<OrderPosting, 'remembered'>,
  before: readonly BoundStatement<unknown>[] = [],
): Promise<Written> {
  const writes = decisions.map(writesOf);
  const transactions = decisions.flatMap((decision) => (decision.kind === 'posted' ? decision.posted : []));
  const responses = new Map<OrderDecision, Order>();
  const conversions = writes.flatMap((write) => write.conversions ?? []);
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
  await tx.commit([
    ...before,
    ...postPayments(transactions, conversions),
    ...orderStatements(writes),
    ...(keyed.length === 0 ? [] : [storeResponses(keyed)]),
    ...(entries.length === 0 ? [] : [noteAudit(entries)]),
  ]);
  remembered.remember(context, after);
  return { decisions, resources: responses };
}

const isPlaced = (decision: OrderDecision): decision is PostedOrder & { readonly order: Placement } =>
  decision.kind === 'posted' && decision.order.kind === 'placement';

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
    resource === undefined ? { kind: 'run' } : { kind: 'placed', created: { resource, isReplay } };
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
      return { kind: 'locked' };
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
  customer_order_reference: () => new Refusal('external_reference_reused'),
  quote_use_pkey: () => new Refusal('quote_used'),
  [RULE_VIOLATION.quoteUnusable]: () => new Refusal('quote_expired'),
};

/** The outcome of an order that the database rejects by itself. The refusal of a run is recorded as its failure. */
async function outcomeOfRejection(
  posting: OrderPosting,
  order: PreparedOrder,
  error: DatabaseError,
): Promise<OrderOutcome> {
  const refusal = (REFUSALS[error.constraint ?? ''] ?? REFUSALS[error.code ?? ''])?.();
  if (!refusal) return { kind: 'failed', error };
  if (order.kind === 'placement') return { kind: 'refused', refusal };
  const [outcome] = await postOrders(posting, [{ ...order, terms: undefined, entries: [], refusal }], true);
  return outcome ?? { kind: 'failed', error };
}
