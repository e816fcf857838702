import type { Books } from '@banking/ledger';
import { BatchedCalls, IdBlocks, type Database, type RetryPolicy } from '@banking/postgres';
import type { RateSource } from '@banking/rates';
import { IN_DOUBT_POLICIES, retryInDoubt } from '../idempotency/retry-in-doubt.js';
import { type NamedPayment, type PaymentFacts, readPaymentFacts } from '../payments/payment-facts.js';
import { RememberedFacts } from '../payments/remembered-facts.js';
import { openReading, type Reading } from '../resources/reading.js';
import { OrderBatcher } from './order-batcher.js';
import { failure, postOrders } from './post-orders.js';
import type { OrderIds, OrderOutcome, PreparedOrder } from './prepared-order.js';

/** Carries out prepared orders. @throws Refusal `unavailable` if too many orders wait */
export type OrderSubmitter = Pick<OrderBatcher, 'submit'>;

export interface OrderServiceOptions {
  /** Whether orders run by the clocks of their workspaces, which can be moved. Default: by the time of the database. */
  readonly isSandbox?: boolean;
  /** Whether a payment network carries out payouts. Default: none, and payouts are refused. */
  readonly hasPayoutNetwork?: boolean | undefined;
  /** Carries out prepared orders. Default: a batcher of its own. */
  readonly batcher?: OrderSubmitter;
  /** How an order whose commit is in doubt is submitted again. Default: for four seconds on average. */
  readonly retryPolicy?: RetryPolicy;
}

/** Batches the reads and writes of all orders that a process places and runs. One for each process. */
export class OrderService {
  readonly database: Database;
  readonly reading: Reading;
  readonly hasPayoutNetwork: boolean;
  private readonly facts: BatchedCalls<NamedPayment, PaymentFacts>;
  readonly remembered = new RememberedFacts();
  private readonly batcher: OrderSubmitter;
  private readonly orderIds: IdBlocks;
  private readonly executionIds: IdBlocks;
  private readonly remittanceIds: IdBlocks;
  private readonly retryPolicy: RetryPolicy;

  constructor(
    books: Books,
    readonly rates: RateSource,
    {
      isSandbox = false,
      hasPayoutNetwork = false,
      batcher,
      retryPolicy = IN_DOUBT_POLICIES.order,
    }: OrderServiceOptions = {},
  ) {
    const { database } = books;
    this.database = database;
    this.reading = openReading(database);
    this.hasPayoutNetwork = hasPayoutNetwork;
    this.retryPolicy = retryPolicy;
    this.facts = new BatchedCalls((payments: readonly NamedPayment[]) =>
      readPaymentFacts(database, payments, isSandbox),
    );
    this.batcher =
      batcher ??
      new OrderBatcher((orders, waitsForLocks, onDecided) =>
        postOrders({ books, reference: this.reading.reference }, orders, waitsForLocks, onDecided),
      );
    this.orderIds = new IdBlocks(database, 'customer_order_id_seq');
    this.executionIds = new IdBlocks(database, 'execution_id_seq');
    this.remittanceIds = new IdBlocks(database, 'remittance_id_seq');
  }

  readFacts(payment: NamedPayment): Promise<PaymentFacts> {
    return this.facts.call(payment);
  }

  /** The ids of an order, its first run and its tracking. */
  async takeIds(): Promise<Omit<OrderIds, 'workspaceId' | 'placedBy'>> {
    const ids = [this.orderIds, this.executionIds, this.remittanceIds].map(take);
    const [orderId, executionId, remittanceId] = (await Promise.all(ids)) as [number, number, number];
    return { orderId, executionId, remittanceId };
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
