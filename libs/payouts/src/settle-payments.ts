import { bind, compositeOf, sqlStatement, type BoundStatement } from '@banking/postgres';
import type { DiscrepancyKind } from './discrepancies.js';
import type { Outgoing } from './open-payouts.js';
import type { RailEvent } from './rail.js';

/** What is said of a pending payment: an event of the network, the end of the payment, or both. */
export interface Settlement extends Outgoing {
  readonly event?: RailEvent | undefined;
  /** What the event opens if it is recorded. One that is open already stays the only one of its kind. */
  readonly discrepancies?: readonly DiscrepancyKind[] | undefined;
  readonly finalStatus?: 'completed' | 'failed' | undefined;
  /** Why an operator ended it. */
  readonly reason?: string | undefined;
}

const SETTLE_PAYMENTS = sqlStatement('settle_payments', 'select settle_payments($1::settlement[], $2)');

/**
 * Records events and gives payments their final status, with that of their payouts, crossings and runs, the end of their queued work and
 * the entries of the audit trail. At most one settlement of a payment. The caller has posted the return of each that fails before, in the
 * same database transaction.
 *
 * @param notedBy who ends the payments, for the audit trail; undefined if the caller notes it
 */
export function settlePayments(
  settlements: readonly Settlement[],
  notedBy: 'network' | 'system' | undefined,
): BoundStatement<unknown>[] {
  return settlements.length === 0 ? [] : [bind(SETTLE_PAYMENTS, settlements.map(settlementValue), notedBy)];
}

const settlementValue = ({
  workspaceId,
  transactionId,
  event,
  discrepancies,
  finalStatus,
  reason,
}: Settlement): string =>
  compositeOf([
    ...[workspaceId, transactionId, event?.providerEvent, event?.status, event?.reasonCode, event?.message],
    ...[discrepancies ?? [], finalStatus, reason, event?.isReturn ?? false],
  ]);
