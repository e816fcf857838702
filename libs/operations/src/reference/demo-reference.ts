import { bind, type Database, sqlStatement } from '@banking/postgres';

/** How many rows have invented figures. */
export interface DemoReference {
  /** Their limits and delivery times are invented. */
  readonly corridors: number;
  /** Currencies whose smallest SWIFT payout is invented. */
  readonly minimums: number;
}

const COUNT_DEMO = sqlStatement<DemoReference>(
  'count_demo_reference',
  `select (select count(*)::int from corridor where is_demo) as corridors,
          (select count(*)::int from currency
           where swift_minimum_is_demo and swift_minimum_withdrawal_amount is not null) as minimums`,
);

/** Counts the rows of the reference data that are marked as demo. */
export async function countDemoReference(database: Database): Promise<DemoReference> {
  return (await database.read({}, bind(COUNT_DEMO)))!;
}
