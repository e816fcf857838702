import type {
  AccountId,
  Event,
  EventChanges,
  EventId,
  OrderId,
  QuoteId,
  RecipientId,
  TransactionId,
} from '@banking/domain';
import { timestampOf } from '../resources/timestamp-of.js';
import { withoutNulls } from '../resources/without-nulls.js';

/** The changes as they are stored: the status before a new resource is null. */
interface StoredChanges {
  readonly status?: { readonly before: string | null; readonly after: string };
  readonly accountId?: AccountId;
  readonly recipientId?: RecipientId;
  readonly quoteId?: QuoteId;
  readonly orderId?: OrderId;
  readonly transactionId?: TransactionId;
}

export interface EventRow {
  readonly id: bigint;
  readonly type: string;
  readonly resourceType: string;
  readonly resourceId: bigint;
  readonly sequence: number;
  readonly changes: StoredChanges;
  readonly actor: Event['actor'];
  readonly createdAt: string;
}

/** The columns of an event `e`. */
export const EVENT_COLUMNS = `e.id, e.type, e.resource_type as "resourceType", e.resource_id as "resourceId", e.sequence, e.changes,
  e.actor, e.created_at as "createdAt"`;

export const composeEvent = (row: EventRow): Event => ({
  id: Number(row.id) as EventId,
  type: row.type,
  createdAt: timestampOf(row.createdAt),
  sequence: row.sequence,
  resource: { type: row.resourceType, id: Number(row.resourceId) },
  changes: changesOf(row.changes),
  actor: row.actor,
});

/** The interface never sends null. */
const changesOf = (stored: StoredChanges): EventChanges =>
  withoutNulls<EventChanges>({
    status: stored.status === undefined ? null : statusOf(stored.status),
    accountID: stored.accountId ?? null,
    recipientID: stored.recipientId ?? null,
    quoteID: stored.quoteId ?? null,
    orderID: stored.orderId ?? null,
    transactionID: stored.transactionId ?? null,
  });

const statusOf = ({ before, after }: NonNullable<StoredChanges['status']>) =>
  before === null ? { after } : { before, after };
