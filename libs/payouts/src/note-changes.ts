import type { BoundStatement } from '@banking/postgres';

/** What an operator has changed in a workspace. */
export interface NotedChange {
  readonly workspaceId: number;
  readonly operation: string;
  readonly resource: { readonly type: string; readonly id: number };
}

/** Makes the statement that writes changes to the audit trail, in the database transaction of the changes. */
export type NoteChanges = (changes: readonly NotedChange[]) => BoundStatement<unknown>;
