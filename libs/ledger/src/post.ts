import type { Timestamp } from '@banking/domain';
import {
  bind,
  type BoundStatement,
  type DbTransaction,
  type RowsOfEach,
  sqlStatement,
  type SqlStatement,
} from '@banking/postgres';
import { type Books, type PreparedPosting, preparePosting } from './books.js';
import { decide, DecisionContext } from './decide.js';
import {
  accountKey,
  type AccountRef,
  customerAccountsOf,
  type Outcome,
  type PostedTransaction,
  type Proposal,
} from './proposal.js';

/**
 * Posts a batch in one database transaction of two pipelines: locks accounts, decides proposals in their order, writes and commits.
 * For callers that lock, read or write nothing else.
 *
 * @returns an outcome for each proposal, in their order
 * @throws Refusal `unavailable` if the database cannot be reached or an account stays locked; nothing was written
 * @throws CommitInDoubtError if the connection is lost around the commit
 * @throws DatabaseError if the database rejects the batch, such as a second return of one transaction; nothing was written
 */
export async function post(books: Books, proposals: readonly Proposal[]): Promise<Outcome[]> {
  const posting = await preparePosting(books, proposals);
  return books.database.transaction({ workspaces: posting.workspaces }, async (tx) => {
    const { context } = await lockAndRead(tx, posting);
    const outcomes = proposals.map((proposal) => decide(context, proposal));
    const posted = outcomes.flatMap((outcome) => outcome.posted ?? []);
    await write(tx, posted);
    return outcomes;
  });
}

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

/** Inserts in the order of the unique key of returns. Two batches with the same keys wait for each other and cannot deadlock. */
const INSERT_TRANSACTIONS = sqlStatement(
  'insert_transactions',
  `insert into transaction (workspace_id, id, status, hash, return_of, order_digest, conversion_digest, created_at, updated_at)
   select u.*, $8::timestamptz, $8::timestamptz from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[])
     u(w, id, s, h, return_of, o, c)
   order by w, return_of`,
);

/** One statement for the batch, so that its trigger sums each transaction and moves each account once. */
const INSERT_TRANSFERS = sqlStatement(
  'insert_transfers',
  `insert into transfer (workspace_id, id, transaction_id, account_id, currency_id, direction, amount, type,
                         description, purpose, fee_amount, recipient_id, recipient_digest, account_version, balance_after, created_at)
   select *, $16::timestamptz from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::int[], $6::text[], $7::bigint[], $8::text[],
                        $9::text[], $10::text[], $11::bigint[], $12::bigint[], $13::text[], $14::bigint[], $15::bigint[])`,
);

/** Statements that depend on what was written. */
type Finish<Rows> = (rows: Rows) => readonly BoundStatement<unknown>[] | Promise<readonly BoundStatement<unknown>[]>;

/**
 * The last step of a posting: writes transactions with one statement a table, then `alongside`, and commits, in one round trip. With
 * `finish`, the commit is a second round trip that begins with the statements that it returns.
 *
 * @returns the rows of each statement of `alongside`
 * @throws CommitInDoubtError if the connection is lost around the commit
 * @throws DatabaseError if the database rejects the batch; nothing was written
 */
export async function write<const T extends readonly BoundStatement<unknown>[] = []>(
  tx: DbTransaction,
  posted: readonly PostedTransaction[],
  alongside: T = [] as readonly BoundStatement<unknown>[] as T,
  finish?: Finish<RowsOfEach<T>>,
): Promise<RowsOfEach<T>> {
  const books = posted.length === 0 ? [] : booksStatements(posted);
  const statements = [...books, ...alongside];
  const rows = await (finish ? tx.change(statements) : tx.commit(statements));
  const beside = rows.slice(books.length) as RowsOfEach<T>;
  if (finish) await tx.commit(await finish(beside));
  return beside;
}

/** The statements of fewer transactions are made sooner than a round trip takes. */
const OVERLAPPED_MIN = 8;

/**
 * Writes as `write` does. The database writes many transactions while `rest` makes the other statements, in a round trip of its own.
 *
 * @throws what `rest` throws, and as `write` does; nothing was written
 */
export async function writeFirst(
  tx: DbTransaction,
  posted: readonly PostedTransaction[],
  rest: () => Promise<readonly BoundStatement<unknown>[]>,
): Promise<void> {
  const books = posted.length === 0 ? [] : booksStatements(posted);
  if (posted.length < OVERLAPPED_MIN) {
    await tx.commit([...books, ...(await rest())]);
    return;
  }
  // Both end before the database transaction may be closed.
  const [written, made] = await Promise.allSettled([tx.change(books), rest()]);
  if (written.status === 'rejected') throw written.reason;
  if (made.status === 'rejected') throw made.reason;
  await tx.commit(made.value);
}

function booksStatements(posted: readonly PostedTransaction[]): BoundStatement<unknown>[] {
  // One batch has one time, that of its decision context.
  const at = posted[0]?.at;
  const transfers = posted.flatMap((transaction) =>
    transaction.transfers.map((transfer) => ({ transaction, transfer, leg: transfer.leg })),
  );
  return [
    bind(
      INSERT_TRANSACTIONS,
      posted.map(({ workspaceId }) => workspaceId),
      posted.map(({ id }) => id),
      posted.map(({ entry }) => entry.status),
      posted.map(({ hash }) => hash),
      posted.map(({ entry }) => entry.returnOf ?? null),
      posted.map(({ entry }) => entry.orderDigest ?? null),
      posted.map(({ entry }) => entry.conversionDigest ?? null),
      at,
    ),
    bind(
      INSERT_TRANSFERS,
      transfers.map(({ transaction }) => transaction.workspaceId),
      transfers.map(({ transfer }) => transfer.id),
      transfers.map(({ transaction }) => transaction.id),
      transfers.map(({ transfer }) => transfer.accountId),
      transfers.map(({ leg }) => leg.currencyId),
      transfers.map(({ leg }) => leg.direction),
      transfers.map(({ leg }) => leg.amount.toString()),
      transfers.map(({ leg }) => leg.type),
      transfers.map(({ leg }) => leg.description ?? null),
      transfers.map(({ leg }) => leg.purpose ?? null),
      transfers.map(({ leg }) => leg.feeAmount?.toString() ?? null),
      transfers.map(({ leg }) => leg.recipientId ?? null),
      transfers.map(({ leg }) => leg.recipientDigest ?? null),
      transfers.map(({ transfer }) => transfer.accountVersion ?? null),
      transfers.map(({ transfer }) => transfer.balanceAfter?.toString() ?? null),
      at,
    ),
  ];
}
