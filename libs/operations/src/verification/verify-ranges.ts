import { type Finding, type RangeKey, rangeKey, rangesOf, type RangeOptions } from '@banking/ledger';
import { bind, type Database, type SqlStatement } from '@banking/postgres';

export interface VerifyOptions extends RangeOptions {
  /** Transactions that were booked without an order on purpose. Real money is not. Default: none. */
  readonly bookedWithoutOrder?: readonly number[] | undefined;
}

/** A row of a check's query: the detail of a finding. */
export interface FindingRow {
  readonly detail: string;
}

/** A check that the database cannot compute: reads rows, and describes the finding of a row if there is one. */
export interface ComputedCheck {
  readonly rows: SqlStatement<unknown>;
  readonly detailOf: (row: unknown) => string | undefined;
}

export function computed<T>(rows: SqlStatement<T>, detailOf: (row: T) => string | undefined): ComputedCheck {
  return { rows, detailOf: (row) => detailOf(row as T) };
}

/** The tables whose rows are checked, with the column that their ranges are over. */
const KEYS = {
  account: rangeKey('account'),
  approval: rangeKey('approval'),
  transaction: rangeKey('transaction'),
  transfer: rangeKey('transfer', 'transaction_id'),
  remittance_event: rangeKey('remittance_event'),
  payout: rangeKey('payout', 'transaction_id'),
  deposit: rangeKey('deposit'),
  customer_order: rangeKey('customer_order'),
  execution: rangeKey('execution'),
  quote_use: rangeKey('quote_use', 'quote_id'),
  crossing: rangeKey('crossing', 'transaction_id'),
  arrival: rangeKey('arrival', 'transaction_id'),
  audit_event: rangeKey('audit_event'),
  audit_head: rangeKey('audit_head'),
  recipient: rangeKey('recipient'),
  quote: rangeKey('quote'),
  event: rangeKey('event'),
  event_deletion: rangeKey('event_deletion', 'last_id'),
  payment_limit: rangeKey('payment_limit'),
  limit_list: rangeKey('limit_list', 'workspace_id'),
  webhook_endpoint: rangeKey('webhook_endpoint'),
  webhook_delivery: rangeKey('webhook_delivery'),
  service_account: rangeKey('service_account'),
  service_account_key: rangeKey('service_account_key'),
} satisfies Readonly<Record<string, RangeKey>>;

type CheckedTable = keyof typeof KEYS;

/**
 * A rule, as one query for each table that it is about. Each row of a query is a finding. `$1` is the workspace. The query reads the rows
 * of its table whose key is above `$2` and at most `$3`.
 */
export interface RangeCheck {
  readonly check: string;
  readonly over: Readonly<Partial<Record<CheckedTable, SqlStatement<FindingRow> | ComputedCheck>>>;
  /** The parameters from `$4` on. */
  readonly parameters?: (options: VerifyOptions) => readonly unknown[];
}

/** The findings of the checks in one workspace. All checks of a table share its ranges. Each range is a database transaction. */
export async function verifyInRanges(
  database: Database,
  workspaceId: number,
  checks: readonly RangeCheck[],
  options: VerifyOptions,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const table of Object.keys(KEYS) as CheckedTable[]) {
    const asked = checks.flatMap(({ check, over, parameters }) => {
      const query = over[table];
      if (!query) return [];
      const { rows, detailOf: detailOf } = 'rows' in query ? query : computed(query, ({ detail }) => detail);
      return [{ check, rows, detailOf, parameters: parameters?.(options) ?? [] }];
    });
    if (asked.length === 0) continue;
    for await (const { after, upto } of rangesOf(database, workspaceId, [table, KEYS[table]], options)) {
      const bound = asked.map(({ rows, parameters }) => bind(rows, workspaceId, after, upto, ...parameters));
      const results = await database.pipeline({ workspaces: [workspaceId] }, bound);
      for (const [index, { check, detailOf }] of asked.entries()) {
        for (const row of results[index] ?? []) {
          const detail = detailOf(row);
          if (detail !== undefined) findings.push({ check, workspaceId, detail });
        }
      }
    }
  }
  return findings;
}
