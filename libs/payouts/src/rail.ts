import { tracingChannel } from 'node:diagnostics_channel';
import type { MinorUnits } from '@banking/domain';
import { bind, type BoundStatement, sqlStatement } from '@banking/postgres';
import { type DiscrepancyKind, outgoingColumns } from './discrepancies.js';
import { type Outgoing, PAYOUT } from './open-payouts.js';

/** The amount that arrives, and its creditor. */
export interface PaymentContent {
  readonly amount: MinorUnits;
  /** ISO 4217. */
  readonly currency: string;
  readonly creditor: {
    readonly name: string;
    readonly account: string;
    /** Such as `SWIFT` or `IFSC`, and the code itself. */
    readonly routing?: { readonly type: string; readonly code: string } | undefined;
  };
  readonly description?: string | undefined;
  /** The purpose code of the order. */
  readonly purpose?: string | undefined;
}

/** Reads the payment of a transaction. */
export type PaymentReader = (workspaceId: number, transactionId: number) => Promise<PaymentContent>;

/** A payment as it is submitted to a network. */
export interface Payment extends PaymentContent {
  /** The same at every try, so that a network that receives it twice has one payment. */
  readonly key: string;
}

/** An event of a payment as the network delivers it. */
export interface DeliveredRailEvent {
  /** The network's id of the delivery. */
  readonly id: string;
  readonly key: string;
  readonly event: RailEvent;
}

/** A payment as the network lists it. */
export interface SubmittedPayment {
  readonly key: string;
  readonly amount: MinorUnits;
  /** ISO 4217. */
  readonly currency: string;
  /** When the network accepted it: RFC 3339. */
  readonly acceptedAt: string;
  /** The events so far, the earliest first. */
  readonly events: readonly RailEvent[];
}

/**
 * A payment network. After an error the network may have the payment: find it by key. A `WorkError` has a message for operators.
 */
export interface Rail {
  /** Submits a payment. Returns the events that the network reports at once, which may be none yet. */
  submit(payment: Payment, signal: AbortSignal): Promise<readonly RailEvent[]>;
  /** The events so far of the payment with this key; undefined when the network does not have the payment. */
  find(key: string, signal: AbortSignal): Promise<readonly RailEvent[] | undefined>;
  /**
   * A page of the payments that the network accepted since a time (RFC 3339), in the order of their keys. The next page begins after
   * the last key of this one; an empty page is the end.
   */
  listSubmitted(since: string, afterKey: string | undefined, signal: AbortSignal): Promise<readonly SubmittedPayment[]>;
  /**
   * The next events that are not acknowledged: in any order, more than once, at any time, and to several workers at a time.
   *
   * A network that several databases share delivers the events of all workspaces to each of their workers. A worker leaves those of other
   * databases unacknowledged. Where there are many, let the network select them by the workspace in the key.
   */
  receive(limit: number): Promise<readonly DeliveredRailEvent[]>;
  /** Acknowledges events, so that the network does not deliver them again. */
  acknowledge(events: readonly DeliveredRailEvent[]): Promise<void>;
}

/** An event of a payout that a network reported. */
export interface RailEvent {
  /** The provider's own id of the event. With the same status it is recorded once; with another it is an event of its own. */
  readonly providerEvent: string;
  /** ISO 20022 payment status, such as `ACSP`, `ACCC`, `RJCT`. */
  readonly status: string;
  /** The network's reason code, unchanged, such as `G000` or `AC04`. */
  readonly reasonCode?: string | undefined;
  readonly message?: string | undefined;
}

/** An event with the payout that it belongs to. */
export interface PayoutEvent extends Outgoing {
  readonly event: RailEvent;
}

/** An event as it is written: with the discrepancies that it opens, and with the final status that it gives its payout. */
export interface RecordedEvent extends PayoutEvent {
  readonly discrepancies: readonly DiscrepancyKind[];
  readonly finalStatus?: 'completed' | 'failed' | undefined;
}

/**
 * One event for each payout. Opens the discrepancies together with the events; one that is open already stays the only one of its kind.
 * An exact repeat records nothing, so it opens nothing either. The audit trail gets an entry for each opened discrepancy.
 */
const RECORD_EVENTS = sqlStatement(
  'record_remittance_events',
  `with recorded as (
     insert into remittance_event (workspace_id, remittance_id, provider_event, status, reason_code, message)
     select m.workspace_id, m.id, u.provider_event, u.status, u.reason_code, u.message
     from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[]) with ordinality
       u(workspace_id, transaction_id, provider_event, status, reason_code, message, position)
     join remittance m on (m.workspace_id, m.transaction_id) = (u.workspace_id, u.transaction_id)
     order by u.position
     on conflict (workspace_id, remittance_id, provider_event, status) where remittance_id is not null do nothing
     returning workspace_id, id, remittance_id
   ), opened as (
     insert into discrepancy (workspace_id, transaction_id, kind, event_id)
     select d.workspace_id, d.transaction_id, d.kind, r.id
     from unnest($7::bigint[], $8::bigint[], $9::text[]) d(workspace_id, transaction_id, kind)
     join remittance m on (m.workspace_id, m.transaction_id) = (d.workspace_id, d.transaction_id)
     join recorded r on (r.workspace_id, r.remittance_id) = (m.workspace_id, m.id)
     on conflict (workspace_id, transaction_id, kind) where resolved_at is null do nothing
     returning workspace_id, id
   ), noted as (
     insert into audit_outbox (workspace_id, entries)
     select o.workspace_id, jsonb_agg(jsonb_build_object('operation', 'openDiscrepancy', 'outcome', 'done', 'resourceType', 'discrepancy',
              'resourceId', o.id, 'actor', jsonb_build_object('type', 'network')) order by o.id)
     from opened o group by o.workspace_id order by o.workspace_id
   )
   update remittance m set updated_at = statement_timestamp() from recorded r
   where (m.workspace_id, m.id) = (r.workspace_id, r.remittance_id)`,
);

const STEP_TRANSACTIONS = sqlStatement(
  'step_transactions',
  `update transaction x set status = u.status, updated_at = statement_timestamp()
   from unnest($1::bigint[], $2::bigint[], $3::text[]) u(workspace_id, id, status)
   where (x.workspace_id, x.id) = (u.workspace_id, u.id)`,
);

/** The payout has a status of its own; customers see that of the transaction. */
const STEP_PAYOUTS = sqlStatement(
  'close_payouts',
  `update payout p set status = u.status, parked_at = null, reason = u.reason, updated_at = statement_timestamp()
   from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) u(workspace_id, transaction_id, status, reason)
   where (p.workspace_id, p.transaction_id) = (u.workspace_id, u.transaction_id)`,
);

const END_WORK = sqlStatement(
  'end_payout_work',
  `delete from work w using unnest($1::bigint[], $2::bigint[]) u(workspace_id, transaction_id)
   where (w.workspace_id, w.kind, w.subject_id) = (u.workspace_id, '${PAYOUT}', u.transaction_id)`,
);

/** A payout that ends, together with its transaction. */
export interface ClosedPayout extends Outgoing {
  readonly finalStatus: 'completed' | 'failed';
  /** Why an operator ended it. */
  readonly reason?: string | undefined;
}

/** The writes that give transactions and their payouts a final status, and end their work. The caller has locked the transactions. */
export function closingWrites(closed: readonly ClosedPayout[]): BoundStatement<unknown>[] {
  if (closed.length === 0) return [];
  const columns = outgoingColumns(closed);
  return [
    bind(
      STEP_TRANSACTIONS,
      ...columns,
      closed.map(({ finalStatus }) => finalStatus),
    ),
    bind(
      STEP_PAYOUTS,
      ...columns,
      closed.map(({ finalStatus }) => (finalStatus === 'completed' ? 'settled' : 'failed')),
      closed.map(({ reason }) => reason ?? null),
    ),
    bind(END_WORK, ...columns),
  ];
}

/** The writes of events, at most one of each payout: four statements for any number. The caller has locked their transactions. */
export function eventWrites(events: readonly RecordedEvent[]): BoundStatement<unknown>[] {
  if (events.length === 0) return [];
  const opened = events.flatMap(({ workspaceId, transactionId, discrepancies }) =>
    discrepancies.map((kind) => ({ workspaceId, transactionId, kind })),
  );
  const closed = events.flatMap(({ workspaceId, transactionId, finalStatus }) =>
    finalStatus === undefined ? [] : [{ workspaceId, transactionId, finalStatus }],
  );
  return [
    bind(
      RECORD_EVENTS,
      ...outgoingColumns(events),
      events.map(({ event }) => event.providerEvent),
      events.map(({ event }) => event.status),
      events.map(({ event }) => event.reasonCode ?? null),
      events.map(({ event }) => event.message ?? null),
      ...outgoingColumns(opened),
      opened.map(({ kind }) => kind),
    ),
    ...closingWrites(closed),
  ];
}

/** One row for each workspace, in their order, so that two batches cannot deadlock. */
const NOTE_STATUSES = sqlStatement(
  'note_final_statuses',
  `insert into audit_outbox (workspace_id, entries)
   select u.workspace_id, jsonb_agg(jsonb_build_object(
            'operation', case u.status when 'completed' then 'completeTransaction' else 'failTransaction' end, 'outcome', 'done',
            'resourceType', 'transaction', 'resourceId', u.id, 'actor', jsonb_build_object('type', 'network')) order by u.id)
   from unnest($1::bigint[], $2::bigint[], $3::text[]) u(workspace_id, id, status)
   group by u.workspace_id order by u.workspace_id`,
);

/** The entries of the audit trail for final statuses that a network has reported. Nothing if no event has one. */
export function noteStatuses(recorded: readonly RecordedEvent[]): readonly BoundStatement<unknown>[] {
  const closed = recorded.filter(({ finalStatus }) => finalStatus !== undefined);
  if (closed.length === 0) return [];
  return [
    bind(
      NOTE_STATUSES,
      ...outgoingColumns(closed),
      closed.map(({ finalStatus }) => finalStatus),
    ),
  ];
}

/** A call of the payment network, from its beginning to its response. Its error is in `error`. See `channels.ts` of `@banking/postgres`. */
export interface NetworkMessage {
  readonly operation: 'submit' | 'find' | 'receive' | 'acknowledge';
  /** Ends the call. The call took too long if it is aborted at the end. */
  readonly signal?: AbortSignal | undefined;
}

export const networkChannel = tracingChannel<unknown, NetworkMessage>('banking:payouts:network');

/** Calls the network. */
export function traceNetwork<T>(message: NetworkMessage, call: () => Promise<T>): Promise<T> {
  return networkChannel.hasSubscribers ? networkChannel.tracePromise(call, message) : call();
}
