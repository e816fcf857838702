import { Refusal, type RefusalReason } from '@banking/domain';
import { type BoundStatement, type Database, lookup } from '@banking/postgres';
import { CursorSigner } from '../lists/sign-cursor.js';
import { type Reference, ReferenceData } from '../reference/reference.js';
import { type Columns, packed, type RowOf, selected, unpacking } from './columns.js';

/** What resources are read with. */
export interface Reading {
  readonly database: Database;
  readonly reference: ReferenceData;
  readonly cursors: CursorSigner;
  /** Whether creations are only tried. One that was not made with its key before is refused as it would be, or throws `NotCreatedBefore`. */
  readonly isOfTrials?: boolean;
}

/** One for each process: it keeps the reference data. */
export const openReading = (database: Database): Reading => ({
  database,
  reference: new ReferenceData(database),
  cursors: new CursorSigner(database),
});

/** The query of one resource, and what composes the resource of its row. */
export interface ResourceQuery<Row, Resource> {
  readonly bound: BoundStatement<Row>;
  readonly compose: Composed<Row, Resource>['compose'];
}

/** Reads a resource of a workspace in one round trip. @throws Refusal `missing` if there is none */
export async function readResource<Row, Resource>(
  { database, reference }: Pick<Reading, 'database' | 'reference'>,
  workspaceId: number,
  { bound, compose }: ResourceQuery<Row, Resource | undefined>,
  missing: RefusalReason,
): Promise<Resource> {
  const [row] = await Promise.all([database.readCoalesced({ workspaces: [workspaceId] }, bound), reference.current()]);
  const resource = row && (await reference.compose((current) => compose(current, row)));
  if (resource === undefined) throw new Refusal(missing);
  return resource;
}

/** The same for a resource that is composed without the reference data. */
export async function readWithoutReference<Row, Resource>(
  { database }: Pick<Reading, 'database'>,
  workspaceId: number,
  bound: BoundStatement<Row>,
  compose: (row: Row) => Resource,
  missing: RefusalReason,
): Promise<Resource> {
  const row = await database.readCoalesced({ workspaces: [workspaceId] }, bound);
  if (!row) throw new Refusal(missing);
  return compose(row);
}

/** How a resource is read: the columns of a row `t` and of its joins, and what composes the resource of them. */
export interface Composed<Row, Resource> {
  /** A list of SELECT. */
  readonly columns: string;
  readonly joins: string;
  readonly compose: (reference: Reference, row: Row) => Resource;
}

/** The columns of several tables by their aliases, as one list of SELECT. Their names are distinct. */
export function selectedOf(
  ...parts: readonly (readonly [Readonly<Record<string, (alias: string) => string>>, string])[]
): string {
  return parts.map(([columns, alias]) => selected(columns, alias)).join(', ');
}

/**
 * How a page of resources is read: its rows by the tables that they are of, each row once, however many items refer to it. All rows are of
 * one SQL statement, and so from one snapshot.
 */
export interface ComposedPage<Facts, Resource> {
  /** Common table expressions over `page`, each with a comma before it. */
  readonly tables: string;
  /** A list of SELECT with the facts: JSON arrays of packed rows. */
  readonly columns: string;
  /** Returns what composes the item with an id of the page. */
  readonly compose: (reference: Reference, facts: Facts) => (id: number) => Resource | undefined;
}

/** Rows in one JSON array. Null if there are none. */
export type PackedRows = readonly (readonly unknown[])[] | null;

/** All rows of a table expression as one JSON array. */
export const packedRows = (row: string, from: string, order?: string): string =>
  `(select json_agg(${row}${order === undefined ? '' : ` order by ${order}`}) from ${from})`;

/** The rows of a table by the ids of a table expression `ids`. */
export const rowsOf = (table: string, alias: string, ids: string, key = 'id'): string =>
  `${ids} i cross join ${lookup(`select * from ${table} l where l.workspace_id = $1 and l.${key} = i.id`)} ${alias}`;

export interface RowFacts {
  readonly rows: PackedRows;
}

/** How a row is packed and read. */
export interface PackedRow<Row> {
  /** SQL of the values. */
  readonly packed: string;
  readonly joins: string;
  readonly rowOf: (values: readonly unknown[]) => Row;
}

export const packedRow = <C extends Columns>(columns: C, alias: string): PackedRow<RowOf<C>> => ({
  packed: packed(columns, alias),
  joins: '',
  rowOf: unpacking(columns),
});

/** A page of resources of which each is composed of one row. */
export const pageOfRows = <Row, Resource extends { readonly id: number }>(
  { packed: row, joins, rowOf }: PackedRow<Row>,
  compose: (reference: Reference, row: Row) => Resource,
): ComposedPage<RowFacts, Resource> => ({
  tables: '',
  columns: `${packedRows(row, `page t ${joins}`)} as rows`,
  compose: (reference, { rows }) => {
    const items = byId((rows ?? []).map((values) => compose(reference, rowOf(values))));
    return (id) => items.get(id);
  },
});

/** A page of resources of which each is composed of these columns of its row alone. */
export const pageOfColumns = <C extends Columns, Resource extends { readonly id: number }>(
  columns: C,
  compose: (row: RowOf<C>) => Resource,
): ComposedPage<RowFacts, Resource> => pageOfRows(packedRow(columns, 't'), (_, row) => compose(row));

export const byId = <Resource extends { readonly id: number }>(resources: readonly Resource[]): Map<number, Resource> =>
  new Map(resources.map((resource): [number, Resource] => [resource.id, resource]));
