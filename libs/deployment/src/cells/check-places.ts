import { bind, type Database, sqlStatement } from '@banking/postgres';
import { DeploymentError } from '../deployment-error.js';

const OPEN_HERE = sqlStatement<{ id: bigint }>(
  'open_workspaces_of_cell',
  `select workspace_id as id from cell_workspace where state = 'open'`,
);
const PLACED_ELSEWHERE = sqlStatement<{ id: bigint }>(
  'workspaces_placed_elsewhere',
  'select workspace_id as id from workspace_place where workspace_id = any($1::bigint[]) and cell_number <> $2 order by 1',
);

/** A cell serves a workspace that home places in another cell: one of the databases has lost commits. */
export class DifferingPlacesError extends DeploymentError {}

/**
 * Compares the workspaces that a cell serves with their places at home. A cell that was restored to a moment before a move serves a
 * workspace that another cell serves too.
 *
 * @throws DifferingPlacesError
 */
export async function checkPlaces(
  home: Database,
  cell: Database,
  { number, name }: { readonly number: number; readonly name: string },
): Promise<void> {
  const [open] = await cell.pipeline({}, [bind(OPEN_HERE)] as const);
  const [elsewhere] = await home.pipeline({}, [
    bind(
      PLACED_ELSEWHERE,
      open.map(({ id }) => id),
      number,
    ),
  ] as const);
  if (elsewhere.length === 0) return;
  // A workspace is closed here before its place changes, which may have been meanwhile.
  const [later] = await cell.pipeline({}, [bind(OPEN_HERE)] as const);
  const stillOpen = new Set(later.map(({ id }) => id));
  const differing = elsewhere.filter(({ id }) => stillOpen.has(id)).map(({ id }) => id);
  if (differing.length === 0) return;
  throw new DifferingPlacesError(
    `The cell "${name}" serves workspaces that home places in other cells: ${differing.slice(0, 5).join(', ')}` +
      `${differing.length > 5 ? ` and ${differing.length - 5} more` : ''}. It is not opened. Was a database restored? See docs/maintain.md, ` +
      `section "Several databases".`,
  );
}
