import {
  type ApprovalRequirement,
  type Created,
  minorUnits,
  type RequestOptions,
  type Order,
  type PlaceOrderInput,
  Refusal,
  type RefusalDetail,
  type Timestamp,
} from '@banking/domain';
import { bind, isServedElsewhere, sqlStatement } from '@banking/postgres';
import { referenceReused, refusedField } from '../payments/field-refusal.js';
import { refuseReservedKey } from '../approvals/approval-gate.js';
import { approvalId, approvalRequest, nextApproval } from '../approvals/approval-request.js';
import { requirementsOf } from '../approvals/approval-requirements.js';
import type { AuditedCall } from '../audit/audited-call.js';
import { keyOf } from '../idempotency/idempotency-key.js';
import { digestOfRecipient, paymentEntries, recipientOf } from '../payments/payment-entries.js';
import { isDomestic, type PaymentFacts } from '../payments/payment-facts.js';
import { type PaymentMeans, type PaymentTerms, termsOf } from '../payments/payment-terms.js';
import { scheduleFaults } from './schedule.js';
import type { Reference } from '../reference/reference.js';
import type { OrderContent } from '../resources/compose-order.js';
import type { OrderService } from './order-service.js';
import { contentOf, type Placement, type PreparedOrder, requestOf } from './prepared-order.js';

/** The workspace and user that place an order, and how long it may wait. */
interface PlacingScope extends AuditedCall {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Places an order. An abort of `signal` withdraws an order that still waits; nothing of it is done then.
 *
 * @throws Refusal as the port's `placeOrder` states
 */
export async function placeOrder(
  orders: OrderService,
  scope: PlacingScope,
  input: PlaceOrderInput,
  options: RequestOptions,
): Promise<Created<Order>> {
  refuseReservedKey(options);
  const { workspaceId, signal } = scope;
  const { signal: _, ...caller } = scope;
  const stated = contentOf(input);
  const key = keyOf(requestOf(workspaceId, input), options.idempotencyKey);
  const { accountId, recipientId, quoteId, externalReference } = stated;
  const payment = { workspaceId, accountId, recipientId, quoteId, externalReference };
  const { orderId: id, executionId } = await orders.takeIds();
  const content = { ...stated, id };
  // The check of a schedule depends on the clock, and a quote may be used or expire.
  const mayRecall = content.type === 'instant' && quoteId === undefined;

  const prepare = async (facts: PaymentFacts) => {
    const reference = await orders.reading.reference.current();
    return preparePlacement({ content, executionId, caller }, { facts, reference }, orders);
  };
  const remembered = mayRecall ? orders.remembered.recall(payment) : undefined;
  const first = remembered && (await prepare(remembered));
  // No refusal is given of what is remembered.
  if (first && !first.refusal && first.requirements.length === 0) {
    const order = { ...first, key, rememberedVersions: remembered?.versions };
    const outcome = await orders.submit(order, signal).catch(noneIfElsewhere);
    if (outcome?.kind === 'placed') return outcome.created;
  }
  for (let tried = 1; tried <= PREPARED_MAX; tried += 1) {
    const facts = await orders.readFacts(payment);
    if (mayRecall) orders.remembered.remember(payment, facts);
    const prepared = await prepare(facts);
    // Without a wait, so that orders that arrive at once are in one batch.
    const isAsked = prepared.requirements.length > 0;
    const placement = isAsked ? await awaitApprovals(orders, prepared, input, facts) : prepared;
    const order = { ...placement, key, readVersions: facts.versions };
    const outcome = await orders.submit(order, signal);
    if (outcome.kind === 'placed') return outcome.created;
    if (outcome.kind !== 'outdated') throw new Error('an order was placed without a response');
  }
  // Nothing was decided in any of them.
  throw new Refusal('unavailable');
}

/** A placement with what the rules require of it. */
type PreparedPlacement = PreparedOrder & Placement & { readonly requirements: readonly ApprovalRequirement[] };

/** Facts of a payment, such as the terms of its corridor, change a few times a year: not again and again while it is priced. */
const PREPARED_MAX = 5;

/** The payee that is remembered may have left the database since. The facts that are read next show that. */
function noneIfElsewhere(error: unknown): undefined {
  if (!isServedElsewhere(error)) throw error;
}

/**
 * Prices an order and checks it. A refusal is part of the result, because a stored response of its key comes first.
 *
 * A later order is priced too, so that an order that can never run is refused when it is placed. It is priced again when it runs.
 */
async function preparePlacement(
  { content, executionId, caller }: Pick<Placement, 'content' | 'executionId' | 'caller'>,
  { facts, reference }: { readonly facts: PaymentFacts; readonly reference: Reference },
  means: PaymentMeans,
): Promise<PreparedPlacement> {
  const { workspaceId } = caller;
  const accountId = facts.payer_currency_id === null ? undefined : content.accountId;
  const placement = {
    kind: 'placement',
    workspaceId,
    accountId,
    content,
    executionId,
    caller,
    recipient: facts,
    requirements: requirementsOf(facts.approval_rules, 'orders', {
      accountId: content.accountId,
      currency: facts.payer_currency,
      amount: minorUnits(BigInt(content.amount)),
      recipientAgeS: facts.recipient_age_s,
    }),
  } as const;
  try {
    if (facts.reference_is_taken) throw referenceReused();
    const terms = await termsOf({ ...content, amount: minorUnits(BigInt(content.amount)) }, facts, means);
    checkPurpose(content, facts, reference);
    checkSchedule(content, facts.now as Timestamp);
    if (content.type !== 'instant') return { ...placement, terms, entries: [] };
    const recipient = recipientOf(content.recipientId, facts);
    return {
      ...placement,
      terms,
      entries: paymentEntries({ workspaceId, order: content, description: content.description, recipient }, terms),
    };
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    return { ...placement, refusal, entries: [] as const };
  }
}

/**
 * An order that needs approvals waits for them, and nothing is posted. What the maker saw is stored with its request: the account, the
 * recipient and the price of the moment.
 *
 * @returns with the refusal `approval_impossible` if too few may approve
 */
async function awaitApprovals(
  { database }: OrderService,
  prepared: PreparedPlacement,
  input: PlaceOrderInput,
  facts: PaymentFacts,
): Promise<PreparedOrder & Placement> {
  const { workspaceId, content, caller, requirements, terms } = prepared;
  if (!terms) return prepared;
  const [[next], [account]] = await database.pipeline({ workspaces: [workspaceId] }, [
    nextApproval(workspaceId, requirements, caller.actor),
    bind(SHOWN_ACCOUNT, workspaceId, content.accountId),
  ] as const);
  try {
    const approval = approvalRequest({
      id: approvalId(next),
      ...{ workspaceId, requirements, input, orderId: content.id },
      maker: caller.actor,
      operation: 'placeOrder',
      group: 'orders',
      shown: { ...account?.shown, ...shownOf(content, facts, terms) },
    });
    const approved = { ...content, approvalId: approval.id, approvalDigest: approval.digest };
    return { ...prepared, terms, content: approved, approval, entries: [] };
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    return { ...prepared, terms: undefined, refusal, entries: [] };
  }
}

const SHOWN_ACCOUNT = sqlStatement<{ shown: object }>(
  'shown_account_of_approval',
  `select json_strip_nulls(json_build_object('accountCode', a.code, 'accountAlias', a.alias)) as shown
   from account a where a.workspace_id = $1 and a.id = $2`,
);

/** The recipient and the price of an order, as its maker saw them. */
const shownOf = ({ amount, recipientId }: OrderContent, facts: PaymentFacts, terms: PaymentTerms): object => ({
  amount,
  currencyCode: facts.payer_currency,
  feeAmount: terms.fee.toString(),
  targetAmount: terms.targetAmount.toString(),
  targetCurrencyCode: facts.recipient_currency,
  rate: terms.conversion?.rate,
  recipientName: facts.recipient_name,
  recipientAccountCode: facts.recipient_account_code,
  recipientAlias: facts.recipientAlias ?? undefined,
  recipientDigest: digestOfRecipient(recipientOf(recipientId, facts)),
});

/**
 * A payment that leaves needs a purpose, unless it is domestic and its country has no list of its own.
 *
 * @throws Refusal `purpose_code_required`, `purpose_code_invalid`
 */
function checkPurpose({ purposeCode }: OrderContent, facts: PaymentFacts, reference: Reference): void {
  const country = facts.destination_country ?? undefined;
  const purposes = reference.purposesOf(country);
  if (purposeCode !== undefined) {
    if (!Object.hasOwn(purposes, purposeCode)) throw refusedField('purposeCode', 'purpose_code_invalid');
    return;
  }
  if (country === undefined || Object.keys(purposes).length === 0) return;
  if (isDomestic(facts) && reference.ownPurposesOf(country) === undefined) return;
  throw refusedField('purposeCode', 'purpose_code_required');
}

/** @throws Refusal `schedule_invalid` */
function checkSchedule(
  { type, startAt, stopAt, repeatUnit, repeatValue, quoteId }: OrderContent,
  now: Timestamp,
): void {
  const faults: RefusalDetail[] = [...scheduleFaults({ type, startAt, stopAt, repeatUnit, repeatValue }, now)];
  if (quoteId !== undefined && type !== 'instant') {
    faults.push({ path: '/quoteID', reason: 'not_taken', message: 'quoteID must be left out: a quote does not wait.' });
  }
  const [first] = faults;
  if (first)
    throw new Refusal('schedule_invalid', faults.length === 1 ? first.message : undefined, { details: faults });
}
