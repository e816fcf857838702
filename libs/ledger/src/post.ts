import type { Timestamp } from '@banking/domain';
import {
  bind,
  byteaOf,
  compositeOf,
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
  type Conversion,
  type ConvertedAmount,
  customerAccountsOf,
  type Outcome,
  type PostedTransaction,
  type PostedTransfer,
  type Proposal,
} from './proposal.js';

/**
 * Posts a batch in one database transaction of two pipelines: locks accounts, decides proposals in their order, writes and commits.
 * For callers that lock, read or write nothing else.
 *
 * @param write what kind of postings they are
 * @returns an outcome for each proposal, in their order
 * @throws Refusal `unavailable` if the database cannot be reached or an account stays locked; nothing was written
 * @throws CommitInDoubtError if the connection is lost around the commit
 * @throws DatabaseError if the database rejects the batch, such as a second return of one transaction; nothing was written
 */
export async function post(
  books: Books,
  proposals: readonly Proposal[],
  write: (posted: readonly PostedTransaction[]) => readonly BoundStatement<unknown>[] = postPayments,
): Promise<Outcome[]> {
  const posting = await preparePosting(books, proposals);
  return books.database.transaction({ workspaces: posting.workspaces }, async (tx) => {
    const { context } = await lockAndRead(tx, posting);
    const outcomes = proposals.map((proposal) => decide(context, proposal));
    const posted = outcomes.flatMap((outcome) => outcome.posted ?? []);
    await tx.commit(write(posted));
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
  readonly balance_at: Timestamp;
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
    `select a.workspace_id, a.id, a.currency_id, a.status, a.balance, a.version, encode(a.head, 'hex') as head,
            rfc3339(a.balance_at) as balance_at
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
    locked.map(({ workspace_id, id, currency_id, version, balance_at, ...row }) => ({
      ...row,
      workspaceId: Number(workspace_id),
      id: Number(id),
      currencyId: currency_id,
      version: Number(version),
      balanceAt: balance_at,
    })),
    clock.at,
  );
  return { context, rows: rows as RowsOfEach<T> };
}

function distinct(accounts: readonly AccountRef[]): AccountRef[] {
  return [...new Map(accounts.map((ref) => [accountKey(ref.workspaceId, ref.accountId), ref])).values()];
}

/** A payout that was written as begun and claimed, for a worker of the process that wrote it. */
export interface LeasedPayout {
  readonly workspaceId: number;
  readonly transactionId: number;
  /** Of the key at the network. */
  readonly keyNonce: string;
  /** The payment network that carries it. */
  readonly rail: string;
}

interface LeasedRow {
  workspace_id: bigint;
  transaction_id: bigint;
  key_nonce: string;
  rail: string;
}

export const POST_PAYMENTS = sqlStatement<LeasedRow>(
  'post_payments',
  `select workspace_id, transaction_id, key_nonce, rail
   from post_payments($1::posted_transaction[], $2::posted_transfer[], $3, $4)`,
);
const POST_RETURNS = posting('post_returns');
const POST_DEPOSITS = posting('post_deposits');
const POST_SANDBOX_DEPOSITS = posting('post_sandbox_deposits');

/** A call of a function of the database: without one of them, nothing can be written into the books. */
export function posting(name: string, ...more: readonly string[]): SqlStatement<unknown> {
  const parameters = ['$1::posted_transaction[]', '$2::posted_transfer[]', ...more];
  return sqlStatement(name, `select ${name}(${parameters.join(', ')})`);
}

/** The first two values of a posting. */
export function postingValues(posted: readonly PostedTransaction[]): readonly unknown[] {
  return [posted.map(transactionValue), posted.flatMap(transferValues)];
}

const transactionValue = ({ workspaceId, id, at, hash, entry }: PostedTransaction): string =>
  compositeOf([
    ...[workspaceId, id, entry.status, byteaOf(hash), entry.returnOf, byteaOf(entry.orderDigest)],
    ...[entry.conversion && conversionValue(entry.conversion), entry.isSubmitted],
    ...[entry.rail, entry.termsChangeId, entry.convertedAmounts?.map(convertedValue), at],
  ]);

const convertedValue = ({ currencyId, rate, amount }: ConvertedAmount): string =>
  compositeOf([currencyId, rate, amount]);

/** The transfers of customers' accounts. The first has the legs of our own. */
function transferValues({ workspaceId, id: transactionId, transfers }: PostedTransaction): string[] {
  const ownLegs = transfers.filter(({ accountVersion }) => accountVersion === undefined).map(ownLegValue);
  const ofCustomers = transfers.filter(({ accountVersion }) => accountVersion !== undefined);
  if (ofCustomers.length === 0) throw new Error('a transaction moves money of a customer');
  return ofCustomers.map(({ id, leg, descriptionSalt, accountId, accountVersion, balanceAfter }, place) =>
    compositeOf([
      ...[workspaceId, id, transactionId, accountId, leg.currencyId, leg.direction, leg.amount, leg.type],
      ...[leg.description, leg.purpose, leg.feeAmount, leg.recipientId, byteaOf(leg.recipientDigest)],
      ...[accountVersion, balanceAfter, place === 0 && ownLegs.length > 0 ? ownLegs : undefined],
      byteaOf(descriptionSalt),
    ]),
  );
}

const ownLegValue = ({ id, leg, accountId }: PostedTransfer): string =>
  compositeOf([id, accountId, leg.currencyId, leg.type, leg.direction === 'credit' ? leg.amount : -leg.amount]);

const conversionValue = (row: Conversion): string =>
  compositeOf([
    ...[byteaOf(row.digest), row.quoteId, row.currencyId, row.amount, row.targetCurrencyId, row.targetAmount],
    ...[row.rate, row.rateSource, row.rateAsOf, row.rounding, row.remainderNumerator, row.remainderDenominator],
    row.fixedSide,
  ]);

const unlessEmpty = <Row>(posted: readonly PostedTransaction[], bound: () => BoundStatement<Row>) =>
  posted.length === 0 ? [] : [bound()];

/**
 * Writes payments: customers' money moves, and none enters. A pending payment to a settlement account gets its payout and the work that
 * submits it. A right of every role that serves.
 *
 * @param leasedMax how many payouts of each network a worker of this process takes at once; a row for each that it has to take
 */
export const postPayments = (
  posted: readonly PostedTransaction[],
  leasedMax: ReadonlyMap<string, number> = new Map(),
): BoundStatement<LeasedRow>[] =>
  unlessEmpty(posted, () =>
    bind(POST_PAYMENTS, ...postingValues(posted), [...leasedMax.keys()], [...leasedMax.values()]),
  );

/** The payouts of the rows of `postPayments`. */
export const leasedPayouts = (rows: readonly unknown[] = []): LeasedPayout[] =>
  (rows as readonly LeasedRow[]).map(({ workspace_id, transaction_id, key_nonce, rail }) => ({
    workspaceId: Number(workspace_id),
    transactionId: Number(transaction_id),
    keyNonce: key_nonce,
    rail,
  }));

/** Writes returns, as `returnEntries` makes them. A right of the worker and of operators. */
export const postReturns = (posted: readonly PostedTransaction[]): BoundStatement<unknown>[] =>
  unlessEmpty(posted, () => bind(POST_RETURNS, ...postingValues(posted)));

/** Writes money that enters, from a settlement account. A right of operators. */
export const postDeposits = (posted: readonly PostedTransaction[]): BoundStatement<unknown>[] =>
  unlessEmpty(posted, () => bind(POST_DEPOSITS, ...postingValues(posted)));

/** The same of demo money, in a sandbox only. A right of the worker too. */
export const postSandboxDeposits = (posted: readonly PostedTransaction[]): BoundStatement<unknown>[] =>
  unlessEmpty(posted, () => bind(POST_SANDBOX_DEPOSITS, ...postingValues(posted)));
