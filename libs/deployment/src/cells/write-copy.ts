import { type AdminSession, quoteName, type SqlStatement } from '@banking/postgres';
import { DeploymentError } from '../explain-failure.js';
import { asLogin, asOwner } from './act-as.js';
import { COPIED, type DifferingRows, differingRows, inSession, type RunStatement } from './compare-copy.js';
import { hasRows } from './remove-rows.js';
import { type TableRow, tablesOfSchema } from './tables-of-workspace.js';

/** Ids whose rows are read at home and written at once. */
const IDS_MAX = 500;

type Query = AdminSession['query'];

const inQuery =
  (query: Query): RunStatement =>
  <Row>({ text }: SqlStatement<Row>, ...values: unknown[]) =>
    query<Row & object>(text, values);

/**
 * Writes the rows of the directory in which a cell differs from home, as replication writes them: without the triggers that are for home, and
 * with those that follow a change. All of it is one database transaction. Other tables stay as they are.
 *
 * @param home reads the rows as they are where the slot of the copy begins
 */
export async function writeCopy(home: Query, cell: AdminSession): Promise<void> {
  const differing: DifferingRows[] = [];
  for await (const some of differingRows(inQuery(home), inSession(cell))) differing.push(...some);
  const tables = new Map((await tablesOfSchema(cell)).map((table) => [table.name, table]));
  await asLogin(cell, async () => {
    // The login bypasses row-level security, which stays on for the functions of triggers.
    await cell.query('set local session_replication_role = replica');
    for (const name of COPIED) {
      const ids = differing.filter(({ table }) => table === name).map(({ id }) => id);
      const [column] = await cell.query<{ name: string }>('select directory_column($1) as name', [name]);
      const by = column!.name;
      const parts: Part[] = [];
      for (let first = 0; first < ids.length; first += IDS_MAX)
        parts.push(await readPart(home, name, by, ids.slice(first, first + IDS_MAX)));
      for (const step of stepsOf(tables.get(name)!, by)) for (const part of parts) await step(cell.query, part);
    }
    await cell.query(
      'delete from cell_workspace c where not exists (select from workspace w where w.id = c.workspace_id)',
    );
  });
}

/** Rows of home, and the ids that they are all rows of. */
interface Part {
  readonly ids: readonly bigint[];
  /** As JSON. */
  readonly rows: string;
}

async function readPart(home: Query, name: string, by: string, ids: readonly bigint[]): Promise<Part> {
  const [read] = await home<{ rows: string }>(
    `select coalesce(json_agg(t), '[]')::text as rows from ${name} t where ${by} = any ($1::bigint[])`,
    [ids],
  );
  return { ids, rows: read!.rows };
}

type Step = (cell: Query, part: Part) => Promise<unknown>;

/**
 * All removals come first, because a row may have the unique value of another one. A changed row is removed and written again, but not where
 * triggers follow: the removal of a role revokes keys.
 */
function stepsOf({ name, columns, key, isWatched }: TableRow, by: string): readonly Step[] {
  const there = `jsonb_populate_recordset(null::${name}, $1::jsonb) n`;
  const isSame = key.map((column) => `n.${quoteName(column)} = t.${quoteName(column)}`).join(' and ');
  const changed = `to_jsonb(n) is distinct from to_jsonb(t)`;
  const list = columns.map(quoteName).join(', ');
  const values = columns.map((column) => `n.${quoteName(column)}`).join(', ');
  const kept = isWatched ? isSame : `${isSame} and not (${changed})`;
  return [
    (cell, { ids, rows }) =>
      cell(
        `delete from ${name} t where t.${by} = any ($2::bigint[]) and not exists (select from ${there} where ${kept})`,
        [rows, ids],
      ),
    (cell, { rows }) =>
      cell(`update ${name} t set (${list}) = row (${values}) from ${there} where ${isSame} and ${changed}`, [rows]),
    (cell, { rows }) =>
      cell(
        `insert into ${name} (${list}) select ${values} from ${there} on conflict (${key.map(quoteName).join(', ')}) do nothing`,
        [rows],
      ),
  ];
}

/**
 * The books of a workspace need its row in the directory.
 *
 * @throws DeploymentError if the cell has rows of workspaces that home does not have
 */
export async function requireKnownWorkspaces(home: AdminSession, cell: AdminSession, cellName: string): Promise<void> {
  const lost: bigint[] = [];
  const here = await idsOf(cell);
  const there = new Set(await idsOf(home));
  for (const id of here) if (!there.has(id) && (await hasRows(cell, Number(id)))) lost.push(id);
  if (lost.length === 0) return;
  throw new DeploymentError(
    `The cell "${cellName}" has rows of workspaces that home does not have: ${lost.join(', ')}. Add each of them at home with its id, and run ` +
      `this again; see docs/maintain.md, section "Several databases".`,
  );
}

async function idsOf(session: AdminSession): Promise<readonly bigint[]> {
  const rows = await asOwner(session, () => session.query<{ id: bigint }>('select id from workspace order by id'));
  return rows.map(({ id }) => id);
}
