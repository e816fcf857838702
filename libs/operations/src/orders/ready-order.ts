import { Refusal, type RefusalDetail, type Timestamp } from '@banking/domain';
import type { PostedTransaction } from '@banking/ledger';
import { PURPOSES } from '@banking/reference';
import type { RateSource } from '../rates/rate-source.js';
import { scheduleFaults } from './check-schedule.js';
import type { OrderRow, OrderSheet } from './order-rows.js';
import { paymentEntries } from './payment-entries.js';
import type { PaymentFacts } from './payment-facts.js';
import { type PaymentTerms, termsOf } from './payment-terms.js';
import type { ReadyOrder } from './post-orders.js';
import type { OrderDraft } from './read-wish.js';
import { occurrence } from './recurrence.js';

/** What an order and its first run are written under. */
export interface OrderIds {
  readonly workspaceId: number;
  readonly orderId: number;
  readonly executionId: number;
  readonly placedBy?: number | undefined;
}

/**
 * Makes an order ready for the books. What refuses it is carried along: an answer that is kept for its key comes before that.
 *
 * An order for later is priced too, so that what could never run is refused when it is placed; it is priced again when it runs.
 */
export async function readyOrder(
  draft: OrderDraft,
  ids: OrderIds,
  facts: PaymentFacts,
  rates: RateSource,
): Promise<ReadyOrder> {
  const { workspaceId, orderId: placedId } = ids;
  const { accountId } = draft;
  const held = facts.payer_currency_id === null ? {} : { accountId };
  try {
    if (facts.reference_is_taken) throw new Refusal('external_reference_reused');
    const terms = await termsOf({ ...draft, recipientId: draft.recipientID, quoteId: draft.quoteID }, facts, rates);
    checkPurpose(draft, terms);
    checkSchedule(draft, facts.now as Timestamp);
    const payment = { ...draft, workspaceId, recipientId: draft.recipientID, valueDate: facts.today };
    const isNow = draft.type === 'instant';
    return {
      workspaceId,
      ...held,
      placedId,
      ...uniqueOf(draft),
      entries: isNow ? paymentEntries(payment, terms) : [],
      sheet: (posted) => (isNow ? paidSheet(draft, ids, terms, posted) : laterSheet(draft, ids)),
    };
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    return { workspaceId, ...held, entries: [], refusal, sheet: () => ({}) };
  }
}

function uniqueOf({ externalReference, quoteID: quoteId }: OrderDraft): Pick<ReadyOrder, 'unique'> {
  return externalReference === undefined && quoteId === undefined ? {} : { unique: { externalReference, quoteId } };
}

/** @throws Refusal `purpose_code_required`, `purpose_code_invalid` */
function checkPurpose({ purposeCode }: OrderDraft, { payee }: PaymentTerms): void {
  if (purposeCode === undefined) {
    if (payee === undefined) throw withDetail('purpose_code_required', 'purposeCode');
    return;
  }
  if (!PURPOSES.some(({ code }) => code === purposeCode)) throw withDetail('purpose_code_invalid', 'purposeCode');
}

/** @throws Refusal `schedule_invalid` */
function checkSchedule({ type, startAt, stopAt, repeatUnit, repeatValue, quoteID }: OrderDraft, now: Timestamp): void {
  const faults: RefusalDetail[] = [...scheduleFaults({ type, startAt, stopAt, repeatUnit, repeatValue }, now)];
  if (quoteID !== undefined && type !== 'instant') {
    faults.push({ path: '/quoteID', reason: 'not_taken', message: 'quoteID must be left out: a quote does not wait.' });
  }
  const [first] = faults;
  if (first)
    throw new Refusal('schedule_invalid', faults.length === 1 ? first.message : undefined, { details: faults });
}

function withDetail(reason: 'purpose_code_required' | 'purpose_code_invalid', field: string): Refusal {
  const { message } = new Refusal(reason);
  return new Refusal(reason, undefined, { details: [{ path: `/${field}`, reason, message }] });
}

function orderRow(draft: OrderDraft, ids: OrderIds, status: OrderRow['status']): OrderRow {
  const { recipientID: recipientId, quoteID: quoteId, startAt: anchor } = draft;
  return { ...draft, ...ids, id: ids.orderId, recipientId, quoteId, anchor, status };
}

/** An order that has run: nothing of it is left, whatever becomes of the payout. */
function paidSheet(
  draft: OrderDraft,
  ids: OrderIds,
  terms: PaymentTerms,
  posted: readonly PostedTransaction[],
): OrderSheet {
  const { workspaceId, orderId, executionId: id } = ids;
  const { quoteID: quoteId } = draft;
  const transactionId = posted[0]!.id;
  const status = terms.payee ? 'completed' : 'pending';
  return {
    orders: [orderRow(draft, ids, 'completed')],
    executions: [{ workspaceId, id, orderId, sequence: 1, status, transactionId }],
    ...paymentRows(draft, workspaceId, terms, transactionId),
    ...(quoteId !== undefined && { quoteUses: [{ workspaceId, quoteId, orderId }] }),
  };
}

/** What is written of any payment that was posted. */
export function paymentRows(
  { amount, quoteID: quoteId }: Pick<OrderDraft, 'amount' | 'quoteID'>,
  workspaceId: number,
  { conversion, payee, ...money }: PaymentTerms,
  transactionId: number,
): Pick<OrderSheet, 'conversions' | 'payouts'> {
  return {
    ...(conversion && { conversions: [{ ...conversion, ...money, workspaceId, transactionId, quoteId, amount }] }),
    ...(!payee && { payouts: [{ workspaceId, transactionId }] }),
  };
}

function laterSheet(draft: OrderDraft, ids: OrderIds): OrderSheet {
  const { workspaceId, orderId, executionId } = ids;
  const { startAt = '', stopAt, repeatUnit, repeatValue } = draft;
  const dueAt = occurrence({ startAt, stopAt, repeatUnit, repeatValue }, 1);
  if (dueAt === undefined) throw new Error('an order that never runs was not refused');
  return {
    orders: [orderRow(draft, ids, 'active')],
    executions: [{ workspaceId, id: executionId, orderId, sequence: 1, status: 'scheduled', scheduledAt: dueAt }],
    due: [{ workspaceId, executionId, dueAt }],
  };
}
