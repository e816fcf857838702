import { claimWork, renewClaims, type Claim } from './claims.js';
import { handleClaim, type HandlingOptions, type WorkHandler } from './handle-claim.js';

export interface WorkerOptions extends HandlingOptions {
  /** Who does what, by kind of work. Work of other kinds is left to other workers. */
  readonly handlers: Readonly<Record<string, WorkHandler>>;
  /** What is done at every turn beside the queue, such as hearing the network. Answers how much there was to do. */
  readonly chores?: readonly (() => Promise<number>)[] | undefined;
  /** Pieces of work at a time. Default 16. */
  readonly concurrency?: number | undefined;
  /** How long a worker without work waits before it looks again. Default 250. */
  readonly idleMs?: number | undefined;
}

const HEARTBEAT_MS = 10_000;
/** Calls to the outside are broken off first, so that what became of them can still be noted. */
const BREAK_OFF_MS = 6_000;
const DRAIN_MS = 8_000;
const TROUBLE_MAX_MS = 5_000;

/** What is being done right now. */
interface Running {
  readonly claim: Claim;
  readonly control: AbortController;
  readonly finished: Promise<void>;
}

/** Takes what is due and has it done, until it is stopped. Any number of workers may run, in any number of processes. */
export class Worker {
  private readonly running = new Set<Running>();
  private isStopping = false;
  private isNudged = false;
  private wake: () => void = () => undefined;
  private loop: Promise<void> | undefined;
  private heart: NodeJS.Timeout | undefined;

  constructor(private readonly options: WorkerOptions) {}

  start(): this {
    this.loop ??= this.turns();
    this.heart ??= setInterval(() => void this.beat(), HEARTBEAT_MS);
    return this;
  }

  /** Lets the worker look for work now: somebody has just put some into the queue. */
  nudge(): void {
    this.isNudged = true;
    this.wake();
  }

  /** One turn, and all that came of it. Answers how much there was to do. */
  async step(): Promise<number> {
    const count = await this.turn();
    await Promise.all([...this.running].map(({ finished }) => finished));
    return count;
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
    this.isStopping = true;
    this.wake();
    const timers: NodeJS.Timeout[] = [];
    const after = (ms: number) => new Promise<void>((resolve) => timers.push(setTimeout(resolve, ms)));
    const done = (async () => {
      await this.loop;
      await Promise.all([...this.running].map(({ finished }) => finished));
    })();
    void after(BREAK_OFF_MS).then(() => this.running.forEach(({ control }) => control.abort()));
    await Promise.race([done, after(DRAIN_MS)]);
    timers.forEach(clearTimeout);
    clearInterval(this.heart);
  }

  private async turns(): Promise<void> {
    const { idleMs = 250, onError } = this.options;
    let troubles = 0;
    while (!this.isStopping) {
      try {
        const count = await this.turn();
        troubles = 0;
        if (count === 0 || this.free() === 0) await this.pause(idleMs);
      } catch (error) {
        onError?.(error);
        await this.pause(Math.min(TROUBLE_MAX_MS, idleMs * 2 ** troubles++));
      }
    }
  }

  private async turn(): Promise<number> {
    const { database, handlers, chores = [] } = this.options;
    let count = 0;
    for (const chore of chores) count += await chore();
    if (this.isStopping || this.free() === 0) return count;
    const claims = await claimWork(database, Object.keys(handlers), this.free());
    for (const claim of claims) this.take(claim, handlers[claim.kind]!);
    return count + claims.length;
  }

  private take(claim: Claim, handler: WorkHandler): void {
    const control = new AbortController();
    const finished = handleClaim(this.options, handler, claim, control.signal).then(() => {
      this.running.delete(running);
      this.wake();
    });
    const running = { claim, control, finished };
    this.running.add(running);
  }

  private free(): number {
    return (this.options.concurrency ?? 16) - this.running.size;
  }

  /** Until the time has passed, somebody nudges, or something that was being done is done. */
  private async pause(ms: number): Promise<void> {
    if (!this.isNudged && !this.isStopping) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.isNudged = false;
  }
}

/** Starts a worker. Stop it before its database is closed. */
export function startWorker(options: WorkerOptions): Worker {
  return new Worker(options).start();
}

function nameOf({ workspaceId, kind, subjectId, fence }: Claim): string {
  return `${workspaceId}/${kind}/${subjectId}/${fence}`;
}
