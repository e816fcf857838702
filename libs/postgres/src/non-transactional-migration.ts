/**
 * Migrations that run outside a database transaction, as `create index concurrently` must. A crash leaves such a file half applied, so
 * it holds only statements that are safe to run again.
 */

const MARKER = /^-- outside a transaction: \S/i;

const NAME = '[a-z_][a-z0-9_]*';
const DROP_INDEX = new RegExp(`^drop index concurrently if exists (${NAME})$`, 'i');
const CREATE_INDEX = new RegExp(`^create (?:unique )?index concurrently (${NAME}) on `, 'i');
const REPEATABLE = [
  DROP_INDEX,
  new RegExp(`^alter table ${NAME} validate constraint ${NAME}$`, 'i'),
  new RegExp(`^(?:analyze|vacuum|vacuum \\(analyze\\)) ${NAME}$`, 'i'),
];

/** Comments and strings inside a statement are refused, so that a semicolon at the end of a line always ends one. */
const UNCLEAR = /;|--|\/\*|\$/;

/** The statements of a file that is marked, or undefined for a file that runs in a database transaction. */
export function statementsOutside(text: string): readonly string[] | undefined {
  if (!MARKER.test(text)) return undefined;
  return text
    .split('\n')
    .filter((line) => !line.startsWith('--'))
    .join('\n')
    .split(/;[ \t]*(?:\n|$)/)
    .map((statement) => statement.replace(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
}

/** The reason why a statement may not be safe to run again; undefined when all are. */
export function mistakeInStatements(statements: readonly string[]): string | undefined {
  const dropped = new Set<string>();
  for (const statement of statements) {
    const start = statement.slice(0, 60);
    if (UNCLEAR.test(statement)) {
      return `"${start}" is not one plain statement. End each with ";" at the end of a line, and put comments on lines of their own.`;
    }
    const created = CREATE_INDEX.exec(statement)?.[1]?.toLowerCase();
    if (created !== undefined && !dropped.has(created)) {
      return `an interrupted build leaves ${created} invalid. Put "drop index concurrently if exists ${created};" before it.`;
    }
    if (created === undefined && !REPEATABLE.some((form) => form.test(statement))) {
      return (
        `"${start}" may not be safe to run again. Outside a transaction only these are allowed: create and drop index concurrently, ` +
        'alter table … validate constraint, analyze and vacuum. Put the rest into another file.'
      );
    }
    const name = DROP_INDEX.exec(statement)?.[1]?.toLowerCase();
    if (name !== undefined) dropped.add(name);
  }
  return undefined;
}
