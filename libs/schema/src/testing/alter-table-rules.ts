/** What a rule needs to know beside the text of an action. */
export interface AlterContext {
  readonly table: string;
  readonly isContract: boolean;
  readonly isOutside: boolean;
  /** Columns of the table, as `table.column`, whose check `is not null` an earlier statement has validated. */
  readonly neverNull: ReadonlySet<string>;
}

/** The reason why an action may not be used; undefined when it may. */
type Rule = readonly [form: RegExp, faultOf: (match: RegExpExecArray, context: AlterContext) => string | undefined];

const fine = () => undefined;
const SCAN = 'reads the whole table behind an exclusive lock';

/** A value that is the same for all rows. PostgreSQL evaluates other defaults for each row and writes the table again. */
const CONSTANT_DEFAULT =
  /^(?:''|-?[0-9.]+|true|false|null|now\(\)|current_timestamp|statement_timestamp\(\))(?:::[a-z_ ]+)?$/;

/** Actions whose lock is short however large the table is. Any other action is refused. */
const RULES: readonly Rule[] = [
  [
    /^add (?:column )?(?!(?:constraint|primary|unique|check|foreign|exclude)\b)(\w+) (.*)$/,
    ([, , definition = '']) => columnFault(definition),
  ],
  [/^add constraint \w+ (?:check|foreign key)\b.* not valid$/, fine],
  [/^add constraint \w+ (?:unique|primary key) using index \w+$/, fine],
  [
    /^add constraint \w+ (?:check|foreign key)\b/,
    () => `${SCAN}: add it "not valid", and validate it in the next file`,
  ],
  [
    /^add constraint \w+ (?:unique|primary key)\b/,
    () => 'builds an index behind an exclusive lock: use an index built concurrently',
  ],
  [
    /^validate constraint \w+$/,
    (_, { isOutside }) => (isOutside ? undefined : 'reads the whole table: put it into a file outside a transaction'),
  ],
  [/^drop constraint (?:if exists )?\w+$/, fine],
  [/^alter (?:column )?\w+ (?:set default .*|drop default|drop not null|set statistics -?\d+)$/, fine],
  [
    /^alter (?:column )?(\w+) set not null$/,
    ([, column], { table, isContract, neverNull }) => {
      if (!neverNull.has(`${table}.${column}`)) return `${SCAN}: validate a check "is not null" of the column first`;
      return isContract ? undefined : 'may reject rows of the previous release: its phase must be contract';
    },
  ],
  [/^(?:enable|force) row level security$/, fine],
  [/^(?:set|reset) \(.*\)$/, fine],
  [
    /^drop (?:column )?(?:if exists )?\w+$/,
    (_, { isContract }) =>
      isContract ? undefined : 'removes what the previous release uses: its phase must be contract',
  ],
];

/** The reason why an action of `alter table` may not be used on a table that has rows; undefined when it may. */
export function alterFault(action: string, context: AlterContext): string | undefined {
  for (const [form, faultOf] of RULES) {
    const match = form.exec(action);
    if (match !== null) return faultOf(match, context);
  }
  return 'is not known to take a short lock on a large table';
}

function columnFault(definition: string): string | undefined {
  if (/\b(?:smallserial|serial|bigserial)\b|\bgenerated\b/.test(definition)) return 'writes the whole table again';
  if (/\b(?:references|check|unique|primary key)\b/.test(definition)) {
    return `has a constraint, which ${SCAN}: add the constraint by itself`;
  }
  const value = /\bdefault (.*?)(?: not null| null)?$/.exec(definition)?.[1];
  if (value !== undefined && !CONSTANT_DEFAULT.test(value)) {
    return 'has a default that may differ for each row, so the whole table is written again';
  }
  if (value === undefined && /\bnot null\b/.test(definition))
    return 'fails on rows that exist, and on inserts of the previous release';
  return undefined;
}
