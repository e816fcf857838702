import { bind, sqlStatement, type BoundStatement } from './sql-statement.js';

/** The workspaces and the user that row-level security reads. It ends with its pipeline or database transaction. */
export interface RlsScope {
  /** Setting `app.workspaces`, which row-level security reads. Absent or empty: no workspace, so no rows. */
  readonly workspaces?: readonly number[];
  /** Setting `app.user`: the id of the acting user, for policies and trails. */
  readonly user?: number;
}

const setScope = sqlStatement(
  'scope',
  `select set_config('app.workspaces', $1, true), set_config('app.user', $2, true)`,
);

/** @throws Error when an id is not a positive whole number: an error of the calling code. */
export function bindScope(scope: RlsScope): BoundStatement<unknown> {
  const { workspaces, user } = scope;
  workspaces?.forEach(expectId);
  if (user !== undefined) expectId(user);
  return bind(setScope, workspaces === undefined ? '' : `{${workspaces.join(',')}}`, user === undefined ? '' : user);
}

function expectId(id: number): void {
  if (!Number.isSafeInteger(id) || id < 1) throw new Error(`not an id: ${id}`);
}
