import { alterFault } from './alter-table-rules.js';
import { partsOf, statementsOf } from './sql-text.js';

/** A migration as it is read from its file. */
export interface CheckedMigration {
  readonly name: string;
  readonly text: string;
  readonly phase: { readonly name: 'expand' | 'contract' } | undefined;
  /** Defined for a file that runs outside a database transaction. */
  readonly statements: readonly string[] | undefined;
}

/** Tables with few rows in every deployment, which a migration may change as a whole. */
const SMALL = new Set([
  ...['currency', 'product', 'bank', 'corridor', 'seal', 'demo_step', 'app'],
  ...['deployment_mode', 'reference_version', 'verification_position'],
]);

const NAME = '(?:banking\\.)?(\\w+)';
const CREATED = new RegExp(
  `^create (?:or replace )?(table|function|policy|sequence|index|unique index) (?:if not exists )?${NAME}`,
);

/** Statements with a short lock, or none, on tables that exist. Any other statement is refused. */
const HARMLESS = [
  /^create (?:or replace )?(?:table|view|sequence|function|aggregate|(?:constraint )?trigger|policy|type|schema)\b/,
  /^create (?:unique )?index concurrently\b/,
  /^drop index concurrently\b/,
  /^drop trigger\b/,
  /^alter (?:sequence|function|policy)\b/,
  /^grant\b/,
  /^revoke (?:all|execute) on function\b/,
  /^comment on\b/,
  /^lock table\b/,
  /^set local\b/,
  /^analyze \w+$/,
  /^vacuum(?: \(analyze\))? \w+$/,
];
/** Statements that take something away from processes of the previous release. */
const REMOVES = /^(?:drop (?:table|sequence|type|view|function|policy)|revoke)\b/;
const ALTER = new RegExp(`^alter table (?:if exists )?(?:only )?${NAME} (.*)$`);
const CREATE_INDEX = new RegExp(`^create (?:unique )?index (?:if not exists )?\\w+ on (?:only )?${NAME}`);
const WRITE = new RegExp(`^(?:update|delete from|insert into) (?:only )?${NAME}`);
const READ = new RegExp(`\\b(?:from|join|using) ${NAME}`, 'g');

/**
 * The statements of a migration that would block requests while they read or write a large table, or that its phase does not allow.
 *
 * @param earlier the migrations before it
 */
export function migrationFaults(migration: CheckedMigration, earlier: readonly CheckedMigration[]): string[] {
  const statements = statementsOf(migration.text);
  const made = madeIn(statements);
  const isContract = migration.phase?.name === 'contract';
  const isOutside = migration.statements !== undefined;
  const known = earlier.flatMap(({ text }) => statementsOf(text));
  return statements.flatMap((statement, index) => {
    const neverNull = neverNullIn([...known, ...statements.slice(0, index)]);
    const faults = faultsOfStatement(statement, { made, isContract, isOutside, neverNull });
    return faults.map((fault) => `${migration.name}: "${statement.slice(0, 70)}" ${fault}`);
  });
}

interface Context {
  readonly made: ReadonlySet<string>;
  readonly isContract: boolean;
  readonly isOutside: boolean;
  readonly neverNull: ReadonlySet<string>;
}

function faultsOfStatement(statement: string, context: Context): string[] {
  const { made, isContract } = context;
  const [, altered = '', actions = ''] = ALTER.exec(statement) ?? [];
  if (altered !== '') {
    if (made.has(altered)) return [];
    return partsOf(actions).flatMap((action) => alterFault(action, { ...context, table: altered }) ?? []);
  }
  const indexed = CREATE_INDEX.exec(statement)?.[1];
  if (indexed !== undefined) {
    return made.has(indexed) ? [] : ['blocks writes while the index is built: build it concurrently'];
  }
  const written = WRITE.exec(statement)?.[1];
  if (written !== undefined) return writeFaults(statement, written, made);
  if (HARMLESS.some((form) => form.test(statement))) return [];
  if (REMOVES.test(statement)) {
    const isMadeAgain = [...made].some((name) =>
      new RegExp(`^drop (?:function|policy) (?:if exists )?${name}\\b`).test(statement),
    );
    return isContract || isMadeAgain ? [] : ['removes what the previous release uses: its phase must be contract'];
  }
  return ['is not known to take a short lock on a large table'];
}

function writeFaults(statement: string, written: string, made: ReadonlySet<string>): string[] {
  const isSmall = (table: string) => made.has(table) || SMALL.has(table);
  if (!isSmall(written))
    return ['writes rows of a large table in one database transaction: let the worker write them in batches'];
  const read = [...statement.matchAll(READ)].map(([, table = '']) => table).filter((table) => !isSmall(table));
  return read.length === 0 ? [] : [`reads all of ${read.join(', ')} in one database transaction`];
}

const madeIn = (statements: readonly string[]): ReadonlySet<string> =>
  new Set(statements.flatMap((statement) => CREATED.exec(statement)?.[2] ?? []));

/** Columns with a validated check that they are not null, as `table.column`. */
function neverNullIn(statements: readonly string[]): ReadonlySet<string> {
  const checks = new Map<string, string>();
  const proven = new Set<string>();
  for (const statement of statements) {
    const [, table = '', actions = ''] = ALTER.exec(statement) ?? [];
    for (const action of partsOf(actions)) {
      const [, constraint = '', column = ''] =
        /^add constraint (\w+) check \( ?\(?(\w+) is not null\)? ?\) not valid$/.exec(action) ?? [];
      if (constraint !== '') checks.set(`${table}.${constraint}`, `${table}.${column}`);
      const validated = checks.get(`${table}.${/^validate constraint (\w+)$/.exec(action)?.[1]}`);
      if (validated !== undefined) proven.add(validated);
    }
  }
  return proven;
}
