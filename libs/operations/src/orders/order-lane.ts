import { Refusal } from '@banking/domain';
import { failure, type OrderOutcome, type ReadyOrder } from './post-orders.js';
import { RoundRobin } from './round-robin.js';

interface Waiting {
  readonly order: ReadyOrder;
  readonly resolve: (outcome: OrderOutcome) => void;
  readonly reject: (reason: unknown) => void;
  readonly signal: AbortSignal | undefined;
  /** Withdrawn by its caller while it waited: it is left out of every batch. */
  isWithdrawn: boolean;
  /** Part of a batch that is being carried out: too late to withdraw it. */
  isTaken: boolean;
}

/** How orders are carried out together; see `postOrders`. */
export type PostTogether = (orders: readonly ReadyOrder[], waits: boolean) => Promise<readonly OrderOutcome[]>;

/** A batch is written with one statement a table: larger ones hold their locks for longer and gain no more. */
const BATCH_MAX = 64;
/** At several thousand a second this is a part of a second's work; who comes then is told to come again. */
const WAITING_MAX = 2_000;
/** One workspace leaves room for the others. */
const WORKSPACE_WAITING_MAX = 1_000;
/** Connections that may wait for accounts which another session has locked, so that the others stay free. */
const CONTENDED_MAX = 2;
const BUSY_RETRY_S = 1;

/**
 * Group commit: orders that arrive while a commit is on its way form the next batch. Workspaces take turns, one order each, so that
 * a busy one delays the others by its share alone; the orders of one workspace keep their order.
 *
 * An account that another session has locked does not stall the batch: its orders leave it, and wait for the account beside it, a batch
 * of one account at a time. Contended accounts take turns as well, batch by batch, so that a busy one does not keep the others waiting.
 */
export class OrderLane {
  private readonly waiting = new RoundRobin<number, Waiting>();
  /** By account: the orders that have left a batch, and those that came after them. */
  private readonly contended = new Map<string, Waiting[]>();
  /** The contended accounts by workspace. */
  private readonly contendedTurns = new RoundRobin<number, string>();
  private contendedRunners = 0;
  private waitingCount = 0;
  private readonly waitingOf = new Map<number, number>();
  private isRunning = false;

  constructor(private readonly post: PostTogether) {}

  /**
   * @param signal withdraws the order while it waits; once it is being carried out, its outcome is waited for
   * @throws Refusal `unavailable` where too many wait already, and the reason of the signal for an order that was withdrawn; nothing has
   *   happened
   */
  async submit(order: ReadyOrder, signal?: AbortSignal): Promise<OrderOutcome> {
    const { workspaceId } = order;
    const ofWorkspace = this.waitingOf.get(workspaceId) ?? 0;
    if (this.waitingCount >= WAITING_MAX || ofWorkspace >= WORKSPACE_WAITING_MAX) {
      throw new Refusal('unavailable', 'Too many orders wait at the moment.', { retryAfterSeconds: BUSY_RETRY_S });
    }
    signal?.throwIfAborted();
    this.waitingCount += 1;
    this.waitingOf.set(workspaceId, ofWorkspace + 1);
    let withdraw: () => void = () => undefined;
    try {
      return await new Promise<OrderOutcome>((resolve, reject) => {
        const waiting: Waiting = { order, resolve, reject, signal, isWithdrawn: false, isTaken: false };
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

  private enqueue(waiting: Waiting): void {
    const behind = this.contended.get(accountOf(waiting));
    if (behind) {
      behind.push(waiting);
      return;
    }
    this.waiting.push(waiting.order.workspaceId, waiting);
    if (this.isRunning) return;
    this.isRunning = true;
    // Not at once: who comes in the same turn of the loop is in the same batch.
    setImmediate(() => void this.run());
  }

  private async run(): Promise<void> {
    while (!this.waiting.isEmpty) {
      const batch = takeBatch(() => this.waiting.shift());
      for (const left of await this.carryOut(batch, false)) this.setAside(left);
    }
    this.isRunning = false;
  }

  /** Answers those that are left because another session has locked what they need. */
  private async carryOut(batch: readonly Waiting[], waits: boolean): Promise<Waiting[]> {
    if (batch.length === 0) return [];
    const orders = batch.map(({ order }) => order);
    const outcomes = await this.post(orders, waits).catch((error: Error) => orders.map(() => failure(error)));
    return batch.filter((waiting, index) => {
      const outcome = outcomes[index] ?? failure(new Error('an order without an outcome'));
      if (outcome.kind !== 'locked') {
        waiting.resolve(outcome);
        return false;
      }
      waiting.isTaken = false;
      if (waiting.signal?.aborted) withdrawUnlessTaken(waiting);
      return !waiting.isWithdrawn;
    });
  }

  private setAside(waiting: Waiting): void {
    const account = accountOf(waiting);
    const others = this.contended.get(account);
    if (others) {
      others.push(waiting);
      return;
    }
    this.contended.set(account, [waiting]);
    this.contendedTurns.push(waiting.order.workspaceId, account);
    if (this.contendedRunners >= CONTENDED_MAX) return;
    this.contendedRunners += 1;
    setImmediate(() => void this.runContended());
  }

  /** One batch of an account, then the next account: a wait that ends in vain is the batch's alone. */
  private async runContended(): Promise<void> {
    for (let account = this.contendedTurns.shift(); account !== undefined; account = this.contendedTurns.shift()) {
      const orders = this.contended.get(account) ?? [];
      const batch = takeBatch(() => orders.shift());
      orders.unshift(...(await this.carryOut(batch, true)));
      const [next] = orders;
      if (next) this.contendedTurns.push(next.order.workspaceId, account);
      else this.contended.delete(account);
    }
    this.contendedRunners -= 1;
  }
}

function withdrawUnlessTaken(waiting: Waiting): void {
  if (waiting.isTaken) return;
  waiting.isWithdrawn = true;
  waiting.reject(waiting.signal?.reason);
}

/** The next orders that have not been withdrawn. */
function takeBatch(next: () => Waiting | undefined): Waiting[] {
  const batch: Waiting[] = [];
  while (batch.length < BATCH_MAX) {
    const waiting = next();
    if (!waiting) break;
    if (waiting.isWithdrawn) continue;
    waiting.isTaken = true;
    batch.push(waiting);
  }
  return batch;
}

const accountOf = ({ order }: Waiting): string => `${order.workspaceId}/${order.accountId ?? ''}`;
