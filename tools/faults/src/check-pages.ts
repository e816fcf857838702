import type { Violation } from './check-orders.js';
import type { DatabaseServer } from './database-server.js';

/** The functions of pg_amcheck, from the extension of the server itself, so that no program of its version must be installed. */
const INSTALL = 'create extension if not exists amcheck schema public';

const HEAPS = `
  select c.oid::regclass::text as name, v.msg as message
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  cross join lateral public.verify_heapam(c.oid::regclass) v
  where n.nspname = 'banking' and c.relkind = 'r' and c.relpersistence = 'p'
  limit 5`;

/** Every row of a table must be in each of its indexes. @throws the error of PostgreSQL for a damaged index */
const INDEXES = `
  select count(public.bt_index_check(i.indexrelid::regclass, true))::int as count
  from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
  join pg_am a on a.oid = c.relam
  where n.nspname = 'banking' and a.amname = 'btree' and c.relkind = 'i' and i.indisvalid`;

const CHECKSUMS = 'select coalesce(sum(checksum_failures), 0)::int as failures from pg_stat_database';

/** Wrong checksums that the server has counted, and damaged tables and indexes. */
export async function checkPages(database: DatabaseServer): Promise<Violation[]> {
  const found: string[] = [];
  const [row] = await database.query<{ failures: number }>(CHECKSUMS);
  if (row !== undefined && row.failures > 0) found.push(`${row.failures} pages have a wrong checksum`);
  await database.query(INSTALL);
  const heaps = await database.query<{ name: string; message: string }>(HEAPS);
  found.push(...heaps.map(({ name, message }) => `table ${name} is damaged: ${message}`));
  try {
    await database.query(INDEXES);
  } catch (error) {
    found.push(`an index is damaged: ${(error as Error).message}`);
  }
  return found.map((detail) => ({ check: 'books', detail }));
}
