import { sql } from '@banking/postgres/testing';
import type { Rows } from './stored-rows.js';

/** A caller and the workspace in which the caller acts. */
export interface Caller {
  readonly email: string;
  readonly appId: number;
  readonly workspaceId: number;
  /** Begins every text that the caller chooses. */
  readonly mark: string;
}

/** The caller whose data the other callers may not see, and those other callers. */
export interface Callers {
  readonly owner: Caller;
  /** An administrator of another app. */
  readonly stranger: Caller;
  /** An administrator of another workspace of the same app. */
  readonly neighbour: Caller;
  /** A member of that workspace. */
  readonly colleague: Caller;
  /** An administrator of that workspace and of the owner's, who acts in the former. */
  readonly sharer: Caller;
}

const ADD_APP = `insert into app (name) values ($1) returning id`;
const ADD_USER = `with added as (insert into app_user (email) values ($2) returning id)
  insert into app_membership (app_id, user_id) select $1, id from added returning user_id as id`;
const ADD_ROLE = `insert into workspace_role (workspace_id, user_id, role) values ($1, $2, $3) returning id`;

/**
 * Adds the apps, workspaces and users.
 *
 * @param worldName distinguishes them from those of another world
 * @returns the callers, and the ids of users whom several of them may see
 */
export async function provision(
  rows: Rows,
  worldName: string,
): Promise<{ callers: Callers; sharedIds: readonly number[] }> {
  const added = async (text: string, scope: readonly number[], ...values: unknown[]) => {
    const [row] = await rows.sendAtHome(scope, sql<{ id: bigint }>(text, ...values));
    return Number(row?.id);
  };
  const workspaceOf = async (appName: string, marks: readonly string[]) => {
    const appId = await added(ADD_APP, [], `${appName} of ${worldName}`);
    const workspaces = [];
    for (const mark of marks) workspaces.push(await rows.addWorkspace(appId, `${mark} workspace`));
    return { appId, workspaces };
  };
  const userOf = async (appId: number, email: string, roles: readonly (readonly [number, string])[]) => {
    const id = await added(ADD_USER, [], appId, email);
    for (const [workspaceId, role] of roles) await added(ADD_ROLE, [workspaceId], workspaceId, id, role);
    return id;
  };

  const harbour = await workspaceOf('Harbour', ['Qz7Owner', 'Neighbour']);
  const quay = await workspaceOf('Quay', ['Stranger']);
  const [owned, near] = harbour.workspaces as [number, number];
  const far = quay.workspaces[0] as number;
  const caller = (name: string, mark: string, appId: number, workspaceId: number): Caller => ({
    email: `${name}@${worldName}.example`,
    appId,
    workspaceId,
    mark,
  });
  const callers: Callers = {
    owner: caller('qz7owner', 'Qz7Owner', harbour.appId, owned),
    stranger: caller('stranger', 'Stranger', quay.appId, far),
    neighbour: caller('neighbour', 'Neighbour', harbour.appId, near),
    colleague: caller('colleague', 'Colleague', harbour.appId, near),
    sharer: caller('sharer', 'Sharer', harbour.appId, near),
  };
  await userOf(harbour.appId, callers.owner.email, [[owned, 'admin']]);
  await userOf(quay.appId, callers.stranger.email, [[far, 'admin']]);
  await userOf(harbour.appId, callers.neighbour.email, [[near, 'admin']]);
  await userOf(harbour.appId, callers.colleague.email, [[near, 'member']]);
  const sharer = await userOf(harbour.appId, callers.sharer.email, [
    [near, 'admin'],
    [owned, 'admin'],
  ]);
  await rows.untilCopied();
  return { callers, sharedIds: [sharer] };
}
