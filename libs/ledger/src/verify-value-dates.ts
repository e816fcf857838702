import { bind, sqlStatement, type Database } from '@banking/postgres';
import type { ReportFinding } from './finding.js';

export const VALUE_DATES_CHECK = 'the value dates kept of an account are those of its transfers';

/** The next accounts of a range: at most 100 with 200,000 transfers, and at least one. */
const NEXT_ACCOUNTS = sqlStatement<{ upto: bigint | null }>(
  'next_value_date_accounts',
  `select max(id) as upto
   from (select id, row_number() over (order by id) as nth, sum(version) over (order by id) as transfers
         from (select id, version from account where workspace_id = $1 and id > $2 and kind = 'customer' order by id limit 100) a) a
   where nth = 1 or transfers <= 200000`,
);

/**
 * Recomputes the runs and totals for account statements by value date from the transfers, and compares them. `value_date` of an account
 * is part of it, because the trigger decides by it whether it writes a run.
 */
const FAULTS = sqlStatement<{ detail: string }>(
  'verify_value_dates',
  `with dated as (
       select t.account_id, t.account_version, t.balance_after, x.value_date,
              case t.direction when 'credit' then t.amount else -t.amount end as moved,
              lag(x.value_date) over per_account as previous,
              max(x.value_date) over (per_account rows between unbounded preceding and 1 preceding) as highest,
              t.account_version = max(t.account_version) over (partition by t.account_id) as is_last
       from transfer t join transaction x on (x.workspace_id, x.id) = (t.workspace_id, t.transaction_id)
       where t.workspace_id = $1 and t.account_id > $2 and t.account_id <= $3 and t.account_version is not null
       window per_account as (partition by t.account_id order by t.account_version)),
     run as (
       select account_id, account_version as first_version, value_date, balance_after - moved as opening_balance,
              highest is null or value_date > highest as is_highest
       from dated where value_date is distinct from previous),
     kept_run as (
       select account_id, first_version, value_date, opening_balance, is_highest from value_date_run
       where workspace_id = $1 and account_id > $2 and account_id <= $3),
     total as (
       select d.account_id, s.value_date, sum(s.amount) as amount
       from dated d cross join lateral (values (d.value_date, d.moved), (d.highest, -d.moved)) s (value_date, amount)
       where d.value_date < d.highest
       group by d.account_id, s.value_date),
     kept_total as (select account_id, value_date, amount from back_valued_total
       where workspace_id = $1 and account_id > $2 and account_id <= $3),
     latest as (select account_id, value_date from dated where is_last and (highest is null or value_date >= highest)),
     kept_latest as (select id, value_date from account
       where workspace_id = $1 and id > $2 and id <= $3 and value_date is not null),
     finding as (
       select account_id, value_date from ((table run except table kept_run) union all (table kept_run except table run)) r
       union all
       select account_id, value_date from ((table total except table kept_total) union all (table kept_total except table total)) b
       union all
       select account_id, value_date from ((table latest except table kept_latest) union all (table kept_latest except table latest)) l)
     select distinct format('account %s keeps another record of value date %s than its transfers', account_id, value_date) as detail
     from finding order by detail`,
);

/** Proves the data of account statements by value date. Each account is compared in one snapshot, whatever its number of transfers. */
export async function verifyValueDates(database: Database, workspaceId: number, note: ReportFinding): Promise<void> {
  const scope = { workspaces: [workspaceId] };
  for (let after = 0n; ;) {
    const { upto = null } = (await database.read(scope, bind(NEXT_ACCOUNTS, workspaceId, after))) ?? {};
    if (upto === null) return;
    const [rows] = await database.pipeline(scope, [bind(FAULTS, workspaceId, after, upto)] as const);
    for (const { detail } of rows) note(VALUE_DATES_CHECK, detail);
    after = upto;
  }
}
