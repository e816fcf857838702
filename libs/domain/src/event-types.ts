/** The kinds of resources that have events. The id of a payout is that of its transaction, and that of limits is their workspace. */
export const EVENT_RESOURCE_TYPES = [
  'order',
  'execution',
  'transaction',
  'transfer',
  'account',
  'recipient',
  'quote',
  'payout',
  'deposit',
  'webhookEndpoint',
  'limits',
  'serviceAccount',
  'key',
  'approval',
  'member',
] as const;
export type EventResourceType = (typeof EVENT_RESOURCE_TYPES)[number];

/** A type of event, and what it stands for. */
interface EventTypeRow {
  readonly type: `${EventResourceType}.${string}`;
  readonly resource: EventResourceType;
  /** The event of each new resource of its type, or one of several by the status that it begins with. */
  readonly isCreation?: true;
  /** The steps of the state table, each as status before and after. `null` is a resource that is new. */
  readonly steps: readonly (readonly [before: string | null, after: string])[];
  /** The statuses in which it happens without a step. */
  readonly during?: readonly string[];
  /** No event of the resource follows. */
  readonly isFinal?: true;
  readonly description: string;
}

/** Every type of event. The triggers in `0008-changes.sql`, `0009-webhooks.sql` and `0012-service-accounts.sql` and `0011-members.sql` make them. Members have events of changes over the interface only. */
export const EVENT_TYPES = [
  {
    type: 'order.placed',
    resource: 'order',
    isCreation: true,
    steps: [[null, 'active']],
    description: 'An order was placed. `order.completed` follows at once if it is instant.',
  },
  {
    type: 'order.completed',
    resource: 'order',
    steps: [['active', 'completed']],
    isFinal: true,
    description: 'No run of the order is left. Its payouts may still be pending.',
  },
  {
    type: 'order.cancelled',
    resource: 'order',
    steps: [['active', 'cancelled']],
    isFinal: true,
    description: 'A user cancelled the order.',
  },
  {
    type: 'order.failed',
    resource: 'order',
    steps: [['active', 'failed']],
    isFinal: true,
    description: 'The order ended, because its runs failed.',
  },
  {
    type: 'order.paused',
    resource: 'order',
    steps: [],
    during: ['active'],
    description: 'The order is active and does not run until it is resumed.',
  },
  {
    type: 'order.resumed',
    resource: 'order',
    steps: [],
    during: ['active'],
    description: 'The paused order runs again.',
  },
  {
    type: 'execution.awaiting_approval',
    resource: 'execution',
    isCreation: true,
    steps: [[null, 'awaiting_approval']],
    description: 'An order was placed that waits for approvals.',
  },
  {
    type: 'execution.scheduled',
    resource: 'execution',
    isCreation: true,
    steps: [
      [null, 'scheduled'],
      ['awaiting_approval', 'scheduled'],
    ],
    description: 'A run of an order has its time.',
  },
  {
    type: 'execution.started',
    resource: 'execution',
    isCreation: true,
    steps: [
      [null, 'pending'],
      ['scheduled', 'pending'],
    ],
    description: 'A run has a transaction, which is pending.',
  },
  {
    type: 'execution.completed',
    resource: 'execution',
    isCreation: true,
    steps: [
      [null, 'completed'],
      ['scheduled', 'completed'],
      ['pending', 'completed'],
    ],
    isFinal: true,
    description: 'A run and its transaction are completed.',
  },
  {
    type: 'execution.failed',
    resource: 'execution',
    steps: [
      ['scheduled', 'failed'],
      ['pending', 'failed'],
      ['awaiting_approval', 'failed'],
    ],
    isFinal: true,
    description: 'A run was refused when it was due, its transaction failed, or its order was not approved.',
  },
  {
    type: 'execution.cancelled',
    resource: 'execution',
    steps: [
      ['scheduled', 'cancelled'],
      ['awaiting_approval', 'cancelled'],
    ],
    isFinal: true,
    description: 'The order of a scheduled run was cancelled, or of one that awaited approval.',
  },
  {
    type: 'transaction.created',
    resource: 'transaction',
    isCreation: true,
    steps: [[null, 'pending']],
    description: 'A payment left its account and is pending.',
  },
  {
    type: 'transaction.completed',
    resource: 'transaction',
    isCreation: true,
    steps: [
      [null, 'completed'],
      ['pending', 'completed'],
    ],
    description: 'The money of a transaction arrived. Also the event of a new transaction that is completed at once.',
  },
  {
    type: 'transaction.failed',
    resource: 'transaction',
    steps: [['pending', 'failed']],
    description: 'A payment was rejected. `transaction.returned` says that its money came back.',
  },
  {
    type: 'transaction.returned',
    resource: 'transaction',
    steps: [],
    // Before `transaction.failed` if both are committed at once.
    during: ['pending', 'completed', 'failed'],
    description: 'The money of the transaction came back with another one, `changes.transactionID`.',
  },
  {
    type: 'transfer.booked',
    resource: 'transfer',
    isCreation: true,
    steps: [],
    isFinal: true,
    description: 'Money moved into or out of an account.',
  },
  {
    type: 'recipient.added',
    resource: 'recipient',
    isCreation: true,
    steps: [],
    description: 'A recipient was added.',
  },
  {
    type: 'recipient.changed',
    resource: 'recipient',
    steps: [],
    description: 'The alias or `saved` of a recipient changed.',
  },
  {
    type: 'recipient.verified',
    resource: 'recipient',
    steps: [],
    description: 'The bank of a recipient was asked whose account it is. Read the result at the recipient.',
  },
  {
    type: 'recipient.archived',
    resource: 'recipient',
    steps: [],
    isFinal: true,
    description: 'A recipient was deleted. Its transfers stay.',
  },
  {
    type: 'account.opened',
    resource: 'account',
    isCreation: true,
    steps: [[null, 'enabled']],
    description: 'An account was opened.',
  },
  {
    type: 'account.changed',
    resource: 'account',
    steps: [],
    during: ['enabled', 'disabled'],
    description: 'The alias of an account changed.',
  },
  {
    type: 'account.disabled',
    resource: 'account',
    steps: [['enabled', 'disabled']],
    description: 'An account takes part in no new payment.',
  },
  {
    type: 'account.enabled',
    resource: 'account',
    steps: [['disabled', 'enabled']],
    description: 'A disabled account can be used again.',
  },
  {
    type: 'quote.created',
    resource: 'quote',
    isCreation: true,
    steps: [],
    isFinal: true,
    description: 'A quote was made. Its end makes no event, because the quote states it.',
  },
  {
    type: 'payout.parked',
    resource: 'payout',
    steps: [
      ['submitting', 'parked'],
      ['submitted', 'parked'],
    ],
    description: 'The payout of a transaction waits for an operator. Its id is that of the transaction.',
  },
  {
    type: 'payout.released',
    resource: 'payout',
    steps: [['parked', 'due']],
    description: 'An operator released a parked payout.',
  },
  {
    type: 'deposit.received',
    resource: 'deposit',
    isCreation: true,
    steps: [[null, 'pending']],
    description: 'The bank announced money for an account. It is not credited yet.',
  },
  {
    type: 'deposit.booked',
    resource: 'deposit',
    isCreation: true,
    steps: [
      [null, 'booked'],
      ['pending', 'booked'],
    ],
    description: 'Money arrived and is credited to its account.',
  },
  {
    type: 'deposit.unmatched',
    resource: 'deposit',
    isCreation: true,
    steps: [
      [null, 'unmatched'],
      ['pending', 'unmatched'],
    ],
    description: 'Money arrived that named no account, and is credited to the suspense account.',
  },
  {
    type: 'deposit.assigned',
    resource: 'deposit',
    steps: [
      ['pending', 'assigned'],
      ['booked', 'assigned'],
      ['unmatched', 'assigned'],
    ],
    isFinal: true,
    description: 'The money of the deposit went to another account, with another deposit.',
  },
  {
    type: 'deposit.returned',
    resource: 'deposit',
    steps: [
      ['pending', 'returned'],
      ['booked', 'returned'],
      ['unmatched', 'returned'],
    ],
    isFinal: true,
    description: 'The money went back to its payer, and was debited again if it was credited.',
  },
  {
    type: 'webhookEndpoint.created',
    resource: 'webhookEndpoint',
    isCreation: true,
    steps: [[null, 'enabled']],
    description: 'A webhook endpoint was created.',
  },
  {
    type: 'webhookEndpoint.changed',
    resource: 'webhookEndpoint',
    steps: [],
    during: ['enabled', 'failing', 'disabled'],
    description: 'The address, types, description or secret of a webhook endpoint changed.',
  },
  {
    type: 'webhookEndpoint.failing',
    resource: 'webhookEndpoint',
    steps: [['enabled', 'failing']],
    description: 'Several deliveries in a row failed. Later events wait.',
  },
  {
    type: 'webhookEndpoint.disabled',
    resource: 'webhookEndpoint',
    steps: [
      ['enabled', 'disabled'],
      ['failing', 'disabled'],
    ],
    description: 'A webhook endpoint receives nothing until an administrator enables it.',
  },
  {
    type: 'webhookEndpoint.enabled',
    resource: 'webhookEndpoint',
    steps: [
      ['failing', 'enabled'],
      ['disabled', 'enabled'],
    ],
    description: 'A webhook endpoint receives events again.',
  },
  {
    type: 'webhookEndpoint.deleted',
    resource: 'webhookEndpoint',
    steps: [],
    during: ['enabled', 'failing', 'disabled'],
    isFinal: true,
    description: 'A webhook endpoint was deleted.',
  },
  {
    type: 'limits.changed',
    resource: 'limits',
    isCreation: true,
    steps: [],
    description: 'The limits of the workspace were replaced.',
  },
  {
    type: 'serviceAccount.created',
    resource: 'serviceAccount',
    isCreation: true,
    steps: [],
    description: 'A service account was created.',
  },
  {
    type: 'serviceAccount.changed',
    resource: 'serviceAccount',
    steps: [],
    description: 'The name, roles or scopes of a service account changed.',
  },
  {
    type: 'serviceAccount.deleted',
    resource: 'serviceAccount',
    steps: [],
    isFinal: true,
    description: 'A service account was deleted. Its keys were revoked.',
  },
  {
    type: 'key.created',
    resource: 'key',
    isCreation: true,
    steps: [],
    description:
      'A key of a service account was created, also by a rotation. Its expiry makes no event, because the key states it.',
  },
  {
    type: 'key.revoked',
    resource: 'key',
    steps: [],
    isFinal: true,
    description: 'A key was revoked, or its service account was deleted or lost its last role.',
  },
  {
    type: 'approval.required',
    resource: 'approval',
    isCreation: true,
    steps: [[null, 'required']],
    description: 'A request waits for approvals.',
  },
  {
    type: 'approval.approved',
    resource: 'approval',
    steps: [['required', 'approved']],
    description: 'A request has its approvals, and is carried out shortly.',
  },
  {
    type: 'approval.rejected',
    resource: 'approval',
    steps: [['required', 'rejected']],
    isFinal: true,
    description: 'An approver rejected a request.',
  },
  {
    type: 'approval.withdrawn',
    resource: 'approval',
    steps: [['required', 'withdrawn']],
    isFinal: true,
    description: 'A request was withdrawn, or its order cancelled.',
  },
  {
    type: 'approval.expired',
    resource: 'approval',
    steps: [['required', 'expired']],
    isFinal: true,
    description: 'A request did not get its approvals within seven days.',
  },
  {
    type: 'approval.carried_out',
    resource: 'approval',
    steps: [],
    during: ['approved'],
    isFinal: true,
    description: 'An approved request was carried out. Its outcome names what was made.',
  },
  {
    type: 'approval.refused',
    resource: 'approval',
    steps: [],
    during: ['approved'],
    isFinal: true,
    description: 'An approved request was refused when it was carried out. Its outcome has the reason.',
  },
  {
    type: 'member.invited',
    resource: 'member',
    isCreation: true,
    steps: [],
    description: 'An address was invited. A user of the service is a member at once.',
  },
  {
    type: 'member.changed',
    resource: 'member',
    steps: [],
    description: 'The roles of a member changed, or an invitation was accepted.',
  },
  {
    type: 'member.removed',
    resource: 'member',
    steps: [],
    description: 'A member lost all roles, or an invitation was withdrawn.',
  },
] as const satisfies readonly EventTypeRow[];

/** A type of event that this release makes. */
export type EventType = (typeof EVENT_TYPES)[number]['type'];

/** Whether a text is a type of event that this release makes. */
export const isEventType = (text: string): text is EventType => EVENT_TYPES.some(({ type }) => type === text);

/** The types after which no event of the resource follows: the worker deletes them with the number of the resource. */
export const FINAL_EVENT_TYPES: readonly EventType[] = EVENT_TYPES.flatMap((row: EventTypeRow) =>
  row.isFinal ? [row.type as EventType] : [],
);
