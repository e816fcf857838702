import { createHash } from 'node:crypto';
import { escapeLiteral } from 'pg';
import { bind, sqlStatement, type BoundStatement } from './sql-statement.js';

/** The workspaces and the user that row-level security reads. It ends with its pipeline or database transaction. */
export interface RlsScope {
  /** Setting `app.workspaces`, which row-level security reads. Absent or empty: no workspace, so no rows. */
  readonly workspaces?: readonly number[];
  /** Setting `app.user`: the id of the acting user, for policies and trails. */
  readonly user?: number | undefined;
  /** Setting `app.actor_type`: who makes the changes, if neither a user nor the service itself. For trails. */
  readonly actorType?: 'operator' | 'network' | 'service';
  /** Setting `app.approval`: the approved request that is carried out. */
  readonly approval?: number | undefined;
  /** Whether nothing is changed. The check of a single workspace then takes no lock and runs no function. */
  readonly isRead?: boolean;
}

/** In a deployment of cells a scope takes a lock for each workspace, and a server has memory for some thousands of locks of all its callers. */
const SCOPE_WORKSPACES = 1_000;

/** Parts of many workspaces, each small enough for a scope. */
export function scopesOf(workspaces: readonly number[]): readonly (readonly number[])[] {
  const scopes: (readonly number[])[] = [];
  for (let first = 0; first < workspaces.length; first += SCOPE_WORKSPACES) {
    scopes.push(workspaces.slice(first, first + SCOPE_WORKSPACES));
  }
  return scopes;
}

/** The statement that sets a scope. @throws Error when an id is not a positive whole number: an error of the calling code. */
export type BindScope = (scope: RlsScope) => BoundStatement<unknown>;

/** Lets the database refuse workspaces of a scope. Both are parts of the SQL text. */
export interface ScopeCheck {
  /** A function of the schema that receives the list of workspaces as text and returns it. It may raise an error instead. */
  readonly listFunction: string;
  /** A condition on the only workspace `$1` of a scope that reads. The function is called if it does not hold. */
  readonly isReadable: string;
}

/** Settings of the schema, such as `app.operator_request`, and their values. They end with each pipeline or database transaction. */
export type ScopeSettings = Readonly<Record<string, string>>;

/**
 * @param check Without it the list is set as it is.
 * @param role taken on until the end of the pipeline or database transaction. Default: the role of the session stays.
 * @param settings what every scope sets besides
 */
export function scopeBinder(check?: ScopeCheck, role?: string, settings: ScopeSettings = {}): BindScope {
  const list = check === undefined ? '$1' : `${check.listFunction}($1)`;
  const names = Object.keys(settings);
  // Short, because a name has at most 63 bytes, and of its own for each text.
  const variant = role === undefined && names.length === 0 ? '' : `_${digestOf([role, names])}`;
  const named = (name: string) => `${check === undefined ? '' : 'checked_'}${name}${variant}`;
  const takeRole = role === undefined ? '' : `, set_config('role', ${escapeLiteral(role)}, true)`;
  const set = (first: number) =>
    names.map((name, place) => `, set_config(${escapeLiteral(name)}, $${first + place}, true)`).join('');
  const setScope = sqlStatement(
    named('scope'),
    `select set_config('app.workspaces', ${list}, true), set_config('app.user', $2, true)${set(3)}${takeRole}`,
  );
  // A statement of its own, so that other scopes cost no more.
  const setScopeOfActor = sqlStatement(
    named('scope_of_actor'),
    `select set_config('app.workspaces', ${list}, true), set_config('app.user', $2, true),
            set_config('app.actor_type', $3, true)${set(4)}${takeRole}`,
  );
  const setScopeOfApproval = sqlStatement(
    named('scope_of_approval'),
    `select set_config('app.workspaces', ${list}, true), set_config('app.user', $2, true),
            set_config('app.approval', $3, true)${takeRole}`,
  );
  const setScopeOfRead = check && sqlStatement(named('read_scope'), `${readScopeOf(check)}${takeRole}`);
  return ({ workspaces, user, actorType, approval, isRead }) => {
    workspaces?.forEach(expectId);
    if (user !== undefined) expectId(user);
    if (isRead && setScopeOfRead && workspaces?.length === 1 && user === undefined && actorType === undefined) {
      return bind(setScopeOfRead, ...workspaces);
    }
    const values = [
      workspaces === undefined ? '' : `{${workspaces.join(',')}}`,
      user === undefined ? '' : user,
    ] as const;
    if (approval !== undefined) return bind(setScopeOfApproval, ...values, approval);
    return actorType === undefined
      ? bind(setScope, ...values, ...Object.values(settings))
      : bind(setScopeOfActor, ...values, actorType, ...Object.values(settings));
  };
}

export const bindScope = scopeBinder();

const readScopeOf = ({ listFunction, isReadable }: ScopeCheck): string =>
  `select set_config('app.workspaces', case when ${isReadable} then '{' || $1::bigint || '}' else ${listFunction}('{' || $1::bigint || '}') end, true),
          set_config('app.user', '', true)`;

const digestOf = (parts: unknown): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 12);

function expectId(id: number): void {
  if (!Number.isSafeInteger(id) || id < 1) throw new Error(`not an id: ${id}`);
}
