import { orderRead } from '../get-order.js';
import { type Created, type Order, type OrderName, Refusal } from '@banking/domain';
import { preparePosting, type Books, type Entry, type Outcome, type PostedTransaction } from '@banking/ledger';
import { DatabaseError } from '@banking/postgres';
import {
  answerOrders,
  asOrder,
  findAnswers,
  keyGate,
  type KeptAnswer,
  type OrderKey,
  type Replay,
} from './order-answers.js';
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
  /** Somebody else holds an account it touches: nothing was decided. */
  | { readonly kind: 'locked' };

/**
 * Carries out orders in one database transaction of two flights: accounts locked and keys read, orders decided one by one in their
 * order, everything written with one statement a table, committed. An outcome for each, in their order.
 *
 * What the database objects to is replayed one by one, and is then that order's alone.
 *
 * @param waits whether to wait for accounts that somebody else holds, or to leave their orders out
 * @throws Refusal `unavailable`, or CommitInDoubtError, for all of them
 */
export async function postOrders(books: Books, orders: readonly ReadyOrder[], waits: boolean): Promise<OrderOutcome[]> {
  try {
    return await postTogether(books, orders, waits);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const [only, ...others] = orders;
    if (only && others.length === 0) return [await fateOf(books, only, error)];
  }
  const outcomes: OrderOutcome[] = [];
  for (const order of orders) {
    outcomes.push(...(await postOrders(books, [order], waits).catch((error: Error) => [failure(error)])));
  }
  return outcomes;
}

async function postTogether(books: Books, orders: readonly ReadyOrder[], waits: boolean): Promise<OrderOutcome[]> {
  const { workspaces, finish } = await preparePosting(
    books,
    orders.map(({ workspaceId, accountId, entries }) => ({
      entries,
      ...(accountId !== undefined && { holds: { workspaceId, accountId } }),
    })),
  );
  const keyed = [...orders.entries()].flatMap(([index, { key }]) => (key ? [{ index, key }] : []));
  const replays = new Map<number, Replay>();
  const answering = new Map<number, number>();
  const all = [...new Set([...workspaces, ...orders.map(({ workspaceId }) => workspaceId)])];

  const { outcomes, rows } = await books.database.transaction({ workspaces: all }, (tx) =>
    finish(tx, {
      skipsLocked: !waits,
      reads: keyed.length > 0 ? [findAnswers(keyed.map(({ key }) => key))] : [],
      gate: ([found = []]) => {
        const keys = orders.map(({ key }) => key);
        const kept = new Map((found as KeptRow[]).map((row) => [keyed[row.place]!.index, row]));
        const isFree = keyGate(keys, kept, replays);
        return (index, before) => {
          const refusal = orders[index]?.refusal;
          return isFree(index, before) ?? (refusal && { refused: refusal });
        };
      },
      alongside: (decided) => {
        const sheets = decided.flatMap((outcome, index) => sheetOf(orders[index]!, outcome) ?? []);
        const placed = decided.flatMap(({ posted }, index) => {
          const { workspaceId, placedId, key } = orders[index]!;
          if (!posted || placedId === undefined) return [];
          answering.set(index, answering.size);
          return [{ workspaceId, orderId: placedId, key }];
        });
        return [...writeSheets(sheets), ...answerOrders(placed)];
      },
    }),
  );

  const answers = (answering.size > 0 ? (rows.at(-1) ?? []) : []) as readonly { readonly resource: string }[];
  const answerAt = (index: number, isReplay: boolean): OrderOutcome => {
    const place = answering.get(index);
    const text = place === undefined ? undefined : answers[place]?.resource;
    if (text === undefined) return place === undefined ? { kind: 'run' } : failure(new Error('an order without its answer')); // prettier-ignore
    return { kind: 'answered', answer: { resource: asOrder(text), isReplay } };
  };
  return outcomes.map((outcome, index): OrderOutcome => {
    if (outcome.refused) return { kind: 'refused', refusal: outcome.refused };
    if (outcome.failed) return failure(outcome.failed);
    if (outcome.leftOut === 'locked') return { kind: 'locked' };
    const replay = replays.get(index);
    if (!replay) return answerAt(index, false);
    if ('earlier' in replay) return answerAt(replay.earlier, true);
    return { kind: 'answered', answer: { resource: asOrder(replay.kept), isReplay: true } };
  });
}

type KeptRow = KeptAnswer & { readonly place: number };

function sheetOf(order: ReadyOrder, { posted, refused }: Outcome): OrderSheet | undefined {
  if (posted) return order.sheet(posted);
  return refused && order.refusalSheet?.(refused);
}

const failure = (error: Error): OrderOutcome =>
  error instanceof Refusal ? { kind: 'refused', refusal: error } : { kind: 'failed', error };

/** The walls that stand for a rule which was looked at before the locks, and has become untrue since. */
const WALLS: Readonly<Record<string, () => Refusal>> = {
  customer_order_reference: () => new Refusal('external_reference_reused'),
  quote_use_pkey: () => new Refusal('quote_used'),
  BK007: () => new Refusal('quote_expired'),
};

/** What a database that objects to the only order says of it. What is refused may still have to be written. */
async function fateOf(books: Books, order: ReadyOrder, error: DatabaseError): Promise<OrderOutcome> {
  if (error.constraint === 'customer_order_pkey' && order.placedId !== undefined) return placedBefore(books, order, order.placedId); // prettier-ignore
  const refusal = (WALLS[error.constraint ?? ''] ?? WALLS[error.code ?? ''])?.();
  if (!refusal) return { kind: 'failed', error };
  if (!order.refusalSheet) return { kind: 'refused', refusal };
  const [outcome] = await postOrders(books, [{ ...order, refusal }], true);
  return outcome ?? { kind: 'failed', error };
}

/** An order whose number is taken was placed by an attempt whose answer was lost: nobody else has the number. */
async function placedBefore(
  { database }: Books,
  { workspaceId, accountId }: ReadyOrder,
  orderId: number,
): Promise<OrderOutcome> {
  const name = { accountId, orderId } as OrderName;
  const row = await database.read({ workspaces: [workspaceId] }, orderRead(workspaceId, name));
  if (!row) return { kind: 'failed', error: new Error(`order ${orderId} is another account's`) };
  return { kind: 'answered', answer: { resource: row.resource, isReplay: false } };
}
