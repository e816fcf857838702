import { type Created, type Order, Refusal } from '@banking/domain';
import { preparePosting, type Books, type Entry, type Outcome, type PostedTransaction } from '@banking/ledger';
import type { Claim } from '@banking/payouts';
import { bisect, DatabaseError } from '@banking/postgres';
import { type Answers, lockedChecks } from './locked-checks.js';
import { answerOrders, asOrder, type OrderKey } from './order-answers.js';
import { writeSheets, type OrderSheet } from './order-rows.js';

/** An order, or a run of one, made ready: all is known of it that needs no lock. */
export interface ReadyOrder {
  readonly workspaceId: number;
  /** Locked also where nothing is posted; left out where there is no such account. */
  readonly accountId?: number | undefined;
  /** What is posted now: nothing for an order that runs later. */
  readonly entries: readonly Entry[];
  /** Why it cannot be carried out, known before the books were asked. An answer that is kept comes before it. */
  readonly refusal?: Refusal | undefined;
  readonly key?: OrderKey | undefined;
  /** Of an order that is placed: it is answered with what was written. */
  readonly placedId?: number | undefined;
  /** Whether an earlier attempt may have been committed: the order is looked up by its id before anything is decided. */
  readonly mayExist?: boolean;
  /** What it refers to that serves one order only. */
  readonly unique?: { readonly externalReference?: string | undefined; readonly quoteId?: number | undefined };
  /** Of a run: it is carried out by the holder of its claim, while its order is active. */
  readonly run?: { readonly claim: Claim; readonly orderId: number };
  /** What is written with the money. */
  sheet(posted: readonly PostedTransaction[]): OrderSheet;
  /** What is written of a refusal; nothing where the caller is told instead. */
  refusalSheet?(refusal: Refusal): OrderSheet;
}

/** What became of it. */
export type OrderOutcome =
  | { readonly kind: 'answered'; readonly answer: Created<Order> }
  | { readonly kind: 'run' }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'failed'; readonly error: Error }
  /** Another session has locked an account it touches: nothing was decided. */
  | { readonly kind: 'locked' };

/**
 * Carries out orders in one database transaction of two flights: accounts locked and, behind them, what may have changed since an order
 * was prepared read again; orders decided one by one in their order, everything written with one statement a table, committed. An
 * outcome for each, in their order.
 *
 * A batch that the database rejects is carried out in halves until what it rejects stands alone. After a lost connection the outcome of
 * each is `failed` with the CommitInDoubtError or refused as `unavailable`.
 *
 * @param waits whether to wait for accounts that another session has locked, or to leave their orders out
 */
export async function postOrders(
  books: Books,
  orders: readonly ReadyOrder[],
  waits: boolean,
): Promise<readonly OrderOutcome[]> {
  return bisect<ReadyOrder, OrderOutcome>(
    orders,
    (some) => postTogether(books, some, waits),
    (order, error) => (error instanceof DatabaseError ? rejected(books, order, error) : failure(error)),
  );
}

async function postTogether(books: Books, orders: readonly ReadyOrder[], waits: boolean): Promise<OrderOutcome[]> {
  const { workspaces, finish } = await preparePosting(
    books,
    orders.map(({ workspaceId, accountId, entries }) => ({
      entries,
      ...(accountId !== undefined && { holds: { workspaceId, accountId } }),
    })),
  );
  const all = [...new Set([...workspaces, ...orders.map(({ workspaceId }) => workspaceId)])];

  return books.database.transaction({ workspaces: all }, async (tx) => {
    const answers: Answers = new Map();
    /** The orders that were written, by their place in the batch: the place of their row among the responses. */
    const placed = new Map<number, number>();
    const { reads, gate } = lockedChecks(orders, waits, answers);
    const { outcomes, rows } = await finish(tx, {
      skipsLocked: !waits,
      reads,
      gate,
      alongside: (decided) => {
        const sheets = decided.flatMap((outcome, index) => sheetOf(orders[index]!, outcome) ?? []);
        const answerable = decided.flatMap(({ posted }, index) => {
          const { workspaceId, placedId, key } = orders[index]!;
          if (!posted || placedId === undefined) return [];
          placed.set(index, placed.size);
          return [{ workspaceId, orderId: placedId, key }];
        });
        return [...writeSheets(sheets), ...answerOrders(answerable)];
      },
    });

    const written = (placed.size > 0 ? (rows.at(-1) ?? []) : []) as readonly { readonly resource: string }[];
    const responseOf = (index: number, isReplay: boolean): OrderOutcome => {
      const row = written[placed.get(index) ?? -1];
      if (row) return { kind: 'answered', answer: { resource: asOrder(row.resource), isReplay } };
      return placed.has(index) ? failure(new Error('an order without its response')) : { kind: 'run' };
    };
    return outcomes.map((outcome, index): OrderOutcome => {
      if (outcome.refused) return { kind: 'refused', refusal: outcome.refused };
      if (outcome.failed) return failure(outcome.failed);
      if (outcome.leftOut === 'locked') return { kind: 'locked' };
      const answer = answers.get(index);
      if (answer === undefined) return responseOf(index, false);
      if ('index' in answer) return responseOf(answer.index, true);
      return { kind: 'answered', answer: { resource: asOrder(answer.text), isReplay: answer.isReplay } };
    });
  });
}

function sheetOf(order: ReadyOrder, { posted, refused }: Outcome): OrderSheet | undefined {
  if (posted) return order.sheet(posted);
  return refused && order.refusalSheet?.(refused);
}

export const failure = (error: Error): OrderOutcome =>
  error instanceof Refusal ? { kind: 'refused', refusal: error } : { kind: 'failed', error };

/** The constraints that stand for a rule which held behind the locks, and was broken by another process before the commit. */
const CONSTRAINTS: Readonly<Record<string, () => Refusal>> = {
  customer_order_reference: () => new Refusal('external_reference_reused'),
  quote_use_pkey: () => new Refusal('quote_used'),
  BK007: () => new Refusal('quote_expired'),
};

/** What a database that rejects the only order says of it. A refusal may still have to be recorded. */
async function rejected(books: Books, order: ReadyOrder, error: DatabaseError): Promise<OrderOutcome> {
  const refusal = (CONSTRAINTS[error.constraint ?? ''] ?? CONSTRAINTS[error.code ?? ''])?.();
  if (!refusal) return { kind: 'failed', error };
  if (!order.refusalSheet) return { kind: 'refused', refusal };
  const [outcome] = await postOrders(books, [{ ...order, refusal }], true);
  return outcome ?? { kind: 'failed', error };
}
