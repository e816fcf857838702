import type { Database } from '@banking/postgres';
import { payoutHandler, type PayoutOptions } from '../submit-payout.js';
import { receiveRailEvents } from '../receive-rail-events.js';
import { PAYOUT } from '../open-payouts.js';
import type { PaymentReader, Rail } from '../rail.js';
import { SandboxRail } from '../sandbox-rail/sandbox-rail.js';
import { Worker, type WorkerOptions } from '@banking/work-queue';
import { AMOUNT, passTime, type World } from './world.js';

/** The creditor's account of every payment without an account in `to`. */
const ACCOUNT = '50100123456789';

/** The options that a spec changes. */
interface WorkerChanges extends Partial<PayoutOptions>, Pick<WorkerOptions, 'concurrency' | 'onError'> {
  /** Account numbers by transaction. */
  readonly to?: Readonly<Record<number, string>>;
}

/** A worker that submits payouts to the sandbox network. It runs when the spec calls `step`. */
export function payoutWorker(world: World, changes: WorkerChanges = {}): Worker {
  const { to = {}, concurrency, onError, ...given } = changes;
  const rail = new SandboxRail(world.database);
  const readPayment: PaymentReader = async (_workspaceId, transactionId) => ({
    amount: AMOUNT,
    currency: 'USD',
    creditor: { name: 'Ravi Menon', account: to[transactionId] ?? ACCOUNT },
  });
  const options = { books: world.books, rail, readPayment, ...given };
  return new Worker({
    database: options.books.database,
    handlers: { [PAYOUT]: payoutHandler(options) },
    chores: [{ name: 'rail-events', run: () => receiveRailEvents({ ...options, onError }) }],
    concurrency,
    onError,
    random: () => 0.5,
  });
}

/** Does due work and, second by second, the work that follows from it. */
export async function work(world: World, worker: Worker, seconds: number): Promise<void> {
  for (let second = 0; second <= seconds; second++) {
    while ((await worker.step()) > 0);
    await passTime(world, 1_000);
  }
}

/**
 * Stops a worker before or after its nth call, as a power failure or a paused process does: no later call is made either, although
 * timers of the handler go on.
 */
export class Halt {
  readonly reached: Promise<void>;
  private readonly resumed: Promise<void>;
  private reach: () => void = () => undefined;
  /** Lets the stopped worker continue. */
  resume: () => void = () => undefined;
  private calls = 0;
  private isStopped = false;

  constructor(
    private readonly nth: number,
    private readonly where: 'before' | 'after',
  ) {
    this.reached = new Promise((resolve) => (this.reach = resolve));
    this.resumed = new Promise((resolve) => (this.resume = resolve));
  }

  /** A database whose calls stop there. */
  database(database: Database): Database {
    const { pipeline, transaction } = database;
    return Object.create(database, {
      pipeline: {
        value: (...args: Parameters<Database['pipeline']>) => this.pass(() => pipeline.apply(database, args)),
      },
      transaction: {
        value: (...args: Parameters<Database['transaction']>) => this.pass(() => transaction.apply(database, args)),
      },
    }) as Database;
  }

  /** A network whose calls stop there. */
  rail(rail: Rail): Rail {
    return {
      submit: (...args) => this.pass(() => rail.submit(...args)),
      find: (...args) => this.pass(() => rail.find(...args)),
      listSubmitted: (...args) => this.pass(() => rail.listSubmitted(...args)),
      receive: (limit) => this.pass(() => rail.receive(limit)),
      acknowledge: (events) => this.pass(() => rail.acknowledge(events)),
    };
  }

  private async pass<T>(call: () => Promise<T>): Promise<T> {
    if (this.isStopped) await this.resumed;
    const isHere = ++this.calls === this.nth;
    if (isHere && this.where === 'before') await this.stop();
    const result = await call();
    if (isHere && this.where === 'after') await this.stop();
    return result;
  }

  private stop(): Promise<void> {
    this.isStopped = true;
    this.reach();
    return this.resumed;
  }
}
