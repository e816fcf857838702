import { tracingChannel } from 'node:diagnostics_channel';
import {
  type Created,
  type Order,
  parseTransferAmount,
  type PlaceOrderInput,
  Refusal,
  isInstant,
} from '@banking/domain';
import type { OrderTexts } from '@banking/domain/proof';
import { type Entry, newSalt, type Proposal } from '@banking/ledger';
import { bind, type BoundStatement, lookup, sqlStatement } from '@banking/postgres';
import type { Claim } from '@banking/work-queue';
import type { ApprovalRequest } from '../approvals/approval-request.js';
import type { AuditedCall } from '../audit/audited-call.js';
import type { CreationRequest, IdempotencyKey } from '../idempotency/idempotency-key.js';
import { digestOfOrderTexts } from '../payments/payment-entries.js';
import type { PaymentTerms } from '../payments/payment-terms.js';
import { inUtc } from '../resources/columns.js';
import { contentOfFields, ORDER, type OrderContent, type OrderFacts } from '../resources/compose-order.js';
import type { RecipientFacts } from '../resources/compose-parties.js';
import type { ScheduledRun } from './schedule.js';

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

/** An order that a caller places. */
export interface Placement extends Common {
  readonly kind: 'placement';
  readonly content: OrderContent;
  /** Of its first run. */
  readonly executionId: number;
  /** The user who places it, for the audit trail too. */
  readonly caller: AuditedCall;
  /** The recipient as it was when the order was prepared. */
  readonly recipient: RecipientFacts;
  /** The versions of the remembered facts that the order was prepared of, if it was. They are compared behind the locks. */
  readonly rememberedVersions?: string | undefined;
  /** Those of facts that were read for the order. */
  readonly readVersions?: string | undefined;
  readonly key?: IdempotencyKey | undefined;
  /** What it waits for before it pays. */
  readonly approval?: ApprovalRequest | undefined;
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
  /** The versions of the facts that the run was prepared of. They are compared behind the locks. */
  readonly readVersions?: string | undefined;
}

/** Whether its workspace has limits. */
export const hasLimits = ({ terms }: PreparedOrder): boolean => terms?.convertedAmounts !== undefined;

/** Whether limits count it: it pays now, in a workspace with limits. */
export const isLimited = (order: PreparedOrder): boolean => order.entries.length > 0 && hasLimits(order);

/** The user who placed it. */
export const placerOf = (order: PreparedOrder): number | undefined =>
  order.kind === 'placement' ? order.caller.actor : order.run.placedBy;

/** The effect of carrying out a prepared order. */
export type OrderOutcome =
  | { readonly kind: 'placed'; readonly created: Created<Order> }
  /** The run took place, or it was already over. */
  | { readonly kind: 'run' }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'failed'; readonly error: Error }
  /** The facts of the order are out of date. Nothing was decided. Prepare the order again, of the present facts. */
  | { readonly kind: 'outdated' }
  /** Nothing was decided. */
  | { readonly kind: 'locked'; readonly by: LockedElsewhere };

/** What another session has locked: an account, order or claim, or the limits of the workspace. */
export type LockedElsewhere = 'account' | 'limits';

/** The proposal of an order to the books. */
export const proposalOf = ({ workspaceId, accountId, entries }: PreparedOrder): Proposal => ({
  entries,
  ...(accountId !== undefined && { accountToLock: { workspaceId, accountId } }),
});

/**
 * The content of a request, as the database stores it: instants in microseconds, and pairs in its order.
 *
 * @throws Refusal `amount_malformed`, `amount_out_of_range`
 */
export function contentOf(input: PlaceOrderInput): Omit<OrderContent, 'id'> {
  const amount = parseTransferAmount(input.amount);
  if (amount === 0n) throw new Refusal('amount_malformed', 'The amount must be at least 1.');
  const { recipientID: recipientId, quoteID: quoteId, startAt, stopAt, metadata } = input;
  const stored = metadata && asStored(metadata);
  return contentOfFields({
    ...{ ...input, recipientId, quoteId, amount: amount.toString() },
    startAt: startAt && cutToMicroseconds(startAt),
    // An invalid one is refused with the other faults of the schedule.
    stopAt: stopAt !== undefined && isInstant(stopAt) ? inUtc(stopAt) : stopAt,
    metadata: stored,
    ...(stored || input.description !== undefined
      ? saltedTexts({ description: input.description, metadata: stored })
      : {}),
  });
}

/** The salt of the free texts of an order, and the digest by which its payments cover them. */
function saltedTexts(texts: Omit<OrderTexts, 'salt'>): Pick<OrderContent, 'textsSalt' | 'textsDigest'> {
  const textsSalt = newSalt();
  return { textsSalt, textsDigest: digestOfOrderTexts({ ...texts, salt: textsSalt }) };
}

/** The request of an order for its idempotency key: the account of the path, and the body without undefined fields. */
export function requestOf(workspaceId: number, { accountId, ...body }: PlaceOrderInput): CreationRequest {
  const content = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
  return { workspaceId, operation: `placeOrder/${accountId}`, content };
}

/** The members in the order of `jsonb`, so that the response has the same bytes as a later read: by length, then by bytes. */
function asStored(metadata: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const members = Object.entries(metadata).map(([name, value]) => ({ bytes: Buffer.from(name), name, value }));
  members.sort((one, other) => one.bytes.length - other.bytes.length || Buffer.compare(one.bytes, other.bytes));
  return Object.fromEntries(members.map(({ name, value }) => [name, value]));
}

/** Cuts the text of an instant to whole microseconds. */
const cutToMicroseconds = (text: string): string => text.replace(/(\.[0-9]{6})[0-9]+/, '$1');

/** A recurring order fails after so many failed runs in a row. */
export const FAILED_RUNS_MAX = 3;

/** A due run of an order. */
export interface DueRun {
  readonly workspaceId: number;
  readonly executionId: number;
  readonly order: OrderContent;
  readonly sequence: number;
  /** When it fell due. */
  readonly scheduledAt: string;
  /** The user for whom it runs. */
  readonly placedBy?: number | undefined;
  /** How many runs in a row were refused before this one. A rejected payout was carried out and does not count. */
  readonly failedBefore: number;
  /** Whether its order is paused, or must be. */
  readonly isPaused: boolean;
  /** Whether the user who placed it may still pay. Only an instant order that was approved is refused then: others are paused. */
  readonly placerMayPay: boolean;
  /** What the maker of an order that needed approvals saw of its recipient. */
  readonly approved: ApprovedRecipient | null;
}

/** The recipient of an approved order. */
interface ApprovedRecipient {
  readonly recipientDigest: string;
  readonly recipientAlias?: string | undefined;
}

/** Whether the external reference and the quote of an order, which serve one order each, are still free. */
export interface OrderConflicts {
  readonly reference_is_taken: boolean;
  readonly quote_is_used: boolean;
  readonly quote_is_expired: boolean;
}

/** A quote expires by the start time of the database transaction. The trigger of `quote_use` uses the same time. */
const READ_CONFLICTS = sqlStatement<OrderConflicts & { readonly place: number }>(
  'read_order_conflicts',
  `select (u.n - 1)::int as place,
          exists (select from order_of_reference(u.w, u.reference)) as reference_is_taken,
          u.quote is not null and exists (
            select from quote_use q where q.workspace_id = u.w and q.quote_id = u.quote) as quote_is_used,
          u.quote is not null and exists (
            select from quote q where q.workspace_id = u.w and q.id = u.quote and q.expires_at <= now()) as quote_is_expired
   from unnest($1::bigint[], $2::text[], $3::bigint[]) with ordinality u(w, reference, quote, n)`,
);

/** A row for each order. `place` is its index. */
export const readOrderConflicts = (
  orders: readonly Placement[],
): BoundStatement<OrderConflicts & { readonly place: number }> =>
  bind(
    READ_CONFLICTS,
    orders.map(({ workspaceId }) => workspaceId),
    orders.map(({ content }) => content.externalReference ?? null),
    orders.map(({ content }) => content.quoteId ?? null),
  );

const FIND_PLACED = sqlStatement<OrderFacts & { readonly place: number }>(
  'find_placed_orders',
  `select (u.n - 1)::int as place, ${ORDER.columns}
   from unnest($1::bigint[], $2::bigint[]) with ordinality u(w, id, n)
   cross join ${lookup('select * from customer_order o where o.workspace_id = u.w and o.id = u.id')} t
   ${ORDER.joins}
   order by u.n`,
);

/** The orders that exist. `place` is the index of the order. */
export const findPlacedOrders = (
  orders: readonly Placement[],
): BoundStatement<OrderFacts & { readonly place: number }> =>
  bind(
    FIND_PLACED,
    orders.map(({ workspaceId }) => workspaceId),
    orders.map(({ content }) => content.id),
  );

/** Channels for metrics and traces, as in `channels.ts` of `@banking/postgres`. */

/** An order or a run of one, from its submission to its outcome. */
export interface OrderMessage {
  readonly kind: PreparedOrder['kind'];
  readonly submittedAtMs: number;
}

export const orderChannel = tracingChannel<unknown, OrderMessage>('banking:orders:order');

/** A batch of orders that one database transaction carries out, from its beginning to the outcomes of its orders. */
export interface OrderBatchMessage {
  /** The orders as `orderChannel` published them: the same objects. */
  readonly orders: readonly OrderMessage[];
  /** For how long the longest waiting order of the batch has waited. */
  readonly waitMs: number;
  /** `contended` waits for accounts that another session has locked. `common` leaves their orders out. */
  readonly strategy: 'common' | 'contended';
  /** Set at the end. */
  readonly result?: readonly Pick<OrderOutcome, 'kind'>[];
}

export const orderBatchChannel = tracingChannel<unknown, OrderBatchMessage>('banking:orders:batch');

/** Submits an order. The message is undefined without a subscriber. */
export function traceOrder<T>(
  kind: PreparedOrder['kind'],
  submit: (message: OrderMessage | undefined) => Promise<T>,
): Promise<T> {
  if (!orderChannel.hasSubscribers && !orderBatchChannel.hasSubscribers) return submit(undefined);
  const message = { kind, submittedAtMs: performance.now() };
  return orderChannel.tracePromise(() => submit(message), message);
}

/** Carries out a batch. */
export function traceOrderBatch(
  batch: readonly { readonly message: OrderMessage | undefined }[],
  waitsForLocks: boolean,
  post: () => Promise<readonly OrderOutcome[]>,
): Promise<readonly OrderOutcome[]> {
  if (!orderBatchChannel.hasSubscribers) return post();
  const orders = batch.flatMap(({ message }) => message ?? []);
  const nowMs = performance.now();
  const waitMs = orders.reduce((longestMs, { submittedAtMs }) => Math.max(longestMs, nowMs - submittedAtMs), 0);
  return orderBatchChannel.tracePromise(post, {
    orders,
    waitMs,
    strategy: waitsForLocks ? 'contended' : 'common',
  });
}
