import type { EventResourceType } from '../event-resource-types.js';
import type { EventType } from '../event-types.js';
import type { AccountId, EventId, OrderId, QuoteId, RecipientId, TransactionId, UserId } from '../ids.js';
import type { Open } from '../open.js';
import type { Timestamp } from '../timestamp.js';

/** Who made a change: a user, another service, an operator, the network of payouts, or the service itself. */
export type EventActorType = 'user' | 'service' | 'operator' | 'network' | 'system';

/** The ids of what belongs to the resource, and its status before and after. It has no amounts, names, account codes or texts. */
export interface EventChanges {
  /** `before` is missing for a new resource. */
  readonly status?: { readonly before?: string; readonly after: string };
  readonly accountID?: AccountId;
  readonly recipientID?: RecipientId;
  readonly quoteID?: QuoteId;
  readonly orderID?: OrderId;
  /** Of a transaction: the other one of a return. */
  readonly transactionID?: TransactionId;
}

/** A change of a resource. It tells that something changed. The resource itself tells how it is now. */
export interface Event {
  /** Greater than the ids of all events of the workspace that were visible before. */
  readonly id: EventId;
  readonly type: Open<EventType>;
  /** The time of the change. Events are listed by id, and their times may be out of order by seconds. */
  readonly createdAt: Timestamp;
  /** 1 for the first event of the resource, then without a gap. */
  readonly sequence: number;
  readonly resource: { readonly type: Open<EventResourceType>; readonly id: number };
  readonly changes: EventChanges;
  readonly actor: {
    readonly type: Open<EventActorType>;
    /** Of a user. */
    readonly id?: UserId;
  };
}
