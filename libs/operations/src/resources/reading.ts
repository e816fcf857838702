import type { BoundStatement, Database } from '@banking/postgres';
import { CursorSigner } from '../lists/sign-cursor.js';
import { ReferenceData } from '../reference/reference-data.js';
import type { Composed } from './composed.js';

/** What resources are read with. */
export interface Reading {
  readonly database: Database;
  readonly reference: ReferenceData;
  readonly cursors: CursorSigner;
}

/** One for each process: it keeps the reference data. */
export const openReading = (database: Database): Reading => ({
  database,
  reference: new ReferenceData(database),
  cursors: new CursorSigner(database),
});

/** The query of one resource, and what composes the resource of its row. */
export interface ResourceQuery<Row, Resource> {
  readonly bound: BoundStatement<Row>;
  readonly compose: Composed<Row, Resource>['compose'];
}

/** Reads a resource of a workspace in one round trip. */
export async function readResource<Row, Resource>(
  { database, reference }: Pick<Reading, 'database' | 'reference'>,
  workspaceId: number,
  { bound, compose }: ResourceQuery<Row, Resource>,
): Promise<Resource | undefined> {
  const [row] = await Promise.all([database.readCoalesced({ workspaces: [workspaceId] }, bound), reference.current()]);
  return row && reference.compose((current) => compose(current, row));
}
