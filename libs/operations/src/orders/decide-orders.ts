import { minorUnits, Refusal } from '@banking/domain';
import { accountKey, decide, type DecisionContext, type PostedTransaction } from '@banking/ledger';
import { referenceReused, refusedQuote } from '../payments/field-refusal.js';
import { auditEntry, type AuditEntry, BY_SYSTEM, callerOf } from '../audit/audited-call.js';
import { keyConflict } from '../idempotency/idempotency-key.js';
import type { OrderFacts } from '../resources/compose-order.js';
import type { BatchLimits, CountedPayment } from '../limits/batch-limits.js';
import type { LockedOrder } from './lock-orders.js';
import { isLimited, type LockedElsewhere, placerOf, type PreparedOrder, proposalOf } from './prepared-order.js';

/** An order of a batch with the decision on it. */
export type OrderDecision =
  | PostedOrder
  | { readonly kind: 'refused'; readonly order: PreparedOrder; readonly refusal: Refusal }
  /** The order itself without a key, from an attempt whose commit was in doubt. */
  | { readonly kind: 'existing'; readonly order: PreparedOrder; readonly facts: OrderFacts }
  /** The record of the response to an order with the same key: an earlier order, or this one from an attempt in doubt. */
  | { readonly kind: 'stored'; readonly order: PreparedOrder; readonly record: string; readonly isReplay: boolean }
  /** An order before it in the batch has its key, and the same request. */
  | { readonly kind: 'replays'; readonly order: PreparedOrder; readonly original: PostedOrder }
  /** It was prepared of facts that are out of date. */
  | { readonly kind: 'outdated'; readonly order: PreparedOrder }
  | { readonly kind: 'locked'; readonly order: PreparedOrder; readonly by: LockedElsewhere }
  /** The run was carried out or cancelled, or another worker has its claim. */
  | { readonly kind: 'not_due'; readonly order: PreparedOrder };

export interface PostedOrder {
  readonly kind: 'posted';
  readonly order: PreparedOrder;
  readonly posted: readonly PostedTransaction[];
  /** When it is written, in the text of PostgreSQL. What it books may have a later time. */
  readonly at: string;
}

/** The posted orders of the batch by the values that one order only may have: idempotency key, external reference, quote. */
type PostedByUniqueKey = Map<string, PostedOrder>;

/**
 * Decides the orders of a batch one by one, each on what those before it left. Pure but for the accounts of the context and the limits.
 *
 * Behind a run that cannot be decided now, the later runs of its account are not decided either, so that they keep their order.
 *
 * @param limits of the workspaces that have some
 */
export function decideOrders(
  context: DecisionContext,
  batch: readonly LockedOrder[],
  limits: BatchLimits,
): OrderDecision[] {
  const postedByUniqueKey: PostedByUniqueKey = new Map();
  const undecidedRuns = new Map<string, Undecided>();
  return batch.map((lockedOrder) => {
    const { order } = lockedOrder;
    const account = order.kind === 'run' ? accountKey(order.workspaceId, order.run.order.accountId) : undefined;
    const before = account === undefined ? undefined : undecidedRuns.get(account);
    const decision = before ? { ...before, order } : decideOrder(context, lockedOrder, postedByUniqueKey, limits);
    if (account !== undefined && isUndecided(decision)) undecidedRuns.set(account, decision);
    if (decision.kind === 'posted')
      for (const key of uniqueKeysOf(decision.order)) postedByUniqueKey.set(key, decision);
    return decision;
  });
}

type Undecided = Extract<OrderDecision, { readonly kind: 'locked' | 'outdated' }>;

const isUndecided = (decision: OrderDecision): decision is Undecided =>
  decision.kind === 'locked' || decision.kind === 'outdated';

/**
 * An order that exists comes before its key, the key before what the order was prepared of, then a refusal that was known, and the books
 * last.
 */
function decideOrder(
  context: DecisionContext,
  lockedOrder: LockedOrder,
  postedByUniqueKey: PostedByUniqueKey,
  limits: BatchLimits,
): OrderDecision {
  const { order, lockedElsewhere, placedEarlier, stored, runState } = lockedOrder;
  if (lockedElsewhere) return { kind: 'locked', order, by: lockedElsewhere };
  if (placedEarlier !== undefined) {
    if (stored) return { kind: 'stored', order, record: stored.answer, isReplay: false };
    return { kind: 'existing', order, facts: placedEarlier };
  }
  const replay = decideReplay(lockedOrder, postedByUniqueKey);
  if (replay) return replay;
  if (lockedOrder.isOutdated) return { kind: 'outdated', order };
  if (runState === 'locked') return { kind: 'locked', order, by: 'account' };
  if (runState === 'not_due') return { kind: 'not_due', order };
  const counted = countedPaymentOf(order);
  const bookedAt = context.timeOf(proposalOf(order));
  const refusal =
    order.refusal ?? conflictOf(lockedOrder, postedByUniqueKey) ?? (counted && limits.refusalOf(counted, bookedAt));
  if (refusal) return { kind: 'refused', order, refusal };
  const { posted, refused } = decide(context, proposalOf(order));
  if (posted && counted) limits.count(counted, bookedAt);
  return posted ? { kind: 'posted', order, posted, at: context.at } : { kind: 'refused', order, refusal: refused };
}

function countedPaymentOf(order: PreparedOrder): CountedPayment | undefined {
  const { workspaceId, terms } = order;
  if (!terms || !isLimited(order)) return undefined;
  const { accountId, amount } = order.kind === 'placement' ? order.content : order.run.order;
  return { workspaceId, accountId, placedBy: placerOf(order), amount: minorUnits(BigInt(amount)), terms };
}

/** A key is free again if the order that had it was refused. */
function decideReplay({ order, stored }: LockedOrder, postedByUniqueKey: PostedByUniqueKey): OrderDecision | undefined {
  if (order.kind !== 'placement' || !order.key) return undefined;
  const original = postedByUniqueKey.get(uniqueKey('key', order.workspaceId, order.key.operation, order.key.key));
  const first = stored ?? (original?.order.kind === 'placement' ? original.order.key : undefined);
  if (!first) return undefined;
  const refusal = keyConflict(order.key, first);
  if (refusal) return { kind: 'refused', order, refusal };
  if (stored) return { kind: 'stored', order, record: stored.answer, isReplay: true };
  return original && { kind: 'replays', order, original };
}

/** External references and quotes serve one order each. */
function conflictOf({ order, conflicts }: LockedOrder, postedByUniqueKey: PostedByUniqueKey): Refusal | undefined {
  if (order.kind !== 'placement') return undefined;
  const { workspaceId, content } = order;
  if (
    conflicts?.reference_is_taken === true ||
    postedByUniqueKey.has(uniqueKey('reference', workspaceId, content.externalReference))
  ) {
    return referenceReused();
  }
  if (conflicts?.quote_is_used === true || postedByUniqueKey.has(uniqueKey('quote', workspaceId, content.quoteId))) {
    return refusedQuote('quote_used');
  }
  return conflicts?.quote_is_expired === true ? refusedQuote('quote_expired') : undefined;
}

function uniqueKeysOf(order: PreparedOrder): string[] {
  if (order.kind !== 'placement') return [];
  const { workspaceId, key, content } = order;
  return [
    ...(key ? [uniqueKey('key', workspaceId, key.operation, key.key)] : []),
    ...(content.externalReference === undefined
      ? []
      : [uniqueKey('reference', workspaceId, content.externalReference)]),
    ...(content.quoteId === undefined ? [] : [uniqueKey('quote', workspaceId, content.quoteId)]),
  ];
}

const uniqueKey = (kind: string, workspaceId: number, ...value: readonly (string | number | undefined)[]) =>
  JSON.stringify([kind, workspaceId, ...value]);

/** The entries of the audit trail for the decisions of a batch: placed orders, and runs. A refused placement writes nothing. */
export const auditEntriesOf = (decisions: readonly OrderDecision[]): AuditEntry[] => decisions.flatMap(entriesOf);

function entriesOf(decision: OrderDecision): AuditEntry[] {
  const { order, kind } = decision;
  const { workspaceId } = order;
  if (order.kind === 'placement') {
    if (kind !== 'posted') return [];
    const resource = { type: 'order', id: order.content.id };
    return [auditEntry(workspaceId, { operation: 'placeOrder', resource }, callerOf(order.caller))];
  }
  if (kind !== 'posted' && kind !== 'refused') return [];
  const resource = { type: 'order', id: order.run.order.id };
  const reason = kind === 'refused' ? decision.refusal.reason : undefined;
  return [auditEntry(workspaceId, { operation: 'runOrder', resource, reason }, BY_SYSTEM)];
}
