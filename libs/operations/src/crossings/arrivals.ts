import {
  type Books,
  decide,
  type DecisionContext,
  lockAndRead,
  posting as postingOf,
  type PostedTransaction,
  postingValues,
  preparePosting,
  type Proposal,
} from '@banking/ledger';
import { BatchedCalls, bind, type BoundStatement, compositeOf, DatabaseError, sqlStatement } from '@banking/postgres';
import { arrivalEntry } from '../payments/payment-entries.js';
import type { ArrivalOutcome, SubmittedCrossing } from './crossings.js';

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
      await tx.commit(postArrivals(posted, [...decided.values()]));
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

/** A payment with the workspace of its payee. */
interface Arrival {
  readonly workspaceId: number;
  readonly crossing: SubmittedCrossing;
}

/** An arrival as it is written. */
interface DecidedArrival extends Arrival {
  readonly outcome: ArrivalOutcome;
  /** The payee's half, if it is accepted. */
  readonly transactionId: number | undefined;
}

interface PayeeRow {
  /** In the list, from 1. */
  readonly position: number;
  readonly account_id: bigint;
  readonly currency_id: number;
}

interface ArrivalRow {
  readonly position: number;
  readonly account_code: string;
  readonly currency_id: number;
  readonly amount: bigint;
  readonly outcome: ArrivalOutcome;
}

const FIND_PAYEES = sqlStatement<PayeeRow>(
  'find_payees',
  `select u.position::int, k.account_id, k.currency_id
   from unnest($1::bigint[], $2::text[]) with ordinality u(workspace_id, code, position)
   join account_code k on k.code = u.code and k.workspace_id = u.workspace_id`,
);

/** The limit keeps the subquery one index search for each key. */
const FIND_ARRIVALS = sqlStatement<ArrivalRow>(
  'find_arrivals',
  `select u.position::int, a.account_code, a.currency_id, a.amount, a.outcome
   from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) with ordinality u(workspace_id, origin, transaction, nonce, position)
   cross join lateral (
     select * from arrival r
     where r.workspace_id = u.workspace_id and r.origin_workspace_id = u.origin and r.origin_transaction_id = u.transaction
       and r.key_nonce = u.nonce
     limit 1
   ) a`,
);

const POST_ARRIVALS = postingOf('post_arrivals', '$3::posted_arrival[]');

/** The accounts of the payees, in their workspaces. */
const findPayees = (arrivals: readonly Arrival[]): BoundStatement<PayeeRow> =>
  bind(
    FIND_PAYEES,
    arrivals.map(({ workspaceId }) => workspaceId),
    arrivals.map(({ crossing }) => crossing.accountCode),
  );

/** The arrivals that earlier calls have written. */
const findArrivals = (arrivals: readonly Arrival[]): BoundStatement<ArrivalRow> =>
  bind(FIND_ARRIVALS, ...keyColumns(arrivals));

function postArrivals(
  posted: readonly PostedTransaction[],
  arrivals: readonly DecidedArrival[],
): BoundStatement<unknown>[] {
  if (arrivals.length === 0) return [];
  return [bind(POST_ARRIVALS, ...postingValues(posted), arrivals.map(arrivalValue))];
}

const arrivalValue = ({ workspaceId, crossing, outcome, transactionId }: DecidedArrival): string =>
  compositeOf([
    ...[workspaceId, crossing.originWorkspaceId, crossing.originTransactionId, crossing.keyNonce],
    ...[crossing.accountCode, crossing.currencyId, crossing.amount, outcome, transactionId],
  ]);

const keyColumns = (arrivals: readonly Arrival[]): [number[], number[], number[], string[]] => [
  arrivals.map(({ workspaceId }) => workspaceId),
  arrivals.map(({ crossing }) => crossing.originWorkspaceId),
  arrivals.map(({ crossing }) => crossing.originTransactionId),
  arrivals.map(({ crossing }) => crossing.keyNonce),
];
