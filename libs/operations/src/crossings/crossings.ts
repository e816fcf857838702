import { type MinorUnits, minorUnits } from '@banking/domain';
import {
  type Books,
  decide,
  lockAndRead,
  type PostedTransaction,
  postReturns,
  preparePosting,
  type Proposal,
  requirePosted,
  returnEntries,
} from '@banking/ledger';
import { settlePayments } from '@banking/payouts';
import { BatchedCalls, bind, type Database, lookup, sqlStatement } from '@banking/postgres';
import { type Claim, lockClaims, LostClaimError, type WorkHandler } from '@banking/work-queue';

/** A payment as it is submitted to the database of the payee. The two ids and the nonce are its key: the same at every try. */
export interface SubmittedCrossing {
  readonly originWorkspaceId: number;
  readonly originTransactionId: number;
  readonly keyNonce: string;
  /** Of the account that is paid. */
  readonly accountCode: string;
  readonly currencyId: number;
  readonly amount: MinorUnits;
  /** The type and the text of the payer's transfers. */
  readonly type: string;
  readonly description?: string | undefined;
}

/** Whether the account has the money. Either is final: the key has the same outcome at every later call. */
export type ArrivalOutcome = 'accepted' | 'refused';

/** Submits payments to the databases of their payees. */
export interface CrossingPort {
  /**
   * Submits a payment, once or more often.
   *
   * @throws Refusal `unavailable` if a database is away, or the workspace of the payee is being moved; the outcome is unknown
   */
  arrive(crossing: SubmittedCrossing): Promise<ArrivalOutcome>;
  /** How often a database has answered again after it was away. Tries those that are away. Never throws. */
  returns?(): Promise<number>;
}

/** The kind of work that carries a payment to the database of the payee. */
export const CROSSING = 'crossing';

/** A crossing with its state. */
interface StoredCrossing extends SubmittedCrossing {
  readonly status: 'due' | 'completed' | 'returned';
}

interface CrossingRow {
  /** In the list, from 1. */
  readonly position: number;
  readonly key_nonce: string;
  readonly account_code: string;
  readonly currency_id: number;
  readonly amount: bigint;
  readonly status: StoredCrossing['status'];
  readonly type: string;
  readonly description: string | null;
}

const READ_CROSSINGS = sqlStatement<CrossingRow>(
  'read_crossings',
  `select u.position::int, c.key_nonce, c.account_code, c.currency_id, c.amount, c.status, t.type, t.description
   from unnest($1::bigint[], $2::bigint[]) with ordinality u(workspace_id, transaction_id, position)
   cross join ${lookup('select * from crossing c where c.workspace_id = u.workspace_id and c.transaction_id = u.transaction_id')} c
   cross join ${lookup(`select t.type, t.description from transfer t
     where t.workspace_id = u.workspace_id and t.transaction_id = u.transaction_id and t.direction = 'debit' and t.type <> 'fee'`)} t`,
);

/** Reads the crossing of a claim. Reads at the same time share one statement. @throws Error for a transaction without one */
function crossingReader(database: Database): (claim: Claim) => Promise<StoredCrossing> {
  const reads = new BatchedCalls((claims: readonly Claim[]) => readCrossings(database, claims));
  return async (claim) => {
    const crossing = await reads.call(claim);
    if (!crossing) throw new Error(`transaction ${claim.subjectId} has no crossing`);
    return crossing;
  };
}

async function readCrossings(
  database: Database,
  claims: readonly Claim[],
): Promise<readonly (StoredCrossing | undefined)[]> {
  const workspaces = claims.map(({ workspaceId }) => workspaceId);
  const transactions = claims.map(({ subjectId }) => subjectId);
  const [rows] = await database.pipeline({ workspaces: [...new Set(workspaces)] }, [
    bind(READ_CROSSINGS, workspaces, transactions),
  ] as const);
  const found = new Map(rows.map((row) => [row.position, row]));
  return claims.map(({ workspaceId, subjectId }, index) => {
    const row = found.get(index + 1);
    return (
      row && {
        originWorkspaceId: workspaceId,
        originTransactionId: subjectId,
        keyNonce: row.key_nonce,
        accountCode: row.account_code,
        currencyId: row.currency_id,
        amount: minorUnits(row.amount),
        status: row.status,
        type: row.type,
        description: row.description ?? undefined,
      }
    );
  });
}

/** `locked`: another session has locked the account, and nothing was written. */
type Result = 'recorded' | 'lost' | 'locked' | Error;

/**
 * Records the outcomes of crossings in the database of the payer, under the fences of their claims: an accepted one completes its
 * transaction, a refused one fails it and returns its money. Outcomes at the same time share one database transaction.
 */
class OutcomeRecorder {
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
      await tx.commit(settled([...held], 'completed'));
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
      await tx.commit([...postReturns(posted), ...settled(recorded, 'failed')]);
      return results;
    });
  }
}

const workspacesOf = (claims: readonly Claim[]) => [...new Set(claims.map(({ workspaceId }) => workspaceId))];

/** What the other databases have answered, each under the claim of its crossing. */
const settled = (claims: readonly Claim[], finalStatus: 'completed' | 'failed') =>
  settlePayments(
    claims.map(({ workspaceId, subjectId: transactionId }) => ({ workspaceId, transactionId, finalStatus })),
    'system',
  );

interface CrossingOptions {
  /** Of the payers. */
  readonly books: Books;
  readonly port: CrossingPort;
}

/**
 * The handler of crossings: submits each payment to the database of its payee until that has an outcome, then records the outcome with the
 * payer. No database transaction is open during the call to the other database, and none is in both, so they cannot wait for each other.
 *
 * The payee's database records a refusal before the money is returned here. So a worker that was overtaken cannot submit the payment
 * again after the return.
 */
export function crossingHandler({ books, port }: CrossingOptions): WorkHandler {
  const read = crossingReader(books.database);
  const recorder = new OutcomeRecorder(books);
  return {
    async run(claim) {
      const { status, ...crossing } = await read(claim);
      if (status !== 'due') return 'done';
      await recorder.record(claim, await port.arrive(crossing));
      return 'done';
    },
  };
}
