import type { Books } from './books.js';
import { decide } from './decide.js';
import { lockAndRead } from './lock-and-read.js';
import { preparePosting } from './prepare-posting.js';
import type { Outcome, Proposal } from './proposal.js';
import { write } from './write.js';

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
