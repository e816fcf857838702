import { bind, sqlStatement, type Database, type DbTransaction } from '@banking/postgres';
import { bookedOf, readBooked, type BookedRow, type BookedTransaction } from './booked-transactions.js';
import type { Finding, ReportFinding } from './finding.js';
import { findAccountFaults, findMisfits, findStepFaults, noteRows, type VersionRange } from './verify-accounts.js';
import { HASH_CHECK, LEGS_CHECK, verifyTransaction } from './verify-chain.js';

/** Stored transactions and accounts of a workspace. */
export interface StoredRows {
  readonly workspaceId: number;
  readonly transactionIds: readonly number[];
  /** Accounts to verify besides those of the transactions. */
  readonly accountIds?: readonly number[];
}

/** Held to the end of the database transaction, so that it works with transaction pooling and ends with its session. */
const TRY_VERIFYING = sqlStatement<{ is_ours: boolean }>(
  'try_verifying',
  `select pg_try_advisory_xact_lock(hashtextextended('banking.verification', 0)) as is_ours`,
);

/**
 * Proves transactions and the accounts that they touched, as `verifyBooks` does, all in one snapshot: their content and hashes, each of
 * their transfers continued from the one before, and their accounts compared with the last transfer.
 *
 * @returns the findings; undefined if another process is verifying
 */
export async function verifyStored(
  database: Database,
  stored: readonly StoredRows[],
): Promise<readonly Finding[] | undefined> {
  const scope = { workspaces: stored.map(({ workspaceId }) => workspaceId) };
  return database.transaction(
    scope,
    async (tx) => {
      const [[lock]] = await tx.pipeline([bind(TRY_VERIFYING)] as const);
      return lock?.is_ours === true ? verifyUnderLock(tx, stored) : undefined;
    },
    { snapshot: true },
  );
}

async function verifyUnderLock(tx: DbTransaction, stored: readonly StoredRows[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  const noteIn =
    (workspaceId: number): ReportFinding =>
    (check, detail) =>
      findings.push({ check, workspaceId, detail });

  const booked = await tx.pipeline(
    stored.map(({ workspaceId, transactionIds }) => readBooked(workspaceId, transactionIds)),
  );
  const queries = stored.flatMap(({ workspaceId, transactionIds, accountIds = [] }, index) => {
    const note = noteIn(workspaceId);
    const found = new Set(booked[index]!.map(({ id }) => Number(id)));
    for (const id of transactionIds) if (!found.has(id)) note(LEGS_CHECK, `transaction ${id} is not stored`);
    const transactions = booked[index]!.flatMap((row) => verifyRow(workspaceId, row, note));

    const { ranges, kinds } = touchedBy(transactions);
    const accounts = new Set([...accountIds, ...ranges.map(({ accountId }) => accountId)]);
    return [
      { note, query: findStepFaults(workspaceId, ranges) },
      { note, query: findMisfits(workspaceId, kinds) },
      { note, query: findAccountFaults(workspaceId, [...accounts]) },
    ];
  });
  const faults = await tx.pipeline(queries.map(({ query }) => query));
  queries.forEach(({ note }, index) => noteRows(faults[index]!, note));
  return findings;
}

/** A transaction without a content that can be hashed, such as one in an unknown currency, is a finding like any other. */
function verifyRow(workspaceId: number, row: BookedRow, note: ReportFinding): BookedTransaction[] {
  try {
    const transaction = bookedOf(workspaceId, row);
    verifyTransaction(transaction, note);
    return [transaction];
  } catch {
    note(HASH_CHECK, `transaction ${row.id} has no content that can be hashed`);
    return [];
  }
}

/** The versions that transactions wrote on each customer account, and whether they wrote versions on each account. */
function touchedBy(transactions: readonly BookedTransaction[]) {
  const ranges = new Map<number, VersionRange>();
  const kinds = new Map<string, { readonly accountId: number; readonly isVersioned: boolean }>();
  for (const { accountId, accountVersion } of transactions.flatMap(({ content }) => content.transfers)) {
    const isVersioned = accountVersion !== undefined;
    kinds.set(`${accountId} ${isVersioned}`, { accountId, isVersioned });
    if (!isVersioned) continue;
    const { first, last } = ranges.get(accountId) ?? { first: accountVersion, last: accountVersion };
    ranges.set(accountId, { accountId, first: Math.min(first, accountVersion), last: Math.max(last, accountVersion) });
  }
  return { ranges: [...ranges.values()], kinds: [...kinds.values()] };
}
