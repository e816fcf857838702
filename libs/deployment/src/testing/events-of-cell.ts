import type { WorkspaceId } from '@banking/domain';
import type { CellServer } from './cell-server.js';

interface StoredEvent {
  readonly id: bigint;
  /** Its type and id. */
  readonly resource: string;
  readonly sequence: number;
}

/** The events of a workspace by id. */
export const eventsOf = (world: CellServer, cell: string, workspaceId: WorkspaceId): Promise<StoredEvent[]> =>
  world.query<StoredEvent>(
    cell,
    `select id, resource_type || ' ' || resource_id as resource, sequence from event where workspace_id = ${workspaceId} order by id`,
  );

/** The events whose sequence does not follow that of the one before of the same resource. */
export function sequencesWithGap(events: readonly StoredEvent[]): readonly StoredEvent[] {
  const last = new Map<string, number>();
  return events.filter(({ resource, sequence }) => {
    const before = last.get(resource) ?? 0;
    last.set(resource, sequence);
    return sequence !== before + 1;
  });
}
