import { Refusal } from '@banking/domain';
import { bisect, CommitInDoubtError } from '@banking/postgres';
import type { Books } from './books.js';
import { preparePosting, type Alongside } from './posting.js';
import type { Outcome, Proposal } from './proposal.js';

/**
 * Posts a batch of proposals in one database transaction of two flights: accounts of the whole batch locked once in id order,
 * proposals decided one by one in memory in their order, written with one statement a table, committed.
 *
 * Answers an outcome for each proposal, in their order. A refusal (`account_not_found`, `account_disabled`,
 * `insufficient_funds`, `balance_limit_exceeded`) is that proposal's alone. A batch that the database rejects, such as one with a
 * second return of one transaction, is posted in halves until what it rejects stands alone.
 *
 * @throws Refusal `unavailable` when the database cannot be reached or an account stays locked elsewhere. Nothing was written.
 * @throws CommitInDoubtError when the connection was lost around the commit of all of them.
 * @throws DatabaseError when the database rejects the only proposal. Nothing was written.
 */
export async function post(
  books: Books,
  proposals: readonly Proposal[],
  alongside: Alongside = () => [],
): Promise<Outcome[]> {
  let isWhole = true;
  const outcomes = await bisect<Proposal, Outcome>(
    proposals,
    async (some) => {
      isWhole = some.length === proposals.length;
      return postTogether(books, some, alongside);
    },
    (_, error) => {
      // A part of the batch may have been written: an error of the rest must not stand for all of it.
      if (isWhole) throw error;
      return error instanceof Refusal && !(error instanceof CommitInDoubtError)
        ? { refused: error }
        : { failed: error };
    },
  );
  return [...outcomes];
}

async function postTogether(books: Books, proposals: readonly Proposal[], alongside: Alongside): Promise<Outcome[]> {
  const { workspaces, finish } = await preparePosting(books, proposals);
  const { outcomes } = await books.database.transaction({ workspaces }, (tx) => finish(tx, { alongside }));
  return outcomes;
}
