import type { EventResourceType, EventType } from '../event-types.js';
import type {
  AccountId,
  AuditEventId,
  EventId,
  OrderId,
  QuoteId,
  RecipientId,
  ServiceAccountId,
  ServiceAccountKeyId,
  TransactionId,
  UserId,
} from '../ids.js';
import type { Open } from '../open.js';
import type { Timestamp } from '../timestamp.js';

/** Who made a change: a user, a service account, another service, an operator, the network of payouts, or the service itself. */
export type EventActorType = 'user' | 'serviceAccount' | 'service' | 'operator' | 'network' | 'system';

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
  readonly serviceAccountID?: ServiceAccountId;
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
    /** Of a user or a service account. */
    readonly id?: UserId | ServiceAccountId;
  };
}

/** The kinds of actors. `network` is the network that carries payouts, `system` a worker or the service itself. */
export type AuditActorType = 'user' | 'serviceAccount' | 'operator' | 'network' | 'system';

/** Who acted. */
export interface AuditActor {
  readonly type: Open<AuditActorType>;
  /** The user, for the type `user`. */
  readonly userID?: UserId;
  /** The service account and the key that it called with, for the type `serviceAccount`. */
  readonly serviceAccountID?: ServiceAccountId;
  readonly keyID?: ServiceAccountKeyId;
  /** The issuer of the credential, and the subject that it names. */
  readonly issuer?: string;
  readonly subject?: string;
  /** Instead of the user, the issuer and the subject, if the user has no role in the workspace. Always the same in one workspace. */
  readonly pseudonym?: string;
  /** The `jti` of the token. */
  readonly tokenID?: string;
  /** The client of the token: its `client_id`, or else its `azp`. */
  readonly clientID?: string;
  /** The database login of an operator, and the account of the operating system. On an embedded database, `name` is that account too. */
  readonly name?: string;
  readonly operatingSystemUser?: string;
  /** The database login of the operator who requested what this one approved. */
  readonly requestedBy?: string;
}

/** Whether the operation was carried out. Refusals of access are counted by minute. */
export type AuditOutcome = 'done' | 'refused';

/** An entry of the audit trail of a workspace. */
export interface AuditEvent {
  /** 1, 2, 3 … in each workspace. */
  readonly id: AuditEventId;
  readonly createdAt: Timestamp;
  /** The operation, as the OpenAPI document names it, or a name of the service for what no caller can request. */
  readonly operation: string;
  readonly outcome: Open<AuditOutcome>;
  /** The reason of a refusal. */
  readonly reason?: string;
  /** How many requests were refused. Missing for one. */
  readonly count?: number;
  readonly resource?: { readonly type: string; readonly id: number };
  readonly actor: AuditActor;
  readonly requestID?: string;
  /** The address that the request came from. */
  readonly sourceAddress?: string;
  /** SHA-256 of the hash before it and of this entry, in hex: a later change of an entry breaks the chain. */
  readonly hash: string;
}
