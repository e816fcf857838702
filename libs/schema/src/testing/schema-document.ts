import { PROVISIONING_ROLE, readMigrations, ROLES } from '@banking/postgres';
import type { FreshDatabase } from '@banking/postgres/testing';
import { MIGRATIONS } from '../index.js';

type Migration = Awaited<ReturnType<typeof readMigrations>>[number];
interface Column {
  readonly table: string;
  readonly name: string;
  readonly text: string;
}
interface Right {
  readonly table: string;
  readonly role: string;
  readonly right: string;
  readonly columns: readonly string[] | null;
}

const COLUMNS = `
  select c.relname as table, a.attname as name, '\`' || a.attname || '\` ' || format_type(a.atttypid, a.atttypmod) || case when a.attnotnull or c.relkind = 'v' then '' else '?' end as text
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
   where c.relnamespace = 'banking'::regnamespace and c.relkind in ('r', 'v') order by c.relname, a.attnum`;
const REFERENCES = `
  select distinct child.relname as table, parent.relname as parent
    from pg_constraint k join pg_class child on child.oid = k.conrelid join pg_class parent on parent.oid = k.confrelid
   where k.contype = 'f' and k.connamespace = 'banking'::regnamespace and k.conrelid <> k.confrelid order by 1, 2`;
const RIGHTS = `
  select c.relname as table, x.grantee::regrole::text as role, lower(x.privilege_type) as right, null as columns
    from pg_class c, aclexplode(c.relacl) x
   where c.relnamespace = 'banking'::regnamespace and c.relkind = 'r' and x.grantee <> c.relowner
  union all
  select c.relname, x.grantee::regrole::text, lower(x.privilege_type), array_agg(a.attname::text order by a.attnum)
    from pg_class c join pg_attribute a on a.attrelid = c.oid, aclexplode(a.attacl) x
   where c.relnamespace = 'banking'::regnamespace and x.grantee <> c.relowner group by 1, 2, 3
   order by 2, 3`;

const HEAD = `# The database

Generated from \`libs/schema\` by \`npm run schema\`. Every table that belongs to a workspace has its \`workspace_id\` first in each key, and
row-level security. Amounts and balances are integers in minor units of the currency of the row; times are those of the database; \`?\` marks
a column that may be null. \`Written by\` names the roles without \`banking_\`. The worker may write what the API may, and the operator what the
worker and the verifier may. What no role may write, triggers and functions of the owner write.`;

/** docs/schema.md: the tables in the order of the files, as the database has them. */
export async function schemaDocument(owner: FreshDatabase['owner']): Promise<string> {
  const { rows: columns } = await owner.query<Column>(COLUMNS);
  const { rows: rights } = await owner.query<Right>(RIGHTS);
  const { rows: references } = await owner.query<{ table: string; parent: string }>(REFERENCES);
  const sections = (await readMigrations(MIGRATIONS)).flatMap((file) => sectionOf(file, columns, rights));
  const arrows = references.map(({ table, parent }) => `  ${table} --> ${parent}`);
  const titles = [...sections.filter((part) => part.startsWith('## ')), '## References'].map((part) => part.slice(3));
  const contents = titles.map((title) => `- [${title}](#${title.toLowerCase().replaceAll('.', '')})`).join('\n');
  const diagram = ['```mermaid', 'flowchart LR', ...arrows, '```'].join('\n');
  return `${[HEAD, contents, ...sections.map(wrapped), '## References', diagram].join('\n\n')}\n`;
}

function sectionOf({ name, text }: Migration, columns: readonly Column[], rights: readonly Right[]): string[] {
  const tables = [...text.matchAll(/((?:^--.*\n)*)(?:^create sequence.*\n)*^create (table|view) (\w+)/gm)];
  if (tables.length === 0) return [];
  const entries = tables.map(([, comment = '', kind, table = '']) =>
    [
      `### ${table}`,
      proseOf(comment),
      columns
        .filter((column) => column.table === table)
        .map((column) => `${shortened(column.text)}${unitOf(text, column)}`)
        .join(', ') + '.',
      kind === 'view' ? 'A view.' : `Written by: ${writersOf(rights.filter((right) => right.table === table))}.`,
    ]
      .filter((part) => part !== '')
      .join('\n\n'),
  );
  const [intro = ''] = /^(?:--.*\n)+/.exec(text) ?? [];
  return [`## ${name}`, proseOf(intro), ...entries];
}

/** What the comment of a column says of its unit. */
function unitOf(text: string, { table, name }: Column): string {
  const [columns = ''] = text.split(`create table ${table} (\n`)[1]?.split('\n)') ?? [];
  const [, comment = ''] = new RegExp(`((?:^ {2}--.*\\n)+)^ {2}${name} `, 'm').exec(columns) ?? [];
  const [unit] = /minor units[^,.]*/i.exec(comment.replaceAll(/\n {2}--/g, '')) ?? [];
  return unit === undefined ? '' : ` (${unit.toLowerCase()})`;
}

/** In lines of at most 140 characters. */
const wrapped = (text: string): string =>
  text
    .replaceAll(/(.{1,140})(?: |$)/gm, '$1\n')
    .replaceAll(/\n\n+/g, '\n\n')
    .trim();

const proseOf = (comment: string): string => comment.replaceAll(/^-- ?/gm, '').replaceAll('\n', ' ').trim();

const shortened = (text: string): string =>
  text.replace('timestamp with time zone', 'timestamptz').replace('double precision', 'float8');

function writersOf(rights: readonly Right[]): string {
  const named = new Set<string>();
  const writers = ROLES.flatMap((role) => {
    const own = rights.filter((right) => right.role === role && right.right !== 'select');
    const texts = own.map(({ right, columns }) => (right === 'update' ? `update ${columns?.join(', ')}` : right));
    // Those of a role before it are named there.
    const more = role === PROVISIONING_ROLE ? texts : texts.filter((text) => !named.has(text));
    more.forEach((text) => named.add(text));
    return more.length === 0 ? [] : [`${role.replace('banking_', '')} (${more.join('; ')})`];
  });
  return writers.length === 0 ? 'functions of the owner' : writers.join(', ');
}
