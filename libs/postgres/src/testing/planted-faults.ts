import { type Client, escapeIdentifier as quoted } from 'pg';

/** Makes a change that triggers and foreign keys forbid, as a superuser who has them off. @param owner the client of a `FreshDatabase` */
export async function plant(owner: Client, text: string): Promise<void> {
  await owner.query(`begin; set local session_replication_role = replica; ${text}; commit`);
}

interface KeptTable {
  readonly name: string;
  readonly columns: string;
}

const TABLES = `
  select c.relname as name, string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
  from pg_class c join pg_attribute a on a.attrelid = c.oid
  where c.relnamespace = current_schema::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  group by c.relname`;

/**
 * Keeps the rows of all tables, for a spec that plants one fault after the other in one database: a database for each fault has new
 * connections, which read the catalog and plan every statement again.
 *
 * @param owner the client of a `FreshDatabase`.
 * @returns what puts all rows back, and the indexes that were dropped, without triggers and foreign keys.
 */
export async function keepRows(owner: Client): Promise<() => Promise<void>> {
  const { rows: tables } = await owner.query<KeptTable>(TABLES);
  await owner.query(`
    create temp table kept_index as
      select indexname, indexdef from pg_indexes where schemaname = current_schema;
    ${tables.map(({ name, columns }) => `create temp table ${kept(name)} as select ${columns} from ${quoted(name)}`).join(';')}`);
  const restore = `
    rollback; -- a plant that failed
    begin;
    set local session_replication_role = replica;
    do $$
    declare
      dropped record;
    begin
      ${tables.map(restored).join('\n')}
      for dropped in select indexdef from kept_index where to_regclass(quote_ident(indexname)) is null loop
        execute dropped.indexdef;
      end loop;
    end $$;
    commit`;
  return async () => {
    await owner.query(restore);
  };
}

const kept = (table: string) => quoted(`kept_${table}`);

/** A table without a change is left alone. Rows are compared as text, because not every type has an equality. */
const restored = ({ name, columns }: KeptTable) => `
      if (select count(*) from ${quoted(name)}) <> (select count(*) from ${kept(name)}) or exists (
        select r::text from (select ${columns} from ${quoted(name)}) r except all select k::text from ${kept(name)} k
      ) then
        delete from ${quoted(name)};
        insert into ${quoted(name)} (${columns}) overriding system value select * from ${kept(name)};
      end if;`;
