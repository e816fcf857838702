import type { Timestamp } from '@banking/domain';
import {
  bind,
  sqlStatement,
  type BoundStatement,
  type DbTransaction,
  type RowsOfEach,
  type SqlStatement,
} from '@banking/postgres';
import { DecisionContext } from './decision-context.js';
import type { PreparedPosting } from './prepare-posting.js';
import { accountKey, customerAccountsOf, type AccountRef } from './proposal.js';

interface AccountRow {
  readonly workspace_id: bigint;
  readonly id: bigint;
  readonly currency_id: number;
  readonly status: string;
  readonly balance: bigint;
  readonly version: bigint;
  readonly head: string;
}

/** A statement of its own, because the time of the statement that locks is from before its wait. Never before the transaction began. */
const READ_CLOCK = sqlStatement<{ at: Timestamp }>(
  'read_clock',
  'select rfc3339(greatest(now(), statement_timestamp())) as at',
);

/** Locks accounts in id order. Two batches that share accounts wait for each other and cannot deadlock. */
const LOCK_ACCOUNTS = lockAccounts('lock_accounts', 'for no key update of a');
/** Skips accounts that another session has locked, so that one such account does not delay the whole batch. */
const LOCK_FREE_ACCOUNTS = lockAccounts('lock_free_accounts', 'for no key update of a skip locked');

function lockAccounts(name: string, lock: string): SqlStatement<AccountRow> {
  return sqlStatement<AccountRow>(
    name,
    `select a.workspace_id, a.id, a.currency_id, a.status, a.balance, a.version, a.head
     from account a
     join unnest($1::bigint[], $2::bigint[]) u(w, i) on (a.workspace_id, a.id) = (u.w, u.i)
     where a.kind = 'customer'
     order by a.workspace_id, a.id
     ${lock}`,
  );
}

/**
 * The first step of a posting: locks the customers' accounts of a batch and returns their state.
 *
 * Locks of the caller in `tx` come before those of the accounts.
 *
 * @param reads sent in one pipeline after the locks were acquired; they return all that was committed on these accounts before
 * @param options.skipsLocked leaves out accounts that another session has locked; `hasLocked` of the context tells which
 * @throws Refusal `unavailable` if an account stays locked for too long
 */
export async function lockAndRead<const T extends readonly BoundStatement<unknown>[] = []>(
  tx: DbTransaction,
  posting: PreparedPosting,
  reads: T = [] as readonly BoundStatement<unknown>[] as T,
  { skipsLocked = false }: { readonly skipsLocked?: boolean } = {},
): Promise<{ readonly context: DecisionContext; readonly rows: RowsOfEach<T> }> {
  const accounts = distinct(posting.proposals.flatMap(customerAccountsOf));
  const lock = bind(
    skipsLocked ? LOCK_FREE_ACCOUNTS : LOCK_ACCOUNTS,
    accounts.map(({ workspaceId }) => workspaceId),
    accounts.map(({ accountId }) => accountId),
  );
  const [locked, [clock], ...rows] = (await tx.pipeline([lock, bind(READ_CLOCK), ...reads])) as [
    AccountRow[],
    [{ at: Timestamp }],
    ...RowsOfEach<T>,
  ];
  const context = new DecisionContext(
    posting,
    locked.map(({ workspace_id, id, currency_id, version, ...row }) => ({
      ...row,
      workspaceId: Number(workspace_id),
      id: Number(id),
      currencyId: currency_id,
      version: Number(version),
    })),
    clock.at,
  );
  return { context, rows: rows as RowsOfEach<T> };
}

function distinct(accounts: readonly AccountRef[]): AccountRef[] {
  return [...new Map(accounts.map((ref) => [accountKey(ref.workspaceId, ref.accountId), ref])).values()];
}
