import { Refusal } from '@banking/domain';
import { preparePosting, write, type Books } from '@banking/ledger';
import { bisect, DatabaseError, type DbTransaction, RULE_VIOLATION } from '@banking/postgres';
import { decideOrders, type OrderDecision, type PostedOrder } from './decide-orders.js';
import { lockOrders } from './lock-orders.js';
import { asOrder, storeOrderResponses } from './order-responses.js';
import { orderStatements } from './order-statements.js';
import { writesOf } from './order-writes.js';
import { type OrderOutcome, type Placement, type PreparedOrder, proposalOf } from './prepared-order.js';

/**
 * Carries out orders in one database transaction of two pipelines: locks and reads, decides the orders in their order, writes with one
 * statement a table and commits.
 *
 * A batch that the database rejects is carried out in halves until each rejected order is alone. After a lost connection the outcome of
 * each order is `failed` with `CommitInDoubtError`, or refused with `unavailable`.
 *
 * @param waitsForLocks whether to wait for rows that another session has locked, or to leave their orders out
 * @returns an outcome for each order, in their order
 */
export async function postOrders(
  books: Books,
  orders: readonly PreparedOrder[],
  waitsForLocks: boolean,
): Promise<readonly OrderOutcome[]> {
  return bisect<PreparedOrder, OrderOutcome>(
    orders,
    (batch) => postBatch(books, batch, waitsForLocks),
    (order, error) => (error instanceof DatabaseError ? outcomeOfRejection(books, order, error) : failure(error)),
  );
}

async function postBatch(
  books: Books,
  orders: readonly PreparedOrder[],
  waitsForLocks: boolean,
): Promise<OrderOutcome[]> {
  const posting = await preparePosting(books, orders.map(proposalOf));
  const workspaces = [...new Set([...posting.workspaces, ...orders.map(({ workspaceId }) => workspaceId)])];
  return books.database.transaction({ workspaces }, async (tx) => {
    const { context, lockedOrders } = await lockOrders(tx, posting, orders, waitsForLocks);
    const decisions = decideOrders(context, lockedOrders);
    const responses = await writeDecisions(tx, decisions);
    return decisions.map((decision) => outcomeOf(decision, responses));
  });
}

/** Writes all decisions and commits. Returns the placed orders as JSON. */
async function writeDecisions(
  tx: DbTransaction,
  decisions: readonly OrderDecision[],
): Promise<ReadonlyMap<PostedOrder, string>> {
  const posted = decisions.filter((decision) => decision.kind === 'posted');
  const placed = posted.filter(isPlaced);
  const statements = orderStatements(decisions.map(writesOf));
  const transactions = posted.flatMap((decision) => decision.posted);
  if (placed.length === 0) {
    await write(tx, transactions, statements);
    return new Map();
  }
  const responses = storeOrderResponses(placed.map(({ order }) => order));
  const rows = await write(tx, transactions, [...statements, responses]);
  const written = rows.at(-1) as { readonly resource: string }[];
  if (written.length !== placed.length) throw new Error('an order was written that cannot be read');
  return new Map(written.map(({ resource }, index) => [placed[index]!, resource]));
}

const isPlaced = (decision: PostedOrder): decision is PostedOrder & { readonly order: Placement } =>
  decision.order.kind === 'placement';

function outcomeOf(decision: OrderDecision, responses: ReadonlyMap<PostedOrder, string>): OrderOutcome {
  const placed = (resource: string | undefined, isReplay: boolean): OrderOutcome =>
    resource === undefined ? { kind: 'run' } : { kind: 'placed', created: { resource: asOrder(resource), isReplay } };
  switch (decision.kind) {
    case 'posted':
      return placed(responses.get(decision), false);
    case 'replays':
      return placed(responses.get(decision.original), true);
    case 'existing':
      return placed(decision.resource, decision.isReplay);
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
async function outcomeOfRejection(books: Books, order: PreparedOrder, error: DatabaseError): Promise<OrderOutcome> {
  const refusal = (REFUSALS[error.constraint ?? ''] ?? REFUSALS[error.code ?? ''])?.();
  if (!refusal) return { kind: 'failed', error };
  if (order.kind === 'placement') return { kind: 'refused', refusal };
  const [outcome] = await postOrders(books, [{ ...order, terms: undefined, entries: [], refusal }], true);
  return outcome ?? { kind: 'failed', error };
}
