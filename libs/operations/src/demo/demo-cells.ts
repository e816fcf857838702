import type { WorkspaceId } from '@banking/domain';
import type { Books } from '@banking/ledger';

/** The databases that the demo data is made in. The steps are recorded at home. */
export interface DemoCells {
  /** The names of the cells besides home. The workspaces are placed in home and in these, in turn. */
  readonly names: readonly string[];
  /** The books of the cell of a workspace, once the workspace is open there. */
  booksOf(workspaceId: WorkspaceId): Promise<Books>;
  /** Reserves a code of an account over all cells. Repeating it changes nothing. */
  reserveCode(workspaceId: WorkspaceId, code: string): Promise<void>;
}

export const oneDatabase = (books: Books): DemoCells => ({
  names: [],
  booksOf: () => Promise.resolve(books),
  reserveCode: () => Promise.resolve(),
});
