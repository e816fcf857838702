import { type Order, Refusal } from '@banking/domain';
import { preparePosting, write, type Books } from '@banking/ledger';
import { bisect, DatabaseError, type DbTransaction, RULE_VIOLATION } from '@banking/postgres';
import { decideOrders, type OrderDecision, type PostedOrder } from './decide-orders.js';
import { lockOrders } from './lock-orders.js';
import { storeResponses } from '../idempotency/store-responses.js';
import type { ReferenceData } from '../reference/reference-data.js';
import { ORDER, type OrderFacts } from '../resources/compose-order.js';
import { findPlacedOrders } from './order-responses.js';
import { orderStatements } from './order-statements.js';
import { writesOf } from './order-writes.js';
import { type OrderOutcome, type Placement, type PreparedOrder, proposalOf } from './prepared-order.js';

/** What orders are posted with. */
export interface OrderPosting {
  readonly books: Books;
  readonly reference: ReferenceData;
}

/**
 * Carries out orders in one database transaction: locks and reads, decides the orders in their order, writes with one statement a table,
 * and commits with the responses to requests with keys.
 *
 * A batch that the database rejects is carried out in halves until each rejected order is alone. After a lost connection the outcome of
 * each order is `failed` with `CommitInDoubtError`, or refused with `unavailable`.
 *
 * @param waitsForLocks whether to wait for rows that another session has locked, or to leave their orders out
 * @returns an outcome for each order, in their order
 */
export async function postOrders(
  posting: OrderPosting,
  orders: readonly PreparedOrder[],
  waitsForLocks: boolean,
): Promise<readonly OrderOutcome[]> {
  return bisect<PreparedOrder, OrderOutcome>(
    orders,
    (batch) => postBatch(posting, batch, waitsForLocks),
    (order, error) => (error instanceof DatabaseError ? outcomeOfRejection(posting, order, error) : failure(error)),
  );
}

async function postBatch(
  { books, reference }: OrderPosting,
  orders: readonly PreparedOrder[],
  waitsForLocks: boolean,
): Promise<OrderOutcome[]> {
  const posting = await preparePosting(books, orders.map(proposalOf));
  const workspaces = [...new Set([...posting.workspaces, ...orders.map(({ workspaceId }) => workspaceId)])];
  const composePlaced = await reference.beforeChange();
  const compose = (facts: readonly OrderFacts[]) =>
    composePlaced((current) => facts.map((row) => ORDER.compose(current, row)));
  return books.database.transaction({ workspaces }, async (tx) => {
    const { context, lockedOrders } = await lockOrders(tx, posting, orders, waitsForLocks);
    const decisions = decideOrders(context, lockedOrders);
    const existing = decisions.filter((decision) => decision.kind === 'existing');
    const found = await compose(existing.map(({ facts }) => facts));
    const placed = await writeDecisions(tx, decisions, compose);
    existing.forEach((decision, index) => placed.set(decision, found[index]!));
    return decisions.map((decision) => outcomeOf(decision, placed));
  });
}

type PlacedOrders = Map<OrderDecision, Order>;

/** Writes all decisions and commits. Returns the placed orders. */
async function writeDecisions(
  tx: DbTransaction,
  decisions: readonly OrderDecision[],
  compose: (facts: readonly OrderFacts[]) => Promise<readonly Order[]>,
): Promise<PlacedOrders> {
  const posted = decisions.filter((decision) => decision.kind === 'posted');
  const placed = posted.filter(isPlaced);
  const statements = orderStatements(decisions.map(writesOf));
  const transactions = posted.flatMap((decision) => decision.posted);
  if (placed.length === 0) {
    await write(tx, transactions, statements);
    return new Map();
  }
  const read = findPlacedOrders(placed.map(({ order }) => order));
  const resources: PlacedOrders = new Map();
  await write(tx, transactions, [...statements, read], async (rows) => {
    const facts = rows.at(-1) as readonly OrderFacts[];
    if (facts.length !== placed.length) throw new Error('an order was written that cannot be read');
    const orders = await compose(facts);
    placed.forEach((decision, index) => resources.set(decision, orders[index]!));
    const keyed = placed.flatMap((decision) =>
      decision.order.key ? [{ key: decision.order.key, resource: resources.get(decision) }] : [],
    );
    return keyed.length === 0 ? [] : [storeResponses(keyed)];
  });
  return resources;
}

const isPlaced = (decision: PostedOrder): decision is PostedOrder & { readonly order: Placement } =>
  decision.order.kind === 'placement';

function outcomeOf(decision: OrderDecision, placed: PlacedOrders): OrderOutcome {
  const outcome = (resource: Order | undefined, isReplay: boolean): OrderOutcome =>
    resource === undefined ? { kind: 'run' } : { kind: 'placed', created: { resource, isReplay } };
  switch (decision.kind) {
    case 'posted':
    case 'existing':
      return outcome(placed.get(decision), false);
    case 'replays':
      return outcome(placed.get(decision.original), true);
    case 'stored':
      return outcome(JSON.parse(decision.body) as Order, true);
    case 'refused':
      return { kind: 'refused', refusal: decision.refusal };
    case 'locked':
      return { kind: 'locked' };
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
