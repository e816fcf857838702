import type { Database } from '@banking/postgres';
import { carryOut, type CarryingOptions } from '../carry-out.js';
import { hearRail } from '../hear-rail.js';
import { PAYOUT } from '../open-payouts.js';
import type { PaymentReader, Rail } from '../rail.js';
import { SandboxRail } from '../sandbox-rail/sandbox-rail.js';
import { Worker, type WorkerOptions } from '../work/worker.js';
import { AMOUNT, passTime, type World } from './world.js';

/** Every payment goes to this account, unless another is said for its transaction. */
const ACCOUNT = '50100123456789';

/** What a spec may have otherwise. */
interface Otherwise extends Partial<CarryingOptions>, Pick<WorkerOptions, 'concurrency' | 'onError'> {
  /** Account numbers by transaction. */
  readonly to?: Readonly<Record<number, string>>;
}

/** A worker that carries payouts out over the sandbox's network. It moves when it is told to: `step()`. */
export function payoutWorker(world: World, otherwise: Otherwise = {}): Worker {
  const { to = {}, concurrency, onError, ...given } = otherwise;
  const rail = new SandboxRail(world.database);
  const readPayment: PaymentReader = async (_workspaceId, transactionId) => ({
    amount: AMOUNT,
    currency: 'USD',
    creditor: { name: 'Ravi Menon', account: to[transactionId] ?? ACCOUNT },
  });
  const carrying = { books: world.books, rail, readPayment, ...given };
  return new Worker({
    database: carrying.books.database,
    handlers: { [PAYOUT]: carryOut(carrying) },
    chores: [{ name: 'rail-events', run: () => hearRail({ ...carrying, onError }) }],
    concurrency,
    onError,
    random: () => 0.5,
  });
}

/** Lets the worker do what is due, and second by second what comes of it. */
export async function work(world: World, worker: Worker, seconds: number): Promise<void> {
  for (let second = 0; second <= seconds; second++) {
    while ((await worker.step()) > 0);
    await passTime(world, 1_000);
  }
}

/** A place where one who works stops, as if the power had gone or the process been stopped: before the nth call out, or behind it. */
export class Halt {
  readonly reached: Promise<void>;
  private readonly goesOn: Promise<void>;
  private arrive: () => void = () => undefined;
  /** Lets the one who has stopped go on. */
  resume: () => void = () => undefined;
  private calls = 0;

  constructor(
    private readonly nth: number,
    private readonly where: 'before' | 'behind',
  ) {
    this.reached = new Promise((resolve) => (this.arrive = resolve));
    this.goesOn = new Promise((resolve) => (this.resume = resolve));
  }

  /** A database whose callers stop there. */
  database(database: Database): Database {
    const { flight, transaction } = database;
    return Object.create(database, {
      flight: { value: (...args: Parameters<Database['flight']>) => this.pass(() => flight.apply(database, args)) },
      transaction: {
        value: (...args: Parameters<Database['transaction']>) => this.pass(() => transaction.apply(database, args)),
      },
    }) as Database;
  }

  /** A network whose callers stop there. */
  rail(rail: Rail): Rail {
    return {
      submit: (...args) => this.pass(() => rail.submit(...args)),
      find: (...args) => this.pass(() => rail.find(...args)),
      receive: (limit) => this.pass(() => rail.receive(limit)),
      acknowledge: (words) => this.pass(() => rail.acknowledge(words)),
    };
  }

  private async pass<T>(call: () => Promise<T>): Promise<T> {
    const isHere = ++this.calls === this.nth;
    if (isHere && this.where === 'before') await this.stand();
    const answer = await call();
    if (isHere && this.where === 'behind') await this.stand();
    return answer;
  }

  private stand(): Promise<void> {
    this.arrive();
    return this.goesOn;
  }
}
