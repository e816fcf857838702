import {
  decide,
  lockAndRead,
  preparePosting,
  requirePosted,
  returnEntries,
  write,
  type Books,
  type PostedTransaction,
  type Proposal,
} from '@banking/ledger';
import { BatchedCalls, bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import { lockClaims, LostClaimError, type Claim } from '@banking/work-queue';
import { BY_SYSTEM } from '../audit/audited-call.js';
import { auditEntry, noteAudit } from '../audit/note-audit.js';
import type { ArrivalOutcome } from './crossing-port.js';

/** `locked`: another session has locked the account, and nothing was written. */
type Result = 'recorded' | 'lost' | 'locked' | Error;

/** Before the transactions: the database refuses a transaction that ends before its crossing. */
const STEP_CROSSINGS = sqlStatement(
  'step_crossings',
  `update crossing c set status = $3
   from unnest($1::bigint[], $2::bigint[]) u(workspace_id, transaction_id)
   where c.workspace_id = u.workspace_id and c.transaction_id = u.transaction_id`,
);
const STEP_TRANSACTIONS = sqlStatement(
  'step_crossed_transactions',
  `update transaction x set status = $3, updated_at = statement_timestamp()
   from unnest($1::bigint[], $2::bigint[]) u(workspace_id, id)
   where x.workspace_id = u.workspace_id and x.id = u.id`,
);

/**
 * Records the outcomes of crossings in the database of the payer, under the fences of their claims: an accepted one completes its
 * transaction, a refused one fails it and returns its money. Outcomes at the same time share one database transaction.
 */
export class OutcomeRecorder {
  private readonly completed: BatchedCalls<Claim, Result>;
  private readonly returned: BatchedCalls<Claim, Result>;
  /** Those that wait for an account are in batches of their own, so that they delay no other. */
  private readonly waiting: BatchedCalls<Claim, Result>;

  constructor(private readonly books: Books) {
    this.completed = new BatchedCalls((claims: readonly Claim[]) => this.completeAll(claims));
    this.returned = new BatchedCalls((claims: readonly Claim[]) => this.returnAll(claims, true));
    this.waiting = new BatchedCalls((claims: readonly Claim[]) => this.returnAll(claims, false));
  }

  /**
   * @throws LostClaimError if another worker has the crossing; nothing was written
   * @throws Refusal `balance_limit_exceeded` if the account of the payer cannot hold the returned money
   */
  async record(claim: Claim, outcome: ArrivalOutcome): Promise<void> {
    let result = await (outcome === 'accepted' ? this.completed : this.returned).call(claim);
    if (result === 'locked') result = await this.waiting.call(claim);
    if (result === 'lost') throw new LostClaimError('the claim is lost');
    if (result === 'locked') throw new Error('a return was not decided');
    if (result instanceof Error) throw result;
  }

  private completeAll(claims: readonly Claim[]): Promise<readonly Result[]> {
    return this.books.database.transaction({ workspaces: workspacesOf(claims) }, async (tx) => {
      const held = await lockClaims(tx, claims);
      await tx.commit(stepsTo('completed', 'completed', [...held]));
      return claims.map((claim) => (held.has(claim) ? 'recorded' : 'lost'));
    });
  }

  private async returnAll(claims: readonly Claim[], skipsLocked: boolean): Promise<readonly Result[]> {
    const { database } = this.books;
    const refs = claims.map(({ workspaceId, subjectId }) => ({ workspaceId, transactionId: subjectId }));
    const proposals = (await returnEntries(database, refs)).map((entry) => entry && { entries: [entry] });
    const posting = await preparePosting(
      this.books,
      proposals.flatMap((proposal) => proposal ?? []),
    );
    return database.transaction({ workspaces: workspacesOf(claims) }, async (tx) => {
      const held = await lockClaims(tx, claims);
      const heldProposals = proposals.flatMap((proposal, index) => (held.has(claims[index]!) ? (proposal ?? []) : []));
      const { context } = await lockAndRead(tx, { ...posting, proposals: heldProposals }, [], { skipsLocked });
      const posted: PostedTransaction[] = [];
      const recorded: Claim[] = [];
      const results = claims.map((claim, index): Result => {
        const proposal: Proposal | undefined = proposals[index];
        if (!held.has(claim)) return 'lost';
        if (!proposal) return new Error(`transaction ${claim.subjectId} has no return to post`);
        if (!context.hasLocked(proposal)) return 'locked';
        const outcome = decide(context, proposal);
        if (outcome.refused) return outcome.refused;
        posted.push(...requirePosted(outcome));
        recorded.push(claim);
        return 'recorded';
      });
      await write(tx, posted, stepsTo('returned', 'failed', recorded));
      return results;
    });
  }
}

const workspacesOf = (claims: readonly Claim[]) => [...new Set(claims.map(({ workspaceId }) => workspaceId))];

function stepsTo(
  crossing: 'completed' | 'returned',
  transaction: 'completed' | 'failed',
  claims: readonly Claim[],
): BoundStatement<unknown>[] {
  if (claims.length === 0) return [];
  const columns = [claims.map(({ workspaceId }) => workspaceId), claims.map(({ subjectId }) => subjectId)] as const;
  const operation = transaction === 'completed' ? 'completeTransaction' : 'failTransaction';
  const entries = claims.map(({ workspaceId, subjectId: id }) =>
    auditEntry(workspaceId, { operation, resource: { type: 'transaction', id } }, BY_SYSTEM),
  );
  return [
    bind(STEP_CROSSINGS, ...columns, crossing),
    bind(STEP_TRANSACTIONS, ...columns, transaction),
    noteAudit(entries),
  ];
}
