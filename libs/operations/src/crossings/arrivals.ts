import {
  decide,
  lockAndRead,
  preparePosting,
  write,
  type Books,
  type DecisionContext,
  type PostedTransaction,
  type Proposal,
} from '@banking/ledger';
import { BatchedCalls, DatabaseError } from '@banking/postgres';
import { arrivalEntry } from '../payments/payment-entries.js';
import { findArrivals, findPayees, insertArrivals, type Arrival, type DecidedArrival } from './arrival-statements.js';
import type { ArrivalOutcome, SubmittedCrossing } from './crossing-port.js';

/** `locked`: another session has locked the account, and nothing was decided. */
type Result = ArrivalOutcome | 'locked' | Error;

/**
 * Posts the payee's halves of payments from other databases, and records their outcomes. Calls at the same time share one database
 * transaction. A call that is repeated, here or in another process, has the outcome of the first.
 */
export class Arrivals {
  private readonly batches: BatchedCalls<Arrival, Result>;
  /** Those that wait for an account are in batches of their own, so that they delay no other. */
  private readonly waiting: BatchedCalls<Arrival, Result>;

  constructor(private readonly books: Books) {
    this.batches = new BatchedCalls((arrivals: readonly Arrival[]) => this.arriveAll(arrivals, true));
    this.waiting = new BatchedCalls((arrivals: readonly Arrival[]) => this.arriveAll(arrivals, false));
  }

  /**
   * @param workspaceId that of the payee
   * @throws Refusal `unavailable`, `outcome_unknown`
   * @throws DatabaseError if the workspace is not open in this database; nothing was written
   */
  async arrive(workspaceId: number, crossing: SubmittedCrossing): Promise<ArrivalOutcome> {
    const arrival = { workspaceId, crossing };
    let result = await this.batches.call(arrival).catch((error: unknown) => {
      if (!isArrivedMeanwhile(error)) throw error;
      return this.batches.call(arrival);
    });
    if (result === 'locked') result = await this.waiting.call(arrival);
    if (result === 'locked') throw new Error('an arrival was not decided');
    if (result instanceof Error) throw result;
    return result;
  }

  private async arriveAll(arrivals: readonly Arrival[], skipsLocked: boolean): Promise<readonly Result[]> {
    const workspaces = [...new Set(arrivals.map(({ workspaceId }) => workspaceId))];
    const { database } = this.books;
    const [payees] = await database.pipeline({ workspaces }, [findPayees(arrivals)] as const);
    const payeeAt = new Map(payees.map((payee) => [payee.position, payee]));
    // Undefined if there is no such account, or it holds another currency. Then it is refused.
    const proposals = arrivals.map(({ workspaceId, crossing }, index): Proposal | undefined => {
      const payee = payeeAt.get(index + 1);
      if (payee?.currency_id !== crossing.currencyId) return undefined;
      const entry = arrivalEntry({ workspaceId, accountId: Number(payee.account_id) }, crossing);
      return { entries: [entry] };
    });
    const posting = await preparePosting(
      this.books,
      proposals.flatMap((proposal) => proposal ?? []),
    );
    return database.transaction({ workspaces }, async (tx) => {
      // Read under the locks of the accounts, which an earlier call of the same key has held.
      const { context, rows } = await lockAndRead(tx, posting, [findArrivals(arrivals)] as const, { skipsLocked });
      const storedAt = new Map(rows[0].map((stored) => [stored.position, stored]));
      const decided = new Map<string, DecidedArrival>();
      const posted: PostedTransaction[] = [];
      const results = arrivals.map((arrival, index): Result => {
        const key = keyOf(arrival);
        const earlier = storedAt.get(index + 1);
        if (earlier) return isSame(arrival.crossing, earlier) ? earlier.outcome : anotherPayment();
        const repeated = decided.get(key);
        if (repeated) return repeated.outcome;
        const proposal = proposals[index];
        if (proposal && !context.hasLocked(proposal)) return 'locked';
        const transaction = proposal && accepted(context, proposal);
        if (transaction) posted.push(transaction);
        const outcome = transaction ? 'accepted' : 'refused';
        decided.set(key, { ...arrival, outcome, transactionId: transaction?.id });
        return outcome;
      });
      await write(tx, posted, insertArrivals([...decided.values()]));
      return results;
    });
  }
}

/** The payee's half; undefined if the account takes no such payment. */
function accepted(context: DecisionContext, proposal: Proposal): PostedTransaction | undefined {
  const [transaction] = decide(context, proposal).posted ?? [];
  return transaction;
}

/** Calls for an account that does not exist have no lock in common. The key refuses the later one, which then finds the earlier. */
const isArrivedMeanwhile = (error: unknown): boolean =>
  error instanceof DatabaseError && error.constraint === 'arrival_pkey';

const keyOf = ({ workspaceId, crossing }: Arrival) =>
  `${workspaceId}/${crossing.originWorkspaceId}/${crossing.originTransactionId}/${crossing.keyNonce}`;

const isSame = (
  crossing: SubmittedCrossing,
  stored: { readonly account_code: string; readonly currency_id: number; readonly amount: bigint },
): boolean =>
  crossing.accountCode === stored.account_code &&
  crossing.currencyId === stored.currency_id &&
  crossing.amount === stored.amount;

/** A programming error: the payer's half never changes. */
const anotherPayment = () => new Error('the key of a crossing has arrived with another payment');
