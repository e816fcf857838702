import type { Violation } from '../check-orders.js';
import type { DatabaseServer } from '../database-server.js';
import type { CellName } from './cell-servers.js';

const STEP = 64n;

interface Sequence {
  readonly name: string;
  readonly step: string;
  readonly last: string | null;
  /** The column that draws from it. */
  readonly tableName: string | null;
  readonly columnName: string | null;
}

const SEQUENCES = `
  select c.relname as name, q.seqincrement::text as step, pg_sequence_last_value(c.oid)::text as last,
         t.relname as "tableName", a.attname as "columnName"
  from pg_sequence q join pg_class c on c.oid = q.seqrelid
  left join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = c.oid and d.classid = 'pg_attrdef'::regclass
  left join pg_attrdef f on f.oid = d.objid
  left join pg_class t on t.oid = f.adrelid
  left join pg_attribute a on a.attrelid = f.adrelid and a.attnum = f.adnum
  where c.relnamespace = 'banking'::regnamespace
  order by 1, 4`;

/** Home has the originals of these; the other cells have copies. */
const COPIED = `select distinct tablename as name from pg_publication_tables where schemaname = 'banking'`;
const NUMBER = 'select number from cell_identity';

/** What was read of the ids. */
interface IdsCheck {
  /** Ids that were compared. */
  readonly ids: number;
  readonly violations: readonly Violation[];
}

/** Whether every sequence gives ids of its own cell, and no id of any table is in two cells. All sequences come from the catalog. */
export async function checkIds(cells: ReadonlyMap<CellName, DatabaseServer>): Promise<IdsCheck> {
  const violations: Violation[] = [];
  const report = (detail: string) => violations.push({ check: 'ids', detail });
  const copied = new Set((await cells.get('home')!.query<{ name: string }>(COPIED)).map(({ name }) => name));
  const owners = new Map<string, CellName>();
  for (const [cell, database] of cells) {
    const [identity] = await database.query<{ number: number }>(NUMBER);
    const sequences = await database.query<Sequence>(SEQUENCES);
    if (sequences.length === 0) report(`${cell} has no sequence`);
    for (const { name, step, last, tableName, columnName } of sequences) {
      const isOwn = last === null || BigInt(last) % STEP === BigInt(identity!.number);
      if (BigInt(step) !== STEP || !isOwn)
        report(`${name} of ${cell} is at ${last ?? 'no value'} and steps by ${step}`);
      if (tableName === null || columnName === null) {
        report(`${name} of ${cell} is the default of no column, so its ids are not compared`);
      } else if (cell === 'home' || !copied.has(tableName)) {
        for (const { id } of await database.query<{ id: string }>(
          `select ${columnName}::text as id from ${tableName}`,
        )) {
          const key = `${tableName}.${columnName} ${id}`;
          const owner = owners.get(key);
          if (owner !== undefined) report(`${key} is in ${owner} and in ${cell}`);
          owners.set(key, cell);
        }
      }
    }
  }
  return { ids: owners.size, violations };
}
