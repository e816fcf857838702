import { Refusal } from '@banking/domain';
import { DatabaseError } from '@banking/postgres';
import type { Books } from './books.js';
import { preparePosting, type Alongside } from './posting.js';
import type { Outcome, Proposal } from './proposal.js';

/**
 * Posts a batch of proposals in one database transaction of two flights: accounts of the whole batch locked once in id order,
 * proposals decided one by one in memory in their order, written with one statement a table, committed.
 *
 * Answers an outcome for each proposal, in their order. A refusal (`account_not_found`, `account_disabled`,
 * `insufficient_funds`, `balance_limit_exceeded`) is that proposal's alone. A batch of several that the database objects to, such
 * as a second return of one transaction, is replayed one by one, and what then goes wrong is that proposal's alone too.
 *
 * @throws Refusal `unavailable` when the database cannot be reached or an account stays locked elsewhere. Nothing was written.
 * @throws DatabaseError when the database objects to the only proposal. Nothing was written.
 */
export async function post(
  books: Books,
  proposals: readonly Proposal[],
  alongside: Alongside = () => [],
): Promise<Outcome[]> {
  try {
    return await postTogether(books, proposals, alongside);
  } catch (error) {
    if (!(error instanceof DatabaseError) || proposals.length < 2) throw error;
  }
  const outcomes: Outcome[] = [];
  for (const proposal of proposals) {
    outcomes.push(...(await postTogether(books, [proposal], alongside).catch(fateOf)));
  }
  return outcomes;
}

async function postTogether(books: Books, proposals: readonly Proposal[], alongside: Alongside): Promise<Outcome[]> {
  const { workspaces, finish } = await preparePosting(books, proposals);
  const { outcomes } = await books.database.transaction({ workspaces }, (tx) => finish(tx, { alongside }));
  return outcomes;
}

/** Whatever stops one of a replayed batch, also an `unavailable`: those before it are written, so none may speak for all. */
function fateOf(error: Error): Outcome[] {
  return [error instanceof Refusal ? { refused: error } : { failed: error }];
}
