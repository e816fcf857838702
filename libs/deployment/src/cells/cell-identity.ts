import { bind, type Database, sqlStatement } from '@banking/postgres';
import { HOME_CELL } from '@banking/process';
import { DeploymentError } from '../deployment-error.js';

interface Identity {
  readonly name: string;
  /** The further cells that home knows; null without any. */
  readonly others: readonly string[] | null;
  /** Whether a sequence of the schema counts by one, as after a migration that ended early. Its ids would be those of other cells too. */
  readonly lacks_steps: boolean;
  /** Whether the directory, which is copied last, contains this cell. Until then, reference data must come from home alone. */
  readonly is_listed: boolean;
}

const READ_IDENTITY = sqlStatement<Identity>(
  'read_cell_identity',
  `select i.name, (select array_agg(c.name order by c.name) from cell c where c.number <> 0) as others,
          exists (select from pg_sequence s join pg_class c on c.oid = s.seqrelid
                  where c.relnamespace = 'banking'::regnamespace and s.seqincrement = 1) as lacks_steps,
          exists (select from cell c where c.name = i.name) as is_listed
   from cell_identity i`,
);

/** The cell is being added. A process that serves others tries it again. */
export class UnfinishedCellError extends DeploymentError {}

/** Which cell a process expects a database to be. Without a name, the only database of its deployment. */
export interface ExpectedCell {
  readonly name?: string | undefined;
  /** At home: the names of the further cells that are configured. */
  readonly others?: readonly string[] | undefined;
  /** At home: whether cells may be configured that are added later. */
  readonly mayBeAdded?: boolean;
}

/**
 * Compares a database with the configuration. A process that knows fewer cells than there are would show workspaces of the others as
 * empty.
 *
 * @throws DeploymentError when they differ, with the change to make
 */
export async function checkCell(database: Database, { name, others, mayBeAdded = false }: ExpectedCell): Promise<void> {
  const stored = await database.read({}, bind(READ_IDENTITY));
  if (name === undefined) {
    if (stored === undefined) return;
    throw new DeploymentError(
      `The database is the cell "${stored.name}" of a deployment with several databases. Set CELLS_FILE, or CELLS for embedded databases.`,
    );
  }
  if (stored === undefined) {
    throw new DeploymentError(
      `The database is configured as the cell "${name}" and is no cell yet. Run banking cell add, or remove CELLS_FILE and CELLS.`,
    );
  }
  if (stored.name !== name) {
    throw new DeploymentError(
      `The database is configured as the cell "${name}" and is the cell "${stored.name}". Correct the configuration.`,
    );
  }
  if (stored.lacks_steps) {
    throw new DeploymentError(
      `The cell "${name}" has a sequence whose ids other cells may give too. Run banking cell add again, for this cell or, at home, for any.`,
    );
  }
  if (!stored.is_listed) {
    throw new UnfinishedCellError(
      `The cell "${name}" is not complete yet. Wait for the end of banking cell add ${name}, or run it again.`,
    );
  }
  if (name !== HOME_CELL) return;
  const [known, configured] = [stored.others ?? [], [...(others ?? [])].sort()];
  const missing = known.filter((one) => !configured.includes(one));
  const unknown = configured.filter((one) => !known.includes(one));
  if (missing.length > 0) {
    throw new DeploymentError(
      `The configuration lacks ${missing.join(', ')} of the cells. Add them to CELLS_FILE or raise CELLS.`,
    );
  }
  if (unknown.length > 0 && !mayBeAdded) {
    throw new DeploymentError(
      `The deployment has no cell ${unknown.join(', ')} yet. Run banking cell add ${unknown[0]}.`,
    );
  }
}
