import type { ScopeCheck } from '@banking/postgres';

/**
 * What a cell checks before it sets a scope. A read takes no lock: its rows are as they were when the workspace was closed, or later, and
 * they are removed only after all reads that began before.
 */
export const SCOPE_CHECK: ScopeCheck = {
  listFunction: 'require_open_workspaces',
  isReadable: `exists (select from cell_workspace c where c.workspace_id = $1 and c.state = 'open')`,
};
