import type { IdBlocks } from '@banking/postgres';
import type { Books } from './books.js';
import { ensureOwnAccounts } from './own-accounts.js';
import { customerAccountsOf, type Proposal } from './proposal.js';

/** A batch with reserved ids and open own accounts. Its database transaction needs no other connection. */
export interface PreparedPosting {
  readonly proposals: readonly Proposal[];
  /** The row-level-security scope that its database transaction needs. */
  readonly workspaces: readonly number[];
  /** One id for each entry. */
  readonly transactionIds: readonly number[];
  /** One id for each leg. */
  readonly transferIds: readonly number[];
  /** Ids of the workspaces' own accounts by `ownAccountKey`. */
  readonly ownAccounts: ReadonlyMap<string, number>;
}

/**
 * Prepares a batch for `lockAndRead`, `decide` and `write`. Call it before the database transaction begins.
 *
 * @throws Refusal `unavailable` if the database cannot be reached
 */
export async function preparePosting(books: Books, proposals: readonly Proposal[]): Promise<PreparedPosting> {
  const entries = proposals.flatMap((proposal) => proposal.entries);
  const accounts = proposals.flatMap(customerAccountsOf);
  const workspaces = [...new Set([...entries, ...accounts].map(({ workspaceId }) => workspaceId))];
  // The first snapshot of a new account takes a transfer id. Opening accounts first makes the ids of a lone caller repeatable.
  await ensureOwnAccounts(books, proposals);
  const [transactionIds, transferIds] = await Promise.all([
    reserve(books.transactionIds, entries.length),
    reserve(
      books.transferIds,
      entries.reduce((count, { legs }) => count + legs.length, 0),
    ),
  ]);
  return { proposals, workspaces, transactionIds, transferIds, ownAccounts: books.ownAccounts };
}

/** Takes all ids in one synchronous step. No other batch can take one of them in between. */
async function reserve(blocks: IdBlocks, count: number): Promise<readonly number[]> {
  await blocks.ready(count);
  return Array.from({ length: count }, () => blocks.take());
}
