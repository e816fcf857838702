import { Refusal, RETRY_AFTER_S } from '@banking/domain';
import { accountKey, type Books, customerAccountsOf } from '@banking/ledger';
import { NO_RAILS, type RailRouting } from '@banking/payouts';
import { BatchedCalls, type Database, IdBlocks, type RetryPolicy } from '@banking/postgres';
import { RoundRobin } from '@banking/process';
import type { RateSource } from '@banking/reference';
import { IN_DOUBT_POLICIES, retryInDoubt } from '../idempotency/create-once.js';
import {
  type NamedPayment,
  readPaymentFacts,
  RememberedFacts,
  type VersionedFacts,
} from '../payments/payment-facts.js';
import { openReading, type Reading } from '../resources/reading.js';
import { DueRuns } from './due-runs.js';
import { failure, type HandOver, postOrders } from './post-orders.js';
import { RememberedAccounts } from './remembered-accounts.js';
import {
  hasLimits,
  type OrderMessage,
  type OrderOutcome,
  type PreparedOrder,
  proposalOf,
  traceOrder,
  traceOrderBatch,
} from './prepared-order.js';

/** Carries out prepared orders. @throws Refusal `unavailable` if too many orders wait */
export type OrderSubmitter = Pick<OrderBatcher, 'submit'>;

interface OrderServiceOptions extends HandOver {
  /** Whether orders run by the clocks of their workspaces, which can be moved. Default: by the time of the database. */
  readonly isSandbox?: boolean;
  /** The payment networks of payouts. Default: none, and payouts are refused. */
  readonly rails?: RailRouting | undefined;
  /** Carries out prepared orders. Default: a batcher of its own. */
  readonly batcher?: OrderSubmitter;
  /** How an order whose commit is in doubt is submitted again. Default: for four seconds on average. */
  readonly retryPolicy?: RetryPolicy;
}

/** Batches the reads and writes of all orders that a process places and runs. One for each process. */
export class OrderService {
  readonly database: Database;
  readonly reading: Reading;
  readonly rails: RailRouting;
  private readonly facts: BatchedCalls<NamedPayment, VersionedFacts>;
  readonly remembered = new RememberedFacts();
  readonly dueRuns: DueRuns;
  private readonly batcher: OrderSubmitter;
  private readonly orderIds: IdBlocks;
  private readonly executionIds: IdBlocks;
  private readonly retryPolicy: RetryPolicy;

  constructor(
    books: Books,
    readonly rates: RateSource,
    {
      isSandbox = false,
      rails = NO_RAILS,
      onPlaced,
      reservePayouts,
      batcher,
      retryPolicy = IN_DOUBT_POLICIES.order,
    }: OrderServiceOptions = {},
  ) {
    const { database } = books;
    this.database = database;
    this.reading = openReading(database);
    this.rails = rails;
    this.dueRuns = new DueRuns(database);
    this.retryPolicy = retryPolicy;
    const rememberedAccounts = new RememberedAccounts();
    this.facts = new BatchedCalls((payments: readonly NamedPayment[]) =>
      readPaymentFacts(database, payments, isSandbox),
    );
    this.batcher =
      batcher ??
      new OrderBatcher((orders, waitsForLocks, onDecided) => {
        const { reference } = this.reading;
        const posting = { books, reference, remembered: rememberedAccounts, handOver: { onPlaced, reservePayouts } };
        return postOrders(posting, orders, waitsForLocks, onDecided);
      });
    this.orderIds = new IdBlocks(database, 'customer_order_id_seq');
    this.executionIds = new IdBlocks(database, 'execution_id_seq');
  }

  readFacts(payment: NamedPayment): Promise<VersionedFacts> {
    return this.facts.call(payment);
  }

  /** The ids of an order and its first run. */
  async takeIds(): Promise<{ readonly orderId: number; readonly executionId: number }> {
    const [orderId, executionId] = await Promise.all([take(this.orderIds), take(this.executionIds)]);
    return { orderId, executionId };
  }

  takeExecutionId(): Promise<number> {
    return take(this.executionIds);
  }

  /**
   * Submits an order until its outcome is known. After a connection is lost around COMMIT, the order is submitted again. Its account's
   * lock, which the lost session holds to its end, makes the retry find the order by its id or key, or carry it out.
   *
   * @throws the refusal of the order, or the error that failed it
   * @throws CommitInDoubtError if the retries fail as well: the first attempt may have been committed
   */
  async submit(order: PreparedOrder, signal?: AbortSignal): Promise<OrderOutcome> {
    const submit = async (mayExist: boolean) => {
      const outcome = await this.batcher
        .submit(order.kind === 'placement' && mayExist ? { ...order, mayExist } : order, signal)
        .catch(failure);
      if (outcome.kind === 'refused') throw outcome.refusal;
      if (outcome.kind === 'failed') throw outcome.error;
      return outcome;
    };
    return retryInDoubt(submit, this.retryPolicy, signal);
  }
}

async function take(ids: IdBlocks): Promise<number> {
  await ids.ready(1);
  return ids.take();
}

interface WaitingOrder {
  readonly order: PreparedOrder;
  /** The key of its account. */
  readonly account: string;
  /** The key of the limits of its workspace, if that has some. */
  readonly limits: string | undefined;
  /** The keys of all that it locks: accounts, and the limits. */
  readonly locks: readonly string[];
  readonly resolve: (outcome: OrderOutcome) => void;
  readonly reject: (reason: unknown) => void;
  readonly signal: AbortSignal | undefined;
  /** As it was published; undefined without a subscriber. */
  readonly message: OrderMessage | undefined;
  /** Whether its caller has withdrawn it. It is left out of every batch then. */
  isWithdrawn: boolean;
  /** Whether it is in a running batch. It cannot be withdrawn then. */
  isTaken: boolean;
}

/** Carries out a batch; see `postOrders`. Calls `onDecided` when the batch is decided and the database writes it. */
export type PostBatch = (
  orders: readonly PreparedOrder[],
  waitsForLocks: boolean,
  onDecided: () => void,
) => Promise<readonly OrderOutcome[]>;

/** A larger batch holds its locks for longer and gains no throughput. */
const BATCH_MAX = 64;

/** Less than a second of work. Further orders are refused with `unavailable`. */
const WAITING_MAX = 2_000;

/** One workspace cannot fill the whole queue. */
const WORKSPACE_WAITING_MAX = 1_000;

/** Where commits are slow, one batch is decided while the one before it is committed. More of them would gain no throughput. */
const RUNNING_MAX = 2;

/**
 * Elsewhere one batch runs at a time: the next is larger, and what a batch costs whatever it holds is paid for more orders. On two cores
 * with other load that takes a fifth less CPU time for an order. A commit is slow that takes this much longer than its rows do.
 */
const SLOW_COMMIT_MS = 5;
const ROWS_OF_ORDER_MS = 1;

/** Of the mean of commits, which a single one moves by its part. */
const COMMITS_OF_MEAN = 8;

/** Connections that may wait for accounts that another session has locked. The others stay free. */
const CONTENDED_MAX = 2;

/**
 * Group commit: orders that arrive while a batch is carried out form the next batch. Batches
 * take one order of each workspace in turn, so that a busy workspace delays the others little. Two running batches have no account in
 * common, that of a payee included, so the orders of one account keep their order. Nor have they a workspace with limits in common.
 *
 * An account that another session has locked does not delay the batch. Its orders leave the batch and wait for the account in batches of
 * their own, and those of a workspace whose limits are locked wait for these together. What is contended takes turns as well, batch by
 * batch.
 */
export class OrderBatcher {
  private readonly waiting = new RoundRobin<number, WaitingOrder>();
  /** By account or limits: the orders that have left a batch, and later orders of the same. */
  private readonly contended = new Map<string, WaitingOrder[]>();
  /** What is contended, by workspace. */
  private readonly contendedTurns = new RoundRobin<number, string>();
  private contendedRunners = 0;
  private waitingCount = 0;
  private readonly waitingOf = new Map<number, number>();
  /** What the running batches lock. */
  private readonly runningLocks = new Set<string>();
  private runningBatches = 0;
  /** Whether a batch is being decided. */
  private isDeciding = false;
  /** How much longer commits take than their rows, in a moving mean. */
  private commitExcessMs = 0;

  constructor(
    private readonly postBatch: PostBatch,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /**
   * @param signal withdraws the order while it waits; an order of a running batch has its outcome
   * @throws Refusal `unavailable` if too many orders wait; nothing was done
   * @throws the reason of the signal if the order was withdrawn; nothing was done
   */
  submit(order: PreparedOrder, signal?: AbortSignal): Promise<OrderOutcome> {
    return traceOrder(order.kind, (message) => this.wait(order, signal, message));
  }

  private async wait(order: PreparedOrder, signal: AbortSignal | undefined, message: OrderMessage | undefined) {
    const { workspaceId } = order;
    const ofWorkspace = this.waitingOf.get(workspaceId) ?? 0;
    if (this.waitingCount >= WAITING_MAX || ofWorkspace >= WORKSPACE_WAITING_MAX) {
      throw new Refusal('unavailable', 'Too many orders are waiting. Retry later.', {
        retryAfterSeconds: RETRY_AFTER_S,
      });
    }
    if (signal?.aborted) throw signal.reason as Refusal;
    this.waitingCount += 1;
    this.waitingOf.set(workspaceId, ofWorkspace + 1);
    let withdraw: () => void = () => undefined;
    try {
      return await new Promise<OrderOutcome>((resolve, reject) => {
        const limits = hasLimits(order) ? `limits of ${workspaceId}` : undefined;
        const keys = { account: accountOf(order), limits, locks: [...accountsOf(order), ...(limits ? [limits] : [])] };
        const state = { isWithdrawn: false, isTaken: false };
        const waiting: WaitingOrder = { order, ...keys, resolve, reject, signal, message, ...state };
        withdraw = () => withdrawUnlessTaken(waiting);
        signal?.addEventListener('abort', withdraw, { once: true });
        this.enqueue(waiting);
      });
    } finally {
      signal?.removeEventListener('abort', withdraw);
      this.waitingCount -= 1;
      const left = (this.waitingOf.get(workspaceId) ?? 1) - 1;
      if (left > 0) this.waitingOf.set(workspaceId, left);
      else this.waitingOf.delete(workspaceId);
    }
  }

  private enqueue(waiting: WaitingOrder): void {
    const { account, limits } = waiting;
    const queue = this.contended.get(account) ?? (limits === undefined ? undefined : this.contended.get(limits));
    if (queue) {
      queue.push(waiting);
      return;
    }
    this.waiting.push(waiting.order.workspaceId, waiting);
    // Deferred, so that orders of the same turn of the event loop are in one batch.
    if (this.mayDecide) setImmediate(() => this.decideNext());
  }

  private get mayDecide(): boolean {
    const runningMax = this.commitExcessMs > SLOW_COMMIT_MS ? RUNNING_MAX : 1;
    return !this.isDeciding && this.runningBatches < runningMax && !this.waiting.isEmpty;
  }

  /** Begins the next batch, if there is one and another may run. */
  private decideNext(): void {
    if (!this.mayDecide) return;
    // An account of which an order has to wait: its later orders do not overtake that one.
    const passedOver = new Set<string>();
    const isFree = ({ account, locks }: WaitingOrder) => {
      if (!passedOver.has(account) && !locks.some((lock) => this.runningLocks.has(lock))) return true;
      passedOver.add(account);
      return false;
    };
    const batch = takeBatch(() => this.waiting.shift(isFree));
    if (batch.length > 0) void this.runBatch(batch);
  }

  private async runBatch(batch: readonly WaitingOrder[]): Promise<void> {
    const locks = new Set(batch.flatMap((waiting) => waiting.locks));
    for (const lock of locks) this.runningLocks.add(lock);
    this.runningBatches += 1;
    this.isDeciding = true;
    let decidedAt: number | undefined;
    const onDecided = () => {
      // A batch may be decided again: the last time it is committed.
      const isFirst = decidedAt === undefined;
      decidedAt = this.now();
      if (!isFirst) return;
      this.isDeciding = false;
      this.decideNext();
    };
    const locked = await this.carryOut(batch, false, onDecided);
    // A batch that wrote nothing was not committed.
    if (decidedAt !== undefined) {
      const excessMs = Math.max(0, this.now() - decidedAt - ROWS_OF_ORDER_MS * batch.length);
      this.commitExcessMs += (excessMs - this.commitExcessMs) / COMMITS_OF_MEAN;
    }
    locked.forEach(({ waiting, lock }) => this.moveToContended(waiting, lock));
    for (const lock of new Set(locked.map(({ lock }) => lock))) this.followContended(lock);
    for (const lock of locks) this.runningLocks.delete(lock);
    this.runningBatches -= 1;
    onDecided();
    this.decideNext();
  }

  /** Returns the orders that another session's lock kept from being decided, each with the key of the lock. */
  private async carryOut(
    batch: readonly WaitingOrder[],
    waitsForLocks: boolean,
    onDecided: () => void = () => undefined,
  ): Promise<{ readonly waiting: WaitingOrder; readonly lock: string }[]> {
    if (batch.length === 0) return [];
    const orders = batch.map(({ order }) => order);
    const outcomes = await traceOrderBatch(batch, waitsForLocks, () =>
      this.postBatch(orders, waitsForLocks, onDecided),
    ).catch((error: Error) => orders.map(() => failure(error)));
    return batch.flatMap((waiting, index) => {
      const outcome = outcomes[index] ?? failure(new Error('a batch returned no outcome for an order'));
      if (outcome.kind !== 'locked') {
        waiting.resolve(outcome);
        return [];
      }
      waiting.isTaken = false;
      if (waiting.signal?.aborted) withdrawUnlessTaken(waiting);
      const { account, limits = account } = waiting;
      return waiting.isWithdrawn ? [] : [{ waiting, lock: outcome.by === 'limits' ? limits : account }];
    });
  }

  private moveToContended(waiting: WaitingOrder, lock: string): void {
    const queue = this.contended.get(lock);
    if (queue) {
      queue.push(waiting);
      return;
    }
    this.contended.set(lock, [waiting]);
    this.contendedTurns.push(waiting.order.workspaceId, lock);
    if (this.contendedRunners >= CONTENDED_MAX) return;
    this.contendedRunners += 1;
    setImmediate(() => void this.runContended());
  }

  /** Later orders of a contended account, or of contended limits, follow those that left a batch. */
  private followContended(lock: string): void {
    const isOfLock = ({ account, limits }: WaitingOrder) => account === lock || limits === lock;
    for (let next = this.waiting.shift(isOfLock); next; next = this.waiting.shift(isOfLock)) {
      this.moveToContended(next, lock);
    }
  }

  /** Takes one batch of an account or of limits, then the next. A wait that times out fails that batch alone. */
  private async runContended(): Promise<void> {
    for (let lock = this.contendedTurns.shift(); lock !== undefined; lock = this.contendedTurns.shift()) {
      const orders = this.contended.get(lock) ?? [];
      const batch = takeBatch(() => orders.shift());
      orders.unshift(...(await this.carryOut(batch, true)).map(({ waiting }) => waiting));
      const [next] = orders;
      if (next) this.contendedTurns.push(next.order.workspaceId, lock);
      else this.contended.delete(lock);
    }
    this.contendedRunners -= 1;
  }
}

function withdrawUnlessTaken(waiting: WaitingOrder): void {
  if (waiting.isTaken) return;
  waiting.isWithdrawn = true;
  waiting.reject(waiting.signal?.reason);
}

/** The next orders that have not been withdrawn. */
function takeBatch(next: () => WaitingOrder | undefined): WaitingOrder[] {
  const batch: WaitingOrder[] = [];
  while (batch.length < BATCH_MAX) {
    const waiting = next();
    if (!waiting) break;
    // Asked too, because the event may come late.
    if (waiting.signal?.aborted) withdrawUnlessTaken(waiting);
    if (waiting.isWithdrawn) continue;
    waiting.isTaken = true;
    batch.push(waiting);
  }
  return batch;
}

/** An order without an account locks none. */
const accountOf = ({ workspaceId, accountId }: PreparedOrder): string =>
  accountId === undefined ? `${workspaceId}/` : accountKey(workspaceId, accountId);

const accountsOf = (order: PreparedOrder): string[] =>
  customerAccountsOf(proposalOf(order)).map((account) => accountKey(account.workspaceId, account.accountId));
