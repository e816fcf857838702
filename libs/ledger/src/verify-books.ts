import type { Database } from '@banking/postgres';
import { booksAt } from './books-at.js';
import { currencyCode } from './own-accounts.js';
import { ownSums } from './own-sums.js';
import type { Finding, ReportFinding } from './finding.js';
import type { RangeOptions } from './ranges.js';
import { BALANCE_CHECK, BELOW_ZERO_CHECK, VERSION_CHECK, verifyAccounts } from './verify-accounts.js';
import { BALANCED_CHECK, HASH_CHECK, LEGS_CHECK, verifyTransactions } from './verify-chain.js';
import {
  INTERWORKSPACE_CHECK,
  type InterworkspaceSum,
  findInterworkspaceDifferences,
  settledInstant,
} from './verify-interworkspace.js';

/** The sum of a workspace's `fx` account in a currency: what conversions took in less what they paid out. */
interface FxPosition {
  readonly workspaceId: number;
  readonly currencyCode: string;
  /** Digits in minor units, with a minus sign below zero. */
  readonly amount: string;
}

/** The result of a verification. */
export interface VerificationReport {
  readonly workspaces: number;
  readonly accounts: number;
  readonly transactions: number;
  readonly transfers: number;
  /** For information: a position is no finding. */
  readonly fxPositions: readonly FxPosition[];
  readonly findings: readonly Finding[];
}

export interface VerifyOptions extends RangeOptions {
  /** Whether these are all workspaces. Their debts to each other must sum to zero then. Default false. */
  readonly isWhole?: boolean | undefined;
  /** Called for each workspace after its books are proved. */
  readonly onWorkspace?: ((workspaceId: number) => void) | undefined;
}

const CLOSED_CHECK = 'the books of a workspace sum to zero in every currency';

/**
 * Proves the books of the given workspaces from their rows alone, and recomputes every hash.
 *
 * Reads in ranges, each in a database transaction of its own, so that no snapshot outlives a range. Postings may go on: sums over a
 * workspace are as of the version that each account had at the start, and all else is compared within one snapshot, with rows that
 * never change.
 */
export async function verifyBooks(
  database: Database,
  workspaceIds: readonly number[],
  options: VerifyOptions = {},
): Promise<VerificationReport> {
  const findings: Finding[] = [];
  const fxPositions: FxPosition[] = [];
  const owed: InterworkspaceSum[] = [];
  const counts = { accounts: 0, transactions: 0, transfers: 0 };
  const byTime = options.isWhole ? await settledInstant(database) : undefined;
  for (const workspaceId of workspaceIds) {
    const note: ReportFinding = (check, detail) => findings.push({ check, workspaceId, detail });
    const books = await booksAt(database, workspaceId);
    const { transactions, transfers, sums, misfits } = await ownSums(database, books, byTime, options);
    counts.accounts += books.accounts;
    counts.transactions += transactions;
    counts.transfers += transfers;

    for (const id of misfits) note(VERSION_CHECK, `account ${id} has transfers that do not fit its kind`);
    const held = new Map(books.held);
    for (const { accountId, currencyId, amount, amountByTime } of sums) {
      held.set(currencyId, (held.get(currencyId) ?? 0n) + amount);
      const kind = books.ownAccounts.get(accountId)?.kind;
      if (kind === 'fx') fxPositions.push({ workspaceId, currencyCode: currencyCode(currencyId), amount: `${amount}` });
      if (kind === 'interworkspace') owed.push({ workspaceId, currencyId, amount: amountByTime });
    }
    await verifyAccounts(database, workspaceId, note, options);
    await verifyTransactions(database, workspaceId, note, options);
    for (const [currencyId, sum] of held) {
      if (sum !== 0n) note(CLOSED_CHECK, `currency ${currencyId} is out by ${sum}`);
    }
    options.onWorkspace?.(workspaceId);
  }
  if (options.isWhole) {
    const differences = await findInterworkspaceDifferences(database, workspaceIds, owed, options);
    findings.push(...differences.map((detail) => ({ check: INTERWORKSPACE_CHECK, detail })));
  }
  fxPositions.sort((a, b) => a.workspaceId - b.workspaceId || a.currencyCode.localeCompare(b.currencyCode));
  return { workspaces: workspaceIds.length, ...counts, fxPositions, findings };
}

/** What `verifyBooks` proves of each workspace, for reports. */
export const CHECKS: readonly string[] = [
  BALANCED_CHECK,
  LEGS_CHECK,
  BALANCE_CHECK,
  VERSION_CHECK,
  BELOW_ZERO_CHECK,
  CLOSED_CHECK,
  HASH_CHECK,
];
/** What it also proves with `isWhole`. */
export { INTERWORKSPACE_CHECK };
