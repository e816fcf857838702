import type { FreshDatabase } from '@banking/postgres/testing';

/**
 * The parts of a schema, one a line, each with the definition that PostgreSQL prints for it. Constraints of NOT NULL are left out,
 * because PostgreSQL lists them from version 18 on; the columns state them.
 */
const PARTS = [
  `select 'table ' || c.relname || case when c.relrowsecurity then ' with row security' else '' end
          || case when c.relforcerowsecurity then ' forced' else '' end || coalesce(' ' || c.reloptions::text, '')
     from pg_class c where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p')`,
  `select format('column %s.%s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod))
          || case when a.attnotnull then ' not null' else '' end
          || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') || a.attgenerated::text || a.attidentity::text
     from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     left join pg_attrdef d on (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
    where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p')`,
  `select format('constraint %s.%s %s', c.relname, k.conname, pg_get_constraintdef(k.oid))
     from pg_constraint k join pg_class c on c.oid = k.conrelid
    where c.relnamespace = $1::regnamespace and k.contype <> 'n'`,
  `select 'index ' || pg_get_indexdef(i.indexrelid) || case when i.indisvalid then '' else ' invalid' end
     from pg_index i join pg_class c on c.oid = i.indrelid where c.relnamespace = $1::regnamespace`,
  `select format('trigger %s %s', t.tgenabled, pg_get_triggerdef(t.oid))
     from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = $1::regnamespace and not t.tgisinternal`,
  `select format('policy %s on %s for %s to %s %s using %s check %s', p.policyname, p.tablename, p.cmd, p.roles, p.permissive, p.qual, p.with_check)
     from pg_policies p where p.schemaname = $1`,
  `select format('sequence %s from %s to %s by %s, starts at %s', s.sequencename, s.min_value, s.max_value, s.increment_by, s.start_value)
     from pg_sequences s where s.schemaname = $1`,
  `select format('function %s(%s) returns %s, %s, %s, %s, leakproof %s, strict %s, %s, body %s', f.proname,
                 pg_get_function_arguments(f.oid), pg_get_function_result(f.oid), l.lanname, f.provolatile, f.proparallel,
                 f.proleakproof, f.proisstrict, coalesce(f.proconfig::text, 'no settings'),
                 encode(sha256(convert_to(f.prosrc, 'UTF8')), 'hex')) || case when f.prosecdef then ' definer' else '' end
     from pg_proc f join pg_language l on l.oid = f.prolang where f.pronamespace = $1::regnamespace`,
  `select format('right %s %s on %s', x.grantee::regrole, lower(x.privilege_type), c.relname)
     from pg_class c, aclexplode(c.relacl) x where c.relnamespace = $1::regnamespace and x.grantee <> c.relowner`,
  `select format('right %s %s on %s.%s', x.grantee::regrole, lower(x.privilege_type), c.relname, a.attname)
     from pg_class c join pg_attribute a on a.attrelid = c.oid and not a.attisdropped, aclexplode(a.attacl) x
    where c.relnamespace = $1::regnamespace and x.grantee <> c.relowner`,
  `select format('right %s execute on %s', case when x.grantee = 0 then 'public' else x.grantee::regrole::text end, f.proname)
     from pg_proc f, aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) x
    where f.pronamespace = $1::regnamespace and x.grantee <> f.proowner`,
];

/** The schema in a form that does not depend on the order in which its parts were made. */
export async function readCatalog(owner: FreshDatabase['owner'], schema: string): Promise<string[]> {
  const lines: string[] = [];
  for (const part of PARTS) {
    const { rows } = await owner.query<{ line: string }>(`select line from (${part}) part(line)`, [schema]);
    lines.push(...rows.map(({ line }) => line.replace(/\s+/g, ' ')).sort());
  }
  return lines;
}
