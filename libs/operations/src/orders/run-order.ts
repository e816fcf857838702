import { minorUnits, Refusal, type Timestamp } from '@banking/domain';
import { isTransientFailure, type Claim } from '@banking/work-queue';
import { digestOfRecipient, paymentEntries, recipientOf } from '../payments/payment-entries.js';
import type { PaymentFacts } from '../payments/payment-facts.js';
import { type PaymentMeans, termsOf } from '../payments/payment-terms.js';
import { dueAndNextRun } from './schedule.js';
import type { OrderService } from './order-service.js';
import { isPauseRequired, pauseOrder } from './change-orders.js';
import type { DueRun, PreparedOrder } from './prepared-order.js';

/** A pause, a resumption, a rejected payout and a change of its terms may each overtake a run once. */
const RUN_TRIES_MAX = 5;

/**
 * Carries out a due run for the holder of its claim. A refused run has failed. Nothing is done for a run that is over, or whose claim
 * another worker has. After three rejected payouts in a row, the run is parked and its order paused.
 *
 * @throws Refusal `unavailable`, `rate_unavailable`, `outcome_unknown` if the run must be retried
 */
export async function runOrder(orders: OrderService, claim: Claim): Promise<void> {
  for (let tried = 1; tried <= RUN_TRIES_MAX; tried += 1) if (await tryRun(orders, claim)) return;
  throw new Error(`the order of execution ${claim.subjectId} was changed ${RUN_TRIES_MAX} times while it ran`);
}

/** Returns false if the order or its terms were changed in between, or one more payout rejected. Then the run must be decided again. */
async function tryRun(orders: OrderService, claim: Claim): Promise<boolean> {
  const run = await orders.dueRuns.read(claim);
  if (!run) return true;
  if (run.isPaused) return pauseOrder(orders.database, claim, run.order.id);
  return orders.dueRuns.inTurn(
    run,
    () => prepareRun(run, claim, orders),
    (prepared) => submitRun(orders, prepared),
  );
}

async function submitRun(orders: OrderService, prepared: PreparedOrder): Promise<boolean> {
  try {
    const { kind } = await orders.submit(prepared);
    return kind !== 'outdated';
  } catch (error) {
    if (isPauseRequired(error)) return false;
    // The refusal was written as the failure of the run.
    if (error instanceof Refusal && !isTransientFailure(error)) return true;
    throw error;
  }
}

async function prepareRun(run: DueRun, claim: Claim, orders: OrderService): Promise<PreparedOrder> {
  const { workspaceId } = claim;
  const { accountId, recipientId, quoteId } = run.order;
  const facts = await orders.readFacts({ workspaceId, accountId, recipientId, quoteId });
  const priced = await priceRun(run, claim, await orders.takeExecutionId(), facts, orders);
  return { ...priced, readVersions: facts.versions };
}

/**
 * Prices a run at the rate of the moment. A refusal is part of the result: it is written as the failure of the run.
 *
 * @throws Refusal `unavailable`, `rate_unavailable` if the run must be retried
 */
async function priceRun(
  run: DueRun,
  claim: Claim,
  nextExecutionId: number,
  facts: PaymentFacts,
  means: PaymentMeans,
): Promise<PreparedOrder> {
  const { workspaceId, order } = run;
  const { accountId, recipientId, startAt = '' } = order;
  const isRepeated = order.type !== 'instant';
  const { next } = isRepeated ? dueAndNextRun({ ...order, startAt }, run.sequence, facts.now as Timestamp) : {};
  const prepared = { kind: 'run', workspaceId, accountId, claim, run, next, nextExecutionId } as const;
  try {
    checkApproved(run, facts);
    const terms = await termsOf({ ...order, amount: minorUnits(BigInt(order.amount)) }, facts, means);
    const recipient = recipientOf(recipientId, facts);
    return {
      ...prepared,
      terms,
      entries: paymentEntries({ workspaceId, order, description: order.description, recipient }, terms),
    };
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || isTransientFailure(refusal)) throw refusal;
    return { ...prepared, refusal, entries: [] };
  }
}

/**
 * An instant order runs only after it was approved: for a maker who may still pay, and to the recipient that was approved.
 *
 * @throws Refusal `role_insufficient`, `approval_changed`
 */
function checkApproved({ order, sequence, approved, placerMayPay }: DueRun, facts: PaymentFacts): void {
  if (order.type === 'instant' && !placerMayPay) throw new Refusal('role_insufficient');
  if (approved === null || facts.recipient_kind === null) return;
  const isChanged = approved.recipientDigest !== digestOfRecipient(recipientOf(order.recipientId, facts));
  const isRenamed = sequence === 1 && (approved.recipientAlias ?? null) !== facts.recipientAlias;
  if (isChanged || isRenamed) throw new Refusal('approval_changed');
}
