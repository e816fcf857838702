import { bind, sqlStatement, type BoundStatement } from './sql-statement.js';

/** The workspaces and the user that row-level security reads. It ends with its pipeline or database transaction. */
export interface RlsScope {
  /** Setting `app.workspaces`, which row-level security reads. Absent or empty: no workspace, so no rows. */
  readonly workspaces?: readonly number[];
  /** Setting `app.user`: the id of the acting user, for policies and trails. */
  readonly user?: number;
  /** Setting `app.actor_type`: who makes the changes, if neither a user nor the service itself. For trails. */
  readonly actorType?: 'operator' | 'network' | 'service';
}

/** The statement that sets a scope. @throws Error when an id is not a positive whole number: an error of the calling code. */
export type BindScope = (scope: RlsScope) => BoundStatement<unknown>;

/** A plain name, because it becomes a part of the SQL text. */
const FUNCTION_NAME = /^[a-z_]+$/;

/**
 * @param listFunction a function of the schema that receives the list of workspaces as text and returns it. It may raise an error instead.
 *   Without it the list is set as it is.
 */
export function scopeBinder(listFunction?: string): BindScope {
  if (listFunction !== undefined && !FUNCTION_NAME.test(listFunction)) throw new Error('not the name of a function');
  const list = listFunction === undefined ? '$1' : `${listFunction}($1)`;
  const setScope = sqlStatement(
    listFunction === undefined ? 'scope' : 'checked_scope',
    `select set_config('app.workspaces', ${list}, true), set_config('app.user', $2, true)`,
  );
  // A statement of its own, so that other scopes cost no more.
  const setScopeOfActor = sqlStatement(
    listFunction === undefined ? 'scope_of_actor' : 'checked_scope_of_actor',
    `select set_config('app.workspaces', ${list}, true), set_config('app.user', $2, true), set_config('app.actor_type', $3, true)`,
  );
  return ({ workspaces, user, actorType }) => {
    workspaces?.forEach(expectId);
    if (user !== undefined) expectId(user);
    const values = [
      workspaces === undefined ? '' : `{${workspaces.join(',')}}`,
      user === undefined ? '' : user,
    ] as const;
    return actorType === undefined ? bind(setScope, ...values) : bind(setScopeOfActor, ...values, actorType);
  };
}

export const bindScope = scopeBinder();

function expectId(id: number): void {
  if (!Number.isSafeInteger(id) || id < 1) throw new Error(`not an id: ${id}`);
}
