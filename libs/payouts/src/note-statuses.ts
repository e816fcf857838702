import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import { outgoingColumns } from './money-position.js';
import type { RecordedEvent } from './rail-event-writes.js';

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
