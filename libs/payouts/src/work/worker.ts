import { claimWork, renewClaims, type Claim } from './claims.js';
import { handleClaim, type HandlingOptions, type WorkHandler } from './handle-claim.js';
import { Loop } from './loop.js';
import { readWorkStatus, type WorkStatus } from './work-status.js';

/** What a worker does beside the queue, such as receiving the events of the network. */
export interface Chore {
  /** For the log. */
  readonly name: string;
  /** Answers how much there was to do. It is repeated at once unless that is 0. */
  run(): Promise<number>;
  /** How long it rests when there was nothing to do. Default: as the worker. */
  readonly idleMs?: number | undefined;
}

export interface WorkerOptions extends HandlingOptions {
  /** Who does what, by kind of work. Work of other kinds is left to other workers. */
  readonly handlers: Readonly<Record<string, WorkHandler>>;
  /** Run beside the claims, each in a loop of its own: one that fails is logged and retried, and delays nothing else. */
  readonly chores?: readonly Chore[] | undefined;
  /** Pieces of work at a time. Default 16. */
  readonly concurrency?: number | undefined;
  /** How long a worker without work waits before it looks again. Default 250. */
  readonly idleMs?: number | undefined;
}

const HEARTBEAT_MS = 10_000;
/** Calls to the outside are broken off first, so that what became of them can still be noted. */
const BREAK_OFF_MS = 6_000;
const DRAIN_MS = 8_000;
const CLAIM_BACKOFF_MAX_MS = 5_000;
const CHORE_BACKOFF_MAX_MS = 60_000;
/** How long the state of the queue is kept, and a failure to read it. */
const STATUS_MAX_AGE_MS = { read: 4_000, failed: 1_000 };

/** What is being done right now. */
interface Running {
  readonly claim: Claim;
  readonly control: AbortController;
  readonly finished: Promise<void>;
}

/** Takes what is due and has it done, until it is stopped. Any number of workers may run, in any number of processes. */
export class Worker {
  private readonly running = new Set<Running>();
  private readonly claiming: Loop;
  private readonly chores: readonly Loop[];
  private heart: NodeJS.Timeout | undefined;
  private status: { readonly atMs: number; readonly read: Promise<WorkStatus>; maxAgeMs: number } | undefined;

  constructor(private readonly options: WorkerOptions) {
    const { chores = [], idleMs = 250, onError = () => undefined } = options;
    this.claiming = new Loop(async () => (await this.claim()) > 0 && this.free() > 0, {
      idleMs,
      backoffMaxMs: CLAIM_BACKOFF_MAX_MS,
      onError,
    });
    this.chores = chores.map(
      (chore) =>
        new Loop(async () => (await chore.run()) > 0, {
          idleMs: chore.idleMs ?? idleMs,
          backoffMaxMs: CHORE_BACKOFF_MAX_MS,
          onError: (error) => onError(error, { chore: chore.name }),
        }),
    );
  }

  start(): this {
    for (const loop of [this.claiming, ...this.chores]) loop.start();
    this.heart ??= setInterval(() => void this.beat(), HEARTBEAT_MS);
    return this;
  }

  /** Lets the worker look for work now: somebody has just put some into the queue. */
  nudge(): void {
    for (const loop of [this.claiming, ...this.chores]) loop.wake();
  }

  /** Every chore once, then one claim and all that came of it. Answers how much there was to do. */
  async step(): Promise<number> {
    const { chores = [], onError } = this.options;
    let count = 0;
    for (const chore of chores) {
      count += await chore.run().catch((error: unknown) => {
        onError?.(error, { chore: chore.name });
        return 0;
      });
    }
    count += await this.claim();
    await this.finished();
    return count;
  }

  /** What is parked and how long this worker's kinds of work have been due: read again after 4 s, or after 1 s where that failed. @throws Refusal `unavailable` */
  async readStatus(): Promise<WorkStatus> {
    const { database, handlers } = this.options;
    if (!this.status || performance.now() - this.status.atMs > this.status.maxAgeMs) {
      const read = readWorkStatus(database, Object.keys(handlers));
      const status = { atMs: performance.now(), read, maxAgeMs: STATUS_MAX_AGE_MS.read };
      this.status = status;
      read.catch(() => void (status.maxAgeMs = STATUS_MAX_AGE_MS.failed));
    }
    return this.status.read;
  }

  /** Makes the leases of what is being done last; whoever has lost one is told. */
  async beat(): Promise<void> {
    const running = [...this.running];
    if (running.length === 0) return;
    try {
      const ours = await renewClaims(this.options.database, running.map(({ claim }) => claim)); // prettier-ignore
      const fences = new Set(ours.map(nameOf));
      for (const { claim, control } of running) if (!fences.has(nameOf(claim))) control.abort();
    } catch (error) {
      this.options.onError?.(error);
    }
  }

  /** Takes nothing new and waits for what is being done, at most 8 s. What is left then is somebody else's when its lease ends. */
  async stop(): Promise<void> {
    const timers: NodeJS.Timeout[] = [];
    const after = (ms: number) => new Promise<void>((resolve) => timers.push(setTimeout(resolve, ms)));
    const done = Promise.all([this.claiming, ...this.chores].map((loop) => loop.stop())).then(() => this.finished());
    void after(BREAK_OFF_MS).then(() => this.running.forEach(({ control }) => control.abort()));
    await Promise.race([done, after(DRAIN_MS)]);
    timers.forEach(clearTimeout);
    clearInterval(this.heart);
  }

  /** Claims what is due and begins it. Answers how much. */
  private async claim(): Promise<number> {
    const { database, handlers } = this.options;
    const free = this.free();
    if (free === 0) return 0;
    const claims = await claimWork(database, Object.keys(handlers), free);
    for (const claim of claims) this.take(claim, handlers[claim.kind]!);
    return claims.length;
  }

  private async finished(): Promise<void> {
    await Promise.all([...this.running].map(({ finished }) => finished));
  }

  private take(claim: Claim, handler: WorkHandler): void {
    const control = new AbortController();
    const finished = handleClaim(this.options, handler, claim, control.signal).then(() => {
      this.running.delete(running);
      this.claiming.wake();
    });
    const running = { claim, control, finished };
    this.running.add(running);
  }

  private free(): number {
    return (this.options.concurrency ?? 16) - this.running.size;
  }
}

/** Starts a worker. Stop it before its database is closed. */
export function startWorker(options: WorkerOptions): Worker {
  return new Worker(options).start();
}

function nameOf({ workspaceId, kind, subjectId, fence }: Claim): string {
  return `${workspaceId}/${kind}/${subjectId}/${fence}`;
}
