import { setTimeout as pause } from 'node:timers/promises';
import { isIdempotencyKey, type Created, type Intent, type Order, type OrderWish, Refusal, type RefusalReason, type UserId, type WorkspaceId } from '@banking/domain'; // prettier-ignore
import type { Books } from '@banking/ledger';
import { holdWork, isPassingFailure, type Claim } from '@banking/payouts';
import { CommitInDoubtError, IdBlocks, type Database } from '@banking/postgres';
import type { RateSource } from '../rates/rate-source.js';
import { OrderLane } from './order-lane.js';
import { isPauseRequired, pauseOrder } from './pause-order.js';
import { type NamedPayment, type PaymentFacts, readPaymentFacts } from './payment-facts.js';
import { orderKey, readWish } from './read-wish.js';
import { failure, type OrderOutcome, postOrders, type ReadyOrder } from './post-orders.js';
import { readyOrder } from './ready-order.js';
import { namedBy, readRun, readyRun } from './run-execution.js';
import { ReadingTogether } from './reading-together.js';

/** Carries out what is ready. @throws Refusal `unavailable` where there is too much to do */
export type Lane = Pick<OrderLane, 'submit'>;

export interface OrderDeskOptions {
  /** Whether orders run by the clocks of their workspaces, which can be moved. Default: by the real time. */
  readonly isSandbox?: boolean;
  /** How what is ready is carried out. Default: together with what arrives at the same time. */
  readonly lane?: Lane;
  /** The pauses before an order whose outcome is unknown is looked for. Default: four seconds in all. */
  readonly resubmitAfterMs?: readonly number[];
}

/** Who places an order, where, and until when it may wait. */
interface PlacingScope {
  readonly workspaceId: WorkspaceId;
  readonly actor: UserId | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A server that restarts is back within this time, usually; the caller's own deadline is longer. */
const RESUBMIT_AFTER_MS: readonly number[] = [0, 250, 500, 1_000, 2_000];

/** A pause, a resumption and a rejection may each overtake a run once. */
const RUN_TRIES_MAX = 5;

/** Where orders are placed and run: one of each process, since what arrives together is carried out together. */
export class OrderDesk {
  private readonly facts: ReadingTogether<NamedPayment, PaymentFacts>;
  private readonly lane: Lane;
  private readonly orderIds: IdBlocks;
  private readonly executionIds: IdBlocks;

  private readonly database: Database;
  private readonly resubmitAfterMs: readonly number[];

  constructor(
    books: Books,
    private readonly rates: RateSource,
    { isSandbox = false, lane, resubmitAfterMs = RESUBMIT_AFTER_MS }: OrderDeskOptions = {},
  ) {
    const { database } = books;
    this.database = database;
    this.resubmitAfterMs = resubmitAfterMs;
    this.facts = new ReadingTogether((payments) => readPaymentFacts(database, payments, isSandbox));
    this.lane = lane ?? new OrderLane((orders, waits) => postOrders(books, orders, waits));
    this.orderIds = new IdBlocks(database, 'customer_order_id_seq');
    this.executionIds = new IdBlocks(database, 'execution_id_seq');
  }

  /**
   * Places an order. One that still waits when `signal` is aborted is withdrawn: nothing of it is done.
   *
   * @throws Refusal as the port's `placeOrder` says
   */
  async place(
    { workspaceId, actor, signal }: PlacingScope,
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
    const outcome = await this.settle(ready, signal);
    if (outcome.kind === 'answered') return outcome.answer;
    if (outcome.kind === 'refused') throw outcome.refusal;
    throw outcome.kind === 'failed' ? outcome.error : new Error('an order was placed without an answer');
  }

  /**
   * Carries out a run that is due, for the holder of its claim. Whatever is there to be decided is decided by then: a run that is refused
   * has failed. Nothing is done for a run that is over, or whose claim is another's by now. A run of an order whose payouts were rejected
   * three times in a row is parked instead, and the order is paused.
   *
   * @throws Refusal `unavailable`, `rate_unavailable`, `outcome_unknown`: it is to be tried again
   */
  async run(claim: Claim): Promise<void> {
    for (let tried = 1; tried <= RUN_TRIES_MAX; tried += 1) if (await this.tryRun(claim)) return;
    throw new Error('an order was paused and resumed again and again while it ran');
  }

  /** Returns false where the order was paused, resumed or rejected once more while this was decided: it is to be decided again. */
  private async tryRun(claim: Claim): Promise<boolean> {
    const { workspaceId, subjectId: executionId } = claim;
    const run = await readRun(this.database, workspaceId, executionId);
    if (!run) return true;
    if (run.isPaused) return pauseOrder(this.database, claim, run.orderId);
    const facts = await this.facts.ask(namedBy(run));
    const ready = await readyRun(run, await take(this.executionIds), facts, this.rates, holdWork(claim));
    const outcome = await this.settle({ ...ready, run: { claim, orderId: run.orderId } });
    if (outcome.kind === 'failed' && isPauseRequired(outcome.error)) return false;
    if (outcome.kind === 'failed') throw outcome.error;
    if (outcome.kind === 'refused' && isPassingFailure(outcome.refusal)) throw outcome.refusal;
    return true;
  }

  /**
   * Submits an order until its outcome is known. A connection that is lost around COMMIT leaves in doubt whether the batch was committed:
   * each of its orders is submitted again. Behind the lock of its account, which the lost session held to its end, it is found by its id
   * or its key, or carried out now.
   *
   * @throws CommitInDoubtError where that fails as well: the first attempt may have been committed
   */
  private async settle(ready: ReadyOrder, signal?: AbortSignal): Promise<OrderOutcome> {
    const submit = (order: ReadyOrder) => this.lane.submit(order, signal).catch(failure);
    const first = await submit(ready);
    const doubt = undecided(first);
    if (!(doubt instanceof CommitInDoubtError)) return first;
    for (const afterMs of this.resubmitAfterMs) {
      await pause(afterMs);
      if (signal?.aborted) break;
      const outcome = await submit({ ...ready, mayExist: true });
      if (!undecided(outcome)) return outcome;
    }
    throw doubt;
  }
}

/** Why a submission decided nothing. A refusal of the order itself is a decision. */
function undecided(outcome: OrderOutcome): Error | undefined {
  if (outcome.kind === 'failed') return outcome.error;
  return outcome.kind === 'refused' && UNDECIDED.has(outcome.refusal.reason) ? outcome.refusal : undefined;
}

const UNDECIDED: ReadonlySet<RefusalReason> = new Set(['unavailable', 'outcome_unknown']);

async function take(ids: IdBlocks): Promise<number> {
  await ids.ready(1);
  return ids.take();
}
