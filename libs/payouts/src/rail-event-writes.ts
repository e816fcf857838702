import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import type { DiscrepancyKind } from './discrepancies.js';
import { outgoingColumns } from './money-position.js';
import { PAYOUT, type Outgoing } from './open-payouts.js';

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
     on conflict (workspace_id, remittance_id, provider_event, status) do nothing
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
