import { isIdempotencyKey, type Created, type Intent, type Order, type OrderWish, Refusal, type UserId, type WorkspaceId } from '@banking/domain'; // prettier-ignore
import type { Books } from '@banking/ledger';
import { CommitInDoubtError, DatabaseError, IdBlocks, type Bound, type Database } from '@banking/postgres';
import type { RateSource } from '../rates/rate-source.js';
import { OrderLane } from './order-lane.js';
import { type NamedPayment, type PaymentFacts, readPaymentFacts } from './payment-facts.js';
import { orderKey, readWish } from './read-wish.js';
import { type OrderOutcome, postOrders, type ReadyOrder } from './post-orders.js';
import { readyOrder } from './ready-order.js';
import { isPassing, namedBy, readRun, readyRun } from './run-execution.js';
import { ReadingTogether } from './reading-together.js';

/** Carries out what is ready. @throws Refusal `unavailable` where there is too much to do */
export type Lane = Pick<OrderLane, 'submit'>;

export interface OrderDeskOptions {
  /** Whether orders run by the clocks of their workspaces, which can be moved. Default: by the real time. */
  readonly isSandbox?: boolean;
  /** How what is ready is carried out. Default: together with what arrives at the same time. */
  readonly lane?: Lane;
}

/** Where orders are placed and run: one of each process, since what arrives together is carried out together. */
export class OrderDesk {
  private readonly facts: ReadingTogether<NamedPayment, PaymentFacts>;
  private readonly lane: Lane;
  private readonly orderIds: IdBlocks;
  private readonly executionIds: IdBlocks;

  private readonly database: Database;

  constructor(
    books: Books,
    private readonly rates: RateSource,
    { isSandbox = false, lane }: OrderDeskOptions = {},
  ) {
    const { database } = books;
    this.database = database;
    this.facts = new ReadingTogether((payments) => readPaymentFacts(database, payments, isSandbox));
    this.lane = lane ?? new OrderLane((orders, waits) => postOrders(books, orders, waits));
    this.orderIds = new IdBlocks(database, 'customer_order_id_seq');
    this.executionIds = new IdBlocks(database, 'execution_id_seq');
  }

  /** Places an order. @throws Refusal as the port's `placeOrder` says */
  async place(
    { workspaceId, actor }: { readonly workspaceId: WorkspaceId; readonly actor: UserId | undefined },
    wish: OrderWish,
    { idempotencyKey: key }: Intent,
  ): Promise<Created<Order>> {
    const draft = readWish(wish);
    if (key !== undefined && !isIdempotencyKey(key)) throw new Refusal('idempotency_key_invalid');
    const { accountId, recipientID: recipientId, quoteID: quoteId, externalReference } = wish;
    const facts = await this.facts.ask({ workspaceId, accountId, recipientId, quoteId, externalReference });
    const [orderId, executionId] = await Promise.all([take(this.orderIds), take(this.executionIds)]);

    const ids = { workspaceId, orderId, executionId, placedBy: actor };
    const ready: ReadyOrder = {
      ...(await readyOrder(draft, ids, facts, this.rates)),
      key: key === undefined ? undefined : orderKey(workspaceId, key, wish),
    };
    const outcome = await this.settle(ready);
    if (outcome.kind === 'answered') return outcome.answer;
    if (outcome.kind === 'refused') throw outcome.refusal;
    throw outcome.kind === 'failed' ? outcome.error : new Error('an order was placed without an answer');
  }

  /**
   * Carries out a run that is due. Whatever is there to be decided is decided by then: a run that is refused has failed.
   *
   * @param hold the first of its writes, by which whoever does the work says so
   * @throws Refusal `unavailable`, `rate_unavailable`: it is to be tried again
   */
  async run(workspaceId: number, executionId: number, hold: Bound<unknown>): Promise<void> {
    const run = await readRun(this.database, workspaceId, executionId);
    if (!run) return;
    const facts = await this.facts.ask(namedBy(run));
    const ready = await readyRun(run, await take(this.executionIds), facts, this.rates, hold);
    const outcome = await this.settle(ready);
    if (outcome.kind === 'failed' && !wasOvertaken(outcome.error)) throw outcome.error;
    if (outcome.kind === 'refused' && isPassing(outcome.refusal)) throw outcome.refusal;
  }

  /**
   * A connection that is lost around COMMIT leaves in doubt whether the batch has happened. Each of it asks again, behind the lock of
   * its account, where there is no doubt any more: it is answered by its key, or found by its id, or carried out now.
   */
  private async settle(ready: ReadyOrder): Promise<OrderOutcome> {
    try {
      return await this.lane.submit(ready);
    } catch (error) {
      if (!(error instanceof CommitInDoubtError)) throw error;
      return this.lane.submit(ready);
    }
  }
}

async function take(ids: IdBlocks): Promise<number> {
  await ids.ready(1);
  return ids.take();
}

/** The run or its order has stepped on meanwhile, carried out by somebody else or cancelled: the database said so, and wrote nothing. */
const wasOvertaken = (error: Error): boolean => error instanceof DatabaseError && error.code === 'BK004';
