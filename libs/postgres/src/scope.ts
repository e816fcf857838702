import { bind, statement, type Bound } from './statement.js';

/** For whom a flight or a database transaction acts. It ends with it: nothing stays behind on the connection. */
export interface Scope {
  /** Setting `app.workspaces`, which row-level security reads. Absent or empty: no workspace, so no rows. */
  readonly workspaces?: readonly number[];
  /** Setting `app.user`: the id of the user on whose behalf, for policies and trails. */
  readonly user?: number;
}

const setScope = statement('scope', `select set_config('app.workspaces', $1, true), set_config('app.user', $2, true)`);

/** @throws Error when an id is not a positive whole number: a bug of the caller. */
export function bindScope(scope: Scope): Bound<unknown> {
  const { workspaces, user } = scope;
  workspaces?.forEach(expectId);
  if (user !== undefined) expectId(user);
  return bind(setScope, workspaces === undefined ? '' : `{${workspaces.join(',')}}`, user === undefined ? '' : user);
}

function expectId(id: number): void {
  if (!Number.isSafeInteger(id) || id < 1) throw new Error(`not an id: ${id}`);
}
