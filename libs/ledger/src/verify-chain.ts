import { bind, type BoundStatement, type Database, sqlStatement } from '@banking/postgres';
import { type BookedTransaction, bookedTransactions } from './booked-transactions.js';
import { digestOrNone, hashOf } from './decide.js';
import { RANGE_ROWS, rangeKey, type RangeOptions, rangesOf } from './ranges.js';

/** A rule of the books that the stored rows break. */
export interface Finding {
  readonly check: string;
  /** Undefined if the finding is between workspaces. */
  readonly workspaceId?: number | undefined;
  /** The account or transaction, and how it breaks the rule. */
  readonly detail: string;
}

export type ReportFinding = (check: string, detail: string) => void;

export const BALANCED_CHECK = 'debits equal credits in every transaction and currency';

export const LEGS_CHECK = 'every transaction has transfers';

export const HASH_CHECK = 'every transaction has the hash of its content and of what came before it';

/** Proves every transaction by itself, in any snapshot: its rows and those before it never change. */
export async function verifyTransactions(
  database: Database,
  workspaceId: number,
  note: ReportFinding,
  options: RangeOptions,
): Promise<void> {
  for await (const range of bookedTransactions(database, workspaceId, options)) {
    for (const booked of range) verifyTransaction(booked, note);
  }
}

export function verifyTransaction({ content, hash, isOfOneTime }: BookedTransaction, note: ReportFinding): void {
  const { transactionId, transfers } = content;
  if (transfers.length === 0) note(LEGS_CHECK, `transaction ${transactionId} has no transfers`);
  for (const [currency, sum] of sumsOf(content)) {
    if (sum !== 0n) note(BALANCED_CHECK, `transaction ${transactionId} is out of balance by ${sum} in ${currency}`);
  }
  const hashed = digestOrNone(() => hashOf(content));
  if (hashed === undefined) note(HASH_CHECK, `transaction ${transactionId} has no content that can be hashed`);
  else if (hash !== hashed) note(HASH_CHECK, `transaction ${transactionId} does not have its hash`);
  else if (!isOfOneTime) note(HASH_CHECK, `transaction ${transactionId} has transfers of another time`);
}

function sumsOf({ transfers }: BookedTransaction['content']): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { currencyCode, direction, amount } of transfers) {
    const moved = direction === 'credit' ? BigInt(amount) : -BigInt(amount);
    sums.set(currencyCode, (sums.get(currencyCode) ?? 0n) + moved);
  }
  return sums;
}

export const BALANCE_CHECK =
  'the balance of a customer account is the sum of its transfers, and its version their number';

export const VERSION_CHECK = 'versions run without a gap, and each balance continues the one before';

export const BELOW_ZERO_CHECK = 'no customer account is below zero';

interface FindingRow {
  readonly check: 'balance' | 'version' | 'below zero' | 'hash';
  readonly detail: string;
}

const CHECK_OF = {
  balance: BALANCE_CHECK,
  version: VERSION_CHECK,
  'below zero': BELOW_ZERO_CHECK,
  hash: HASH_CHECK,
} as const;

const ACCOUNTS = ['accounts', rangeKey('account')] as const;

/** Finds accounts whose head is not the hash of their latest transaction, and accounts with a balance but no transfer. */
const accountFaults = (name: string, which: string, more = '') =>
  sqlStatement<FindingRow>(
    name,
    `with latest as (
       select a.id, a.head, a.balance, a.version, t.transaction_id, t.account_version, t.balance_after
       from account a
       left join lateral (
         select t.transaction_id, t.account_version, t.balance_after from transfer t
         where t.workspace_id = $1 and t.account_id = a.id and t.account_version is not null
         order by t.account_version desc limit 1
       ) t on true
       where a.workspace_id = $1 and a.kind = 'customer' and ${which})
     select 'hash' as check, format('account %s does not end its chain of hashes', l.id) as detail
     from latest l left join transaction x on x.workspace_id = $1 and x.id = l.transaction_id
     where l.head <> coalesce(x.hash, '')
     union all
     select 'balance', format('account %s holds %s at version %s; it has no transfers', id, balance, version)
     from latest where transaction_id is null and (balance, version) <> (0, 0) ${more}`,
  );

const ACCOUNT_FAULTS = accountFaults('verify_heads', 'a.id > $2 and a.id <= $3');

/** Of some accounts, compared with their last transfer only. `WALK` compares each account with all its transfers instead. */
const FAULTS_OF_ACCOUNTS = accountFaults(
  'verify_accounts',
  'a.id = any($2::bigint[])',
  `union all
     select 'balance', format('account %s holds %s at version %s; its last transfer leaves %s at version %s',
                              id, balance, version, balance_after, account_version)
     from latest where (balance, version) <> (balance_after, account_version)
     union all
     select 'below zero', format('account %s holds %s', id, balance) from latest where balance < 0`,
);

/** A position in the transfers of accounts: the account, its version, and the count and sum of its transfers so far. */
interface Place {
  readonly accountId: bigint;
  readonly version: bigint;
  readonly legs: bigint;
  /** Digits. */
  readonly total: string;
}

interface WalkedRow {
  readonly check: FindingRow['check'] | null;
  readonly detail: string | null;
  readonly account_id: bigint | null;
  readonly version: bigint | null;
  readonly legs: bigint | null;
  readonly total: string | null;
  readonly rows: number | null;
}

/**
 * Compares each transfer of `step` with the sum of those before it. `place` is the position from which an account continues; an account
 * without a place begins at 0.
 */
const walked = (place: string, step: string) =>
  `with place as (${place}),
   step as materialized (
     select t.id, t.account_id, t.account_version, t.balance_after,
            case t.direction when 'credit' then t.amount else -t.amount end as moved
     from ${step}),
   walked as materialized (
     select s.*, row_number() over per_account + coalesce(p.legs, 0) as nth,
            sum(moved) over per_account + case when p.account_id is null then 0 else p.total end as total
     from step s left join place p on p.account_id = s.account_id
     window per_account as (partition by s.account_id order by s.account_version rows unbounded preceding))`;

const WALKED_FAULTS = `
   select 'version' as check, format('transfer %s does not continue account %s', w.id, w.account_id) as detail
   from walked w join account a on a.workspace_id = $1 and a.id = w.account_id and a.kind = 'customer'
   where w.account_version <> w.nth or w.balance_after is distinct from w.total
   union all
   select 'below zero', format('transfer %s leaves account %s at %s', w.id, w.account_id, w.balance_after)
   from walked w join account a on a.workspace_id = $1 and a.id = w.account_id and a.kind = 'customer'
   where w.balance_after < 0`;

/**
 * Checks the next transfers of customers' accounts, by account and version, after the position `$2` to `$5`. Each transfer is compared
 * with the sum of those before it, and an account with its last transfer, in one snapshot. The position of earlier ranges never changes.
 * An account that may continue in the next range is compared there.
 */
const WALK = sqlStatement<WalkedRow>(
  'verify_walk',
  `${walked(
    'select $2::bigint as account_id, $4::bigint as legs, $5::numeric as total',
    `transfer t
     where t.workspace_id = $1 and t.account_version is not null and (t.account_id, t.account_version) > ($2::bigint, $3::bigint)
     order by t.account_id, t.account_version limit $6`,
  )},
   reached as materialized (
     (select distinct on (account_id) account_id, account_version, nth, total from walked order by account_id, account_version desc)
     union all
     select $2, $3, $4, $5 where $2 > 0 and not exists (select from step where account_id = $2)),
   size as materialized (select count(*)::int as rows, max(account_id) as last from step)
   select f.*, null::bigint as account_id, null::bigint as version, null::bigint as legs, null::text as total, null::int as rows
   from (${WALKED_FAULTS}
   union all
   select 'balance', format('account %s holds %s at version %s; its transfers make %s and number %s', a.id, a.balance, a.version, r.total, r.nth)
   from reached r cross join size s join account a on a.workspace_id = $1 and a.id = r.account_id and a.kind = 'customer'
   where (a.balance, a.version) <> (r.total, r.nth) and not (s.rows = $6 and r.account_id = s.last)) f
   union all
   select null, null, r.account_id, r.account_version, r.nth, r.total::text, s.rows
   from size s join reached r on r.account_id = s.last`,
);

/**
 * Checks the transfers of accounts `$2` from version `$3` to version `$4`, from the transfer before. That one is found as the latest
 * below, because the planner may read the whole account for an equality.
 */
const STEPS_OF_ACCOUNTS = sqlStatement<FindingRow>(
  'verify_steps',
  `${walked(
    `select u.account_id, u.first - 1 as legs,
            case when u.first = 1 then 0 when before.account_version = u.first - 1 then before.balance_after end as total
     from unnest($2::bigint[], $3::bigint[]) u(account_id, first)
     left join lateral (
       select account_version, balance_after from transfer
       where workspace_id = $1 and account_id = u.account_id and account_version < u.first
       order by account_version desc limit 1) before on true`,
    `unnest($2::bigint[], $3::bigint[], $4::bigint[]) u(account_id, first, last)
     cross join lateral (
       select * from transfer
       where workspace_id = $1 and account_id = u.account_id and account_version between u.first and u.last
       order by account_version) t`,
  )} ${WALKED_FAULTS}`,
);

/** Finds customer accounts of `$2` with a transfer without a version (`$3`), and own accounts with one. */
const MISFITS = sqlStatement<FindingRow>(
  'verify_misfits',
  `select 'version' as check, format('account %s has transfers that do not fit its kind', a.id) as detail
   from unnest($2::bigint[], $3::boolean[]) u(account_id, is_versioned)
   join account a on a.workspace_id = $1 and a.id = u.account_id
   where (a.kind = 'customer') <> u.is_versioned`,
);

/** The versions of an account that some transactions wrote. */
export interface VersionRange {
  readonly accountId: number;
  readonly first: number;
  readonly last: number;
}

/** The query of the faults of customer accounts, each compared with its last transfer. */
export function findAccountFaults(workspaceId: number, accountIds: readonly number[]): BoundStatement<FindingRow> {
  return bind(FAULTS_OF_ACCOUNTS, workspaceId, accountIds);
}

/** The query of the faults of transfers in ranges of versions. */
export function findStepFaults(workspaceId: number, ranges: readonly VersionRange[]): BoundStatement<FindingRow> {
  const ids = ranges.map(({ accountId }) => accountId);
  const [first, last] = [ranges.map((range) => range.first), ranges.map((range) => range.last)];
  return bind(STEPS_OF_ACCOUNTS, workspaceId, ids, first, last);
}

/** The query of accounts whose transfers do not fit their kind. */
export function findMisfits(
  workspaceId: number,
  accounts: readonly { readonly accountId: number; readonly isVersioned: boolean }[],
): BoundStatement<FindingRow> {
  const ids = accounts.map(({ accountId }) => accountId);
  return bind(
    MISFITS,
    workspaceId,
    ids,
    accounts.map(({ isVersioned }) => isVersioned),
  );
}

export function noteRows(rows: readonly FindingRow[], note: ReportFinding): void {
  for (const { check, detail } of rows) note(CHECK_OF[check], detail);
}

/** Proves the balances of the customers' accounts of a workspace, while postings go on. */
export async function verifyAccounts(
  database: Database,
  workspaceId: number,
  note: ReportFinding,
  options: RangeOptions,
): Promise<void> {
  for await (const { after, upto } of rangesOf(database, workspaceId, ACCOUNTS, options)) {
    const ask = [bind(ACCOUNT_FAULTS, workspaceId, after, upto)] as const;
    const [rows] = await database.pipeline({ workspaces: [workspaceId] }, ask);
    noteRows(rows, note);
  }
  await walkTransfers(database, workspaceId, note, options);
}

async function walkTransfers(
  database: Database,
  workspaceId: number,
  note: ReportFinding,
  { rangeRows = RANGE_ROWS, onRange }: RangeOptions,
): Promise<void> {
  let place: Place = { accountId: 0n, version: 0n, legs: 0n, total: '0' };
  let done = 0;
  for (let isOver = false; !isOver;) {
    const { accountId, version, legs, total } = place;
    const ask = [bind(WALK, workspaceId, accountId, version, legs, total, rangeRows)] as const;
    const [rows] = await database.pipeline({ workspaces: [workspaceId] }, ask);
    isOver = true;
    for (const row of rows) {
      if (row.check !== null) note(CHECK_OF[row.check], row.detail ?? '');
      else {
        place = { accountId: row.account_id!, version: row.version!, legs: row.legs!, total: row.total! };
        done += row.rows!;
        isOver = row.rows! < rangeRows;
      }
    }
    await onRange?.({ workspaceId, reading: 'balances', done });
  }
}
