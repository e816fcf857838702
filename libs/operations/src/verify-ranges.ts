import { type Finding, rangeKey, rangesOf, type RangeOptions } from '@banking/ledger';
import { bind, type Database, type Statement } from '@banking/postgres';

/** A row that a check answers: what is wrong. */
export interface Fault {
  readonly detail: string;
}

/** The tables whose rows are checked, by what numbers them. */
const KEYS = {
  account: rangeKey('account'),
  transaction: rangeKey('transaction'),
  remittance: rangeKey('remittance'),
  remittance_event: rangeKey('remittance_event'),
  payout: rangeKey('payout', 'transaction_id'),
  customer_order: rangeKey('customer_order'),
  execution: rangeKey('execution'),
  conversion: rangeKey('conversion', 'transaction_id'),
  quote_use: rangeKey('quote_use', 'quote_id'),
} as const;

type CheckedTable = keyof typeof KEYS;

/**
 * Something that must hold, as statements whose every row is a fault: one for each table whose rows it is about. `$1` is the
 * workspace; of the rows of the table, those are meant whose key is above `$2` and at most `$3`.
 */
export interface RangeCheck {
  readonly check: string;
  readonly over: Readonly<Partial<Record<CheckedTable, Statement<Fault>>>>;
  /** `$4` and on. */
  readonly more?: readonly unknown[];
}

/** What the checks find in a workspace. The checks of a table share its ranges; a range is a database transaction of its own. */
export async function findInRanges(
  database: Database,
  workspaceId: number,
  checks: readonly RangeCheck[],
  options: RangeOptions,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const table of Object.keys(KEYS) as CheckedTable[]) {
    const asked = checks.flatMap(({ check, over, more = [] }) => {
      const rows = over[table];
      return rows ? [{ check, rows, more }] : [];
    });
    if (asked.length === 0) continue;
    for await (const { after, upto } of rangesOf(database, workspaceId, [table, KEYS[table]], options)) {
      const ask = asked.map(({ rows, more }) => bind(rows, workspaceId, after, upto, ...more));
      const faults = await database.flight({ workspaces: [workspaceId] }, ask);
      faults.forEach((rows, index) => {
        for (const { detail } of rows) findings.push({ check: asked[index]!.check, workspaceId, detail });
      });
    }
  }
  return findings;
}
