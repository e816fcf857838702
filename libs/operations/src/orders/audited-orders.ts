import { BY_SYSTEM, callerOf } from '../audit/audited-call.js';
import { auditEntry, type AuditEntry } from '../audit/note-audit.js';
import type { OrderDecision } from './decide-orders.js';

/** The entries of the audit trail for the decisions of a batch: placed orders, and runs. A refused placement writes nothing. */
export const auditEntriesOf = (decisions: readonly OrderDecision[]): AuditEntry[] => decisions.flatMap(entriesOf);

function entriesOf(decision: OrderDecision): AuditEntry[] {
  const { order, kind } = decision;
  const { workspaceId } = order;
  if (order.kind === 'placement') {
    if (kind !== 'posted') return [];
    const resource = { type: 'order', id: order.ids.orderId };
    return [auditEntry(workspaceId, { operation: 'placeOrder', resource }, callerOf(order.caller))];
  }
  if (kind !== 'posted' && kind !== 'refused') return [];
  const resource = { type: 'order', id: order.run.orderId };
  const reason = kind === 'refused' ? decision.refusal.reason : undefined;
  return [auditEntry(workspaceId, { operation: 'runOrder', resource, reason }, BY_SYSTEM)];
}
