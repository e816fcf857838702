import { Refusal } from '@banking/domain';
import type { OrderOutcome, ReadyOrder } from './post-orders.js';

interface Waiting {
  readonly order: ReadyOrder;
  readonly resolve: (outcome: OrderOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** How orders are carried out together; see `postOrders`. */
export type PostTogether = (orders: readonly ReadyOrder[], waits: boolean) => Promise<readonly OrderOutcome[]>;

/** A batch is written with one statement a table: larger ones hold their locks for longer and gain no more. */
const BATCH_MAX = 64;
/** At several thousand a second this is a part of a second's work; who comes then is told to come again. */
const WAITING_MAX = 2_000;
/** One workspace leaves room for the others. */
const WORKSPACE_WAITING_MAX = 1_000;
/** Connections that may wait for accounts which somebody else holds, so that the others stay free. */
const PATIENT_MAX = 2;
const BUSY_RETRY_S = 1;

/**
 * Group commit: orders that arrive while a commit is on its way form the next batch. Workspaces take turns, one order each, so that
 * a busy one delays the others by its share alone; the orders of one workspace keep their order.
 *
 * An account that somebody else holds does not stall the batch: its orders leave it, and wait for the account by themselves.
 */
export class OrderLane {
  private readonly turns = new Map<number, Waiting[]>();
  /** By account: the orders that have left a batch, and those that came after them. */
  private readonly patient = new Map<string, Waiting[]>();
  private readonly patientTurns: string[] = [];
  private patientRunners = 0;
  private waitingCount = 0;
  private readonly waitingOf = new Map<number, number>();
  private isRunning = false;

  constructor(private readonly post: PostTogether) {}

  /** @throws Refusal `unavailable` where too many wait already; nothing has happened */
  async submit(order: ReadyOrder): Promise<OrderOutcome> {
    const { workspaceId } = order;
    const ofWorkspace = this.waitingOf.get(workspaceId) ?? 0;
    if (this.waitingCount >= WAITING_MAX || ofWorkspace >= WORKSPACE_WAITING_MAX) {
      throw new Refusal('unavailable', 'Too many orders wait at the moment.', { retryAfterSeconds: BUSY_RETRY_S });
    }
    this.waitingCount += 1;
    this.waitingOf.set(workspaceId, ofWorkspace + 1);
    try {
      return await new Promise<OrderOutcome>((resolve, reject) => this.enqueue({ order, resolve, reject }));
    } finally {
      this.waitingCount -= 1;
      const left = (this.waitingOf.get(workspaceId) ?? 1) - 1;
      if (left > 0) this.waitingOf.set(workspaceId, left);
      else this.waitingOf.delete(workspaceId);
    }
  }

  private enqueue(waiting: Waiting): void {
    const behind = this.patient.get(accountOf(waiting));
    if (behind) {
      behind.push(waiting);
      return;
    }
    const { workspaceId } = waiting.order;
    const turn = this.turns.get(workspaceId);
    if (turn) turn.push(waiting);
    else this.turns.set(workspaceId, [waiting]);
    if (this.isRunning) return;
    this.isRunning = true;
    // Not at once: who comes in the same turn of the loop is in the same batch.
    setImmediate(() => void this.run());
  }

  private async run(): Promise<void> {
    while (this.turns.size > 0) {
      const batch = this.takeBatch();
      for (const left of await this.carryOut(batch, false)) this.leave(left);
    }
    this.isRunning = false;
  }

  /** One of each workspace in turn, until the batch is full. Who had a turn goes to the end of the line. */
  private takeBatch(): Waiting[] {
    const batch: Waiting[] = [];
    while (batch.length < BATCH_MAX) {
      const [next] = this.turns;
      if (!next) break;
      const [workspaceId, turn] = next;
      const waiting = turn.shift();
      this.turns.delete(workspaceId);
      if (turn.length > 0) this.turns.set(workspaceId, turn);
      if (waiting) batch.push(waiting);
    }
    return batch;
  }

  /** Answers those that are left because an account is held by somebody else. */
  private async carryOut(batch: readonly Waiting[], waits: boolean): Promise<Waiting[]> {
    try {
      const outcomes = await this.post(
        batch.map(({ order }) => order),
        waits,
      );
      return batch.filter((waiting, index) => {
        const outcome = outcomes[index];
        if (outcome?.kind === 'locked') return true;
        if (outcome) waiting.resolve(outcome);
        else waiting.reject(new Error('an order without an outcome'));
        return false;
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
      return [];
    }
  }

  private leave(waiting: Waiting): void {
    const account = accountOf(waiting);
    const others = this.patient.get(account);
    if (others) {
      others.push(waiting);
      return;
    }
    this.patient.set(account, [waiting]);
    this.patientTurns.push(account);
    if (this.patientRunners >= PATIENT_MAX) return;
    this.patientRunners += 1;
    setImmediate(() => void this.runPatiently());
  }

  /** Each account by itself, its orders together: a wait that ends in vain is theirs alone. */
  private async runPatiently(): Promise<void> {
    for (let account = this.patientTurns.shift(); account !== undefined; account = this.patientTurns.shift()) {
      const line = this.patient.get(account) ?? [];
      while (line.length > 0) await this.carryOut(line.splice(0, BATCH_MAX), true);
      this.patient.delete(account);
    }
    this.patientRunners -= 1;
  }
}

const accountOf = ({ order }: Waiting): string => `${order.workspaceId}/${order.accountId ?? ''}`;
