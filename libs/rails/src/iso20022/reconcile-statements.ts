import type { BankDifference, BankDifferenceKind, TransferDirection } from '@banking/domain';
import { minorUnits, toTransferAmount } from '@banking/domain';
import { findPayouts, parsePayoutKey } from '@banking/payouts';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import { findContradictions, type ReconciledAccount } from './contradicted-payments.js';

/** How the statements of a bank account compare with the books. All amounts are in minor units of its currency. */
export interface StatementComparison extends ReconciledAccount {
  readonly statements: number;
  /** Of the first and the last statement; undefined without one. Dates of ISO 8601. */
  readonly from?: string;
  readonly to?: string;
  readonly openingBalance?: bigint;
  readonly closingBalance?: bigint;
  /** What the booked entries that the books do not have, or contradict, sum to: credits less debits. */
  readonly unknownAmount: bigint;
  /** By day, at most 1,000 of a kind. */
  readonly differences: readonly StatementDifference[];
  /** Whether a kind has so many, so that there may be more. */
  readonly hasMore: boolean;
}

/** A difference, with the row of the entry that it is about. */
type StatementDifference = BankDifference & { readonly entryId?: number };

/** So much is compared: a difference that is older was seen before. */
const DAYS = 35;

/** A bank reports an entry that it has not booked. It books it or takes it back within days. */
const PENDING_DAYS = 10;

/** A payment is executed on the next bank day, and on the statement of that day. */
const PAYMENT_DAYS = 5;

/** Over a weekend with holidays on both sides. */
const STATEMENT_DAYS = 6;

/** Of one kind. Where there are more, the first show what is wrong. */
const ROWS_MAX = 1_000;

interface StatementRow {
  id: bigint;
  statement_id: string;
  opening_balance: bigint;
  closing_balance: bigint;
  entry_sum: bigint;
  opened_on: string;
  closed_on: string;
  is_late: boolean;
}

/** A statement that a bank issues again has the same period and balances. */
const STATEMENTS = sqlStatement<StatementRow>(
  'statements_to_reconcile',
  `select * from (
     select distinct on (closed_on, opened_on, opening_balance, closing_balance)
            id, statement_id, sequence, opening_balance, closing_balance, entry_sum, opened_on::text, closed_on::text,
            closed_on < current_date - ${STATEMENT_DAYS} as is_late
     from bank_statement
     where bank_account = $1 and currency = $2 and closed_on >= current_date - ${DAYS}
     order by closed_on, opened_on, opening_balance, closing_balance, id
   ) s
   order by closed_on desc, sequence desc nulls last, opened_on desc, id desc limit ${ROWS_MAX}`,
);

/** What was booked from the opening of one statement until that of another, for statements that overlap. */
const BOOKED_BETWEEN = sqlStatement<{ total: bigint }>(
  'booked_between_statements',
  `select coalesce(sum(case direction when 'credit' then amount else -amount end), 0)::bigint as total
   from bank_entry
   where bank_account = $1 and currency = $2 and status = 'booked' and booked_on >= $3::date and booked_on < $4::date`,
);

interface EntryRow {
  id: bigint;
  kind: 'entry_unknown' | 'entry_pending' | 'entry_unlisted' | 'payment_debited' | 'payment_returned';
  day: string;
  direction: TransferDirection;
  amount: bigint;
  reference: string | null;
}

const ENTRY_COLUMNS = `id, coalesce(booked_on, received_at::date)::text as day, direction, amount,
  coalesce(bank_reference, end_to_end_id) as reference`;

/** A moment is left to the worker that books deposits. */
const UNKNOWN = sqlStatement<EntryRow>(
  'unknown_bank_entries',
  `select 'entry_unknown' as kind, ${ENTRY_COLUMNS}
   from bank_entry
   where bank_account = $1 and currency = $2 and outcome is null and status = 'booked'
     and received_at < statement_timestamp() - interval '1 minute'
   order by id limit ${ROWS_MAX}`,
);

const UNKNOWN_TOTAL = sqlStatement<{ total: bigint }>(
  'unknown_bank_amount',
  `select coalesce(sum(case direction when 'credit' then amount else -amount end), 0)::bigint as total
   from bank_entry
   where bank_account = $1 and currency = $2 and outcome is null and status = 'booked'
     and received_at < statement_timestamp() - interval '1 minute'`,
);

const PENDING = sqlStatement<EntryRow>(
  'pending_bank_entries',
  `select 'entry_pending' as kind, ${ENTRY_COLUMNS}
   from bank_entry
   where bank_account = $1 and currency = $2 and status = 'pending'
     and received_at < statement_timestamp() - interval '${PENDING_DAYS} days'
   order by id limit ${ROWS_MAX}`,
);

/** Booked by a notification, in a period of which a statement was read that does not have it. */
const UNLISTED = sqlStatement<EntryRow>(
  'unlisted_bank_entries',
  `select 'entry_unlisted' as kind, ${ENTRY_COLUMNS}
   from bank_entry
   where bank_account = $1 and currency = $2 and status = 'booked' and statement_id is null
     and booked_on >= $3::date and booked_on < $4::date
   order by id limit ${ROWS_MAX}`,
);

interface PaymentRow {
  key: string;
  day: string;
  amount: bigint;
  is_returned: boolean;
}

/**
 * Handed to the bank so long before the end of the last statement that it would be on one. The account is that which the file debits, also under an
 * earlier rail; that of the rail, where the content was erased.
 */
const WITHOUT_ENTRY = sqlStatement<PaymentRow>(
  'payments_without_entry',
  `select p.key, f.written_at::date::text as day, p.amount, exists (
     select from bank_entry e where e.payout_key = p.key and e.outcome = 'return') as is_returned
   from payment_file f
   cross join lateral (
     select key, amount from file_payment where file_id = f.id and currency = $2 and is_in_books
       and coalesce(content -> 'debtor' ->> 'account' = $1, f.rail = $4)
       and not exists (select from bank_entry e where e.payout_key = file_payment.key and e.outcome = 'payout') offset 0
   ) p
   where f.written_at >= current_date - ${DAYS} and f.written_at < $3::date - ${PAYMENT_DAYS}
   order by f.id limit ${ROWS_MAX}`,
);

/**
 * Compares the statements of a bank account of the last weeks with the books: the sequence of their balances, the booked entries that the
 * books do not have or contradict, and the payments without an entry. Changes nothing.
 *
 * A statement continues the one before it if its opening balance is the closing balance of that one. If the two overlap, the entries
 * between their openings must account for the difference. Entries are compared one by one, so the balances of the books differ from those of
 * the bank by the entries that are listed here.
 *
 * @param database as the worker
 */
export async function reconcileStatements(
  database: Database,
  account: ReconciledAccount,
): Promise<StatementComparison> {
  const { rail, bankAccount, currency } = account;
  const place = [bankAccount, currency] as const;
  const [rows, unknown, [unknownTotal], pending] = await database.pipeline({}, [
    bind(STATEMENTS, ...place),
    bind(UNKNOWN, ...place),
    bind(UNKNOWN_TOTAL, ...place),
    bind(PENDING, ...place),
  ] as const);
  const contradicted = await findContradictions(database, account, DAYS);
  const debited = contradicted.filter(({ kind }) => kind === 'payment_debited');
  const returned = contradicted.filter(({ kind }) => kind === 'payment_returned');
  const statements = rows.reverse();
  const [first, last] = [statements[0], statements.at(-1)];
  const found: (readonly unknown[])[] = [unknown, pending, debited, returned];
  const differences: StatementDifference[] = [unknown, pending, debited, returned]
    .flatMap((list) => list.slice(0, ROWS_MAX))
    .map(entryDifference);
  if (first && last) {
    const [unlisted] = await database.pipeline({}, [
      bind(UNLISTED, ...place, first.opened_on, last.closed_on),
    ] as const);
    differences.push(...unlisted.map(entryDifference));
    differences.push(...(await statementDifferences(database, account, statements)));
    const [payments] = await database.pipeline({}, [bind(WITHOUT_ENTRY, ...place, last.closed_on, rail)] as const);
    differences.push(...(await missingPayments(database, payments)));
    found.push(unlisted, payments);
  }
  return {
    ...{ rail, bankAccount, currency, statements: statements.length },
    ...(first && last && { from: first.opened_on, to: last.closed_on }),
    ...(first && last && { openingBalance: first.opening_balance, closingBalance: last.closing_balance }),
    unknownAmount: contradicted.reduce((sum, entry) => sum + signed(entry), unknownTotal?.total ?? 0n),
    differences: differences.sort((one, other) => (one.day < other.day ? -1 : Number(one.day > other.day))),
    hasMore: found.some((list) => list.length >= ROWS_MAX),
  };
}

const signed = ({ direction, amount }: Pick<EntryRow, 'direction' | 'amount'>): bigint =>
  direction === 'credit' ? amount : -amount;

const entryDifference = ({ id, kind, day, direction, amount, reference }: EntryRow): StatementDifference => ({
  ...{ kind, day, direction, amount: toTransferAmount(minorUnits(amount)), entryId: Number(id) },
  ...(reference !== null && { reference }),
});

async function statementDifferences(
  database: Database,
  account: ReconciledAccount,
  statements: readonly StatementRow[],
): Promise<BankDifference[]> {
  const differences: BankDifference[] = [];
  for (const [index, statement] of statements.entries()) {
    const { opening_balance: opening, closing_balance: closing, entry_sum: sum } = statement;
    const off = closing - opening - sum;
    if (off !== 0n) differences.push(balanceDifference('statement_sum', statement, off));
    const before = statements[index - 1];
    if (!before) continue;
    const jump = opening - before.closing_balance;
    if (jump === 0n || (await isOverlap(database, account, before, statement))) continue;
    differences.push(balanceDifference('statement_missing', statement, jump));
  }
  const last = statements.at(-1);
  if (last?.is_late) differences.push({ kind: 'statement_late', day: last.closed_on, reference: last.statement_id });
  return differences;
}

function balanceDifference(kind: BankDifferenceKind, statement: StatementRow, by: bigint): BankDifference {
  const direction = by > 0n ? 'credit' : 'debit';
  const amount = toTransferAmount(minorUnits(by > 0n ? by : -by));
  return { kind, day: statement.opened_on, direction, amount, reference: statement.statement_id };
}

async function isOverlap(
  database: Database,
  { bankAccount, currency }: ReconciledAccount,
  before: StatementRow,
  statement: StatementRow,
): Promise<boolean> {
  if (statement.opened_on > before.closed_on) return false;
  const days = [before.opened_on, statement.opened_on] as const;
  const [[booked]] = await database.pipeline({}, [bind(BOOKED_BETWEEN, bankAccount, currency, ...days)] as const);
  return before.opening_balance + (booked?.total ?? 0n) === statement.opening_balance;
}

/** A payment that failed has none, unless the bank returned it: it gave back what it had not taken then. */
async function missingPayments(database: Database, rows: readonly PaymentRow[]): Promise<BankDifference[]> {
  if (rows.length === 0) return [];
  const payouts = await findPayouts(
    database,
    rows.flatMap(({ key }) => parsePayoutKey(key) ?? []),
  );
  return rows
    .filter(({ key, is_returned }) => is_returned || payouts.get(key)?.status !== 'failed')
    .map(({ key, day, amount }) => ({
      ...{ kind: 'payment_missing', day, direction: 'debit', reference: key },
      amount: toTransferAmount(minorUnits(amount)),
    }));
}

/** Entries step by step over the index by account. One of the demo data has no file. */
const READ_ACCOUNTS = sqlStatement<{ rail: string; bank_account: string; currency: string }>(
  'bank_accounts_with_files',
  `with recursive known as (
     (select bank_account, currency from bank_entry order by bank_account, currency limit 1)
     union all
     select n.bank_account, n.currency from known a cross join lateral (
       select bank_account, currency from bank_entry
       where (bank_account, currency) > (a.bank_account, a.currency) order by bank_account, currency limit 1) n
   )
   select distinct on (bank_account, currency) rail, bank_account, currency from (
     select e.rail, a.bank_account, a.currency, e.id, true as is_entry from known a cross join lateral (
       select rail, id from bank_entry b where b.bank_account = a.bank_account and b.currency = a.currency and b.file_id is not null
       order by b.booked_on desc, b.id desc limit 1) e
     union all
     select f.rail, s.bank_account, s.currency, s.id, false from bank_statement s join bank_file f on f.id = s.file_id) stated
   order by bank_account, currency, is_entry desc, id desc`,
);

/** The bank accounts of files that were read, each with a rail that had it: also those that are not configured any more. */
export async function readReconciledAccounts(database: Database): Promise<readonly ReconciledAccount[]> {
  const [rows] = await database.pipeline({}, [bind(READ_ACCOUNTS)] as const);
  return rows.map(({ rail, bank_account: bankAccount, currency }) => ({ rail, bankAccount, currency }));
}

const DIFFERENCES_STORED = 100;

const STORE = sqlStatement(
  'store_bank_reconciliation',
  `insert into bank_reconciliation as r (rail, bank_account, currency, suspense_account, difference_count, result, refused_count)
   values ($1, $2, $3, $4, $5, $6, coalesce($7, 0))
   on conflict (bank_account, currency) do update
     set rail = excluded.rail, suspense_account = excluded.suspense_account, compared_at = statement_timestamp(), difference_count = excluded.difference_count,
         result = excluded.result, refused_count = coalesce($7, r.refused_count)`,
);

/** Accounts that are not configured any more. */
const DELETE_OTHERS = sqlStatement(
  'delete_old_reconciliations',
  `delete from bank_reconciliation where rail = $1 and not (bank_account, currency) in
     (select * from unnest($2::text[], $3::text[]))`,
);

/**
 * Compares the bank accounts of a rail and stores the results, for administrators and metrics: a chore of the worker.
 *
 * @param refusedCount of files in the folder `refused`; undefined where this process cannot read it, and the former count stays
 * @returns the number of differences
 */
export async function storeReconciliations(
  database: Database,
  rail: string,
  accounts: readonly {
    readonly id: string;
    readonly currency: string;
    readonly suspenseAccount?: string | undefined;
  }[],
  refusedCount: number | undefined,
): Promise<number> {
  let found = 0;
  for (const { id: bankAccount, currency, suspenseAccount } of accounts) {
    const comparison = await reconcileStatements(database, { rail, bankAccount, currency });
    const count = comparison.differences.length;
    const result = JSON.stringify(resultOf(comparison));
    const stored = [rail, bankAccount, currency, suspenseAccount ?? null, count, result, refusedCount ?? null];
    await database.pipeline({}, [bind(STORE, ...stored)]);
    found += count;
  }
  await database.pipeline({}, [
    bind(
      DELETE_OTHERS,
      rail,
      accounts.map(({ id }) => id),
      accounts.map(({ currency }) => currency),
    ),
  ]);
  return found;
}

/** Over all bank accounts, by rail. */
export const COUNT_BANK_DIFFERENCES = sqlStatement<BankDifferences>(
  'count_bank_differences',
  `select r.rail, sum(r.difference_count)::int as differences,
          floor(extract(epoch from statement_timestamp() - min(r.compared_at)))::int as seconds, max(r.refused_count) as refused
   from bank_reconciliation r group by r.rail`,
);

/** The bank accounts of a rail of files. */
export interface BankDifferences {
  readonly rail: string;
  readonly differences: number;
  /** Since the oldest comparison. */
  readonly seconds: number;
  /** Files that an operator has not taken out of the folder `refused`. */
  readonly refused: number;
}

/** What callers get of a comparison beside its account: amounts as text. */
function resultOf({ from, to, openingBalance, closingBalance, unknownAmount, differences }: StatementComparison) {
  return {
    ...(from !== undefined && { from, to }),
    ...(openingBalance !== undefined && { openingBalance: openingBalance.toString() }),
    ...(closingBalance !== undefined && { closingBalance: closingBalance.toString() }),
    unknownAmount: unknownAmount.toString(),
    differenceCount: differences.length,
    differences: differences.slice(0, DIFFERENCES_STORED).map(({ entryId: _row, ...difference }) => difference),
  };
}

/** Under the lock of its row, so that a worker which books it as a deposit is first or finds it ignored. */
const IGNORE_ENTRY = sqlStatement<{ found: boolean; is_ignored: boolean }>(
  'ignore_bank_entry',
  `with entry as (select id, outcome from bank_entry where id = $1 and status = 'booked' for update),
   ignored as (
     update bank_entry b set outcome = 'ignored', note = $2 from entry e where b.id = e.id and e.outcome is null returning b.id)
   select exists (select from entry) as found, exists (select from ignored) as is_ignored`,
);

/**
 * Ends the difference of a booked entry that is no payment and no deposit of the service, such as a fee of the bank. The books do not get it.
 *
 * @returns `not_found` without such a booked entry; `known` if the books have it, or it is ignored already
 */
export async function ignoreEntry(
  database: Database,
  { entryId, note }: { readonly entryId: number; readonly note: string },
): Promise<'ignored' | 'known' | 'not_found'> {
  const [[row]] = await database.write({}, [bind(IGNORE_ENTRY, entryId, note)] as const);
  if (!row?.found) return 'not_found';
  return row.is_ignored ? 'ignored' : 'known';
}
