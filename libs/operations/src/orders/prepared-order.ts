import type { Created, Order, Refusal } from '@banking/domain';
import type { Entry, Proposal } from '@banking/ledger';
import type { Claim } from '@banking/work-queue';
import type { AuditedCall } from '../audit/audited-call.js';
import type { IdempotencyKey } from '../idempotency/idempotency-key.js';
import type { PaymentFacts } from '../payments/payment-facts.js';
import type { PaymentTerms } from '../payments/payment-terms.js';
import type { RecipientFacts } from '../resources/compose-recipient.js';
import type { ScheduledRun } from './next-run.js';
import type { OrderDraft } from './parse-order-input.js';
import type { DueRun } from './read-run.js';

/** An order, or a run of one, with all that can be known without a lock. Plain data: `decideOrders` and `writesOf` take it. */
export type PreparedOrder = (Placement | PreparedRun) & Priced;

interface Common {
  readonly workspaceId: number;
  /** Locked even where nothing is posted. Undefined if there is no such account. */
  readonly accountId?: number | undefined;
}

/** Either the terms of the payment, or the refusal that was found while it was prepared. A stored response comes before a refusal. */
type Priced =
  | {
      readonly terms: PaymentTerms;
      /** What is posted now: empty for an order that runs later. */
      readonly entries: readonly Entry[];
      readonly refusal?: undefined;
    }
  | { readonly refusal: Refusal; readonly entries: readonly []; readonly terms?: undefined };

/** The ids of an order and its first run. */
export interface OrderIds {
  readonly workspaceId: number;
  readonly orderId: number;
  readonly executionId: number;
  /** The id of its tracking, if it becomes a payout. */
  readonly remittanceId: number;
  readonly placedBy?: number | undefined;
}

/** An order that a caller places. */
export interface Placement extends Common {
  readonly kind: 'placement';
  readonly draft: OrderDraft;
  readonly ids: OrderIds;
  /** For the audit trail. */
  readonly caller: AuditedCall;
  /** The recipient as it was when the order was prepared. */
  readonly recipient: RecipientFacts;
  /** The remembered facts that the order was prepared of, if it was. They are compared behind the locks. */
  readonly remembered?: PaymentFacts | undefined;
  readonly key?: IdempotencyKey | undefined;
  /** Whether an earlier attempt may have been committed. Then the order is looked up by its id first. */
  readonly mayExist?: boolean;
}

/** A due run of a scheduled or recurring order. */
export interface PreparedRun extends Common {
  readonly kind: 'run';
  readonly claim: Claim;
  readonly run: DueRun;
  readonly next: ScheduledRun | undefined;
  readonly nextExecutionId: number;
}

/** The effect of carrying out a prepared order. */
export type OrderOutcome =
  | { readonly kind: 'placed'; readonly created: Created<Order> }
  /** The run took place, or it was already over. */
  | { readonly kind: 'run' }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'failed'; readonly error: Error }
  /** The remembered facts of the order are out of date. Nothing was decided. Prepare the order again, of these facts. */
  | { readonly kind: 'outdated'; readonly facts: PaymentFacts }
  /** Another session has locked an account, order or claim. Nothing was decided. */
  | { readonly kind: 'locked' };

/** The proposal of an order to the books. */
export const proposalOf = ({ workspaceId, accountId, entries }: PreparedOrder): Proposal => ({
  entries,
  ...(accountId !== undefined && { accountToLock: { workspaceId, accountId } }),
});
