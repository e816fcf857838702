import { type AdminSession, SCHEMA } from '@banking/postgres';
import { DeploymentError } from '../deployment-error.js';
import type { MoveCells } from './move-settings.js';

/** What rows of a workspace refer to and what the source has of it. The target must have it all. */
const NEEDED = `
  select 'the migration ' || name as what from ${SCHEMA}.schema_migration
  union all select 'the mode of the deployment ' || is_sandbox from ${SCHEMA}.deployment_mode
  union all select 'the currency ' || code || ' with the id ' || id || ' and ' || coalesce(decimals::text, 'no') || ' decimals' from ${SCHEMA}.currency
  union all select 'the product ' || id || ' in the currency ' || currency_id from ${SCHEMA}.product
  union all select 'the bank ' || id || coalesce(' with the BIC ' || swift_code, '') from ${SCHEMA}.bank
  union all select 'the corridor ' || id || ' to ' || destination_country || ' in the currency ' || destination_currency_id from ${SCHEMA}.corridor
  order by what`;

/** Who has a role in the workspace, which decides about the runs of its orders. */
const ROLES = `
  select coalesce(string_agg(row (r.user_id, r.role, u.status)::text, ' ' order by r.user_id, r.role), '') as roles
  from ${SCHEMA}.workspace_role r join ${SCHEMA}.app_user u on u.id = r.user_id where r.workspace_id = $1`;

/** @throws DeploymentError if the copy of the directory at the target is behind that at the source, or the other way round */
export async function requireEqualRoles(source: AdminSession, target: AdminSession, cells: MoveCells): Promise<void> {
  const [there, here] = await Promise.all(
    [source, target].map((session) => session.query<{ roles: string }>(ROLES, [cells.workspaceId])),
  );
  if (there![0]?.roles === here![0]?.roles) return;
  throw new DeploymentError(
    `The cells "${cells.source}" and "${cells.target}" differ in the roles of workspace ${cells.workspaceId}: a copy of the directory is ` +
      `behind. Run the command again when the copies follow; docs/observe.md has the alerts CopyBehind and CopyLost.`,
  );
}

/** @throws DeploymentError if the target lacks a migration, or reference data that rows of the source may name */
export async function requireEqualCells(source: AdminSession, target: AdminSession, cells: MoveCells): Promise<void> {
  const [there, here] = await Promise.all([source, target].map((session) => session.query<{ what: string }>(NEEDED)));
  const known = new Set(here!.map(({ what }) => what));
  const missing = there!.find(({ what }) => !known.has(what));
  if (missing === undefined) return;
  throw new DeploymentError(
    `The cell "${cells.target}" lacks ${missing.what}, which "${cells.source}" has. Start the services of this release on both, or run ` +
      `banking cell add ${cells.target} again. Reference data of your own must be the same in all cells.`,
  );
}
