import { uptime } from 'node:os';
import { type Backoff, backoffMs, type Database } from '@banking/postgres';
import { type Claim, claimWork, type RailSpaces, renewClaims, type Turns } from './claims.js';
import { type HandlingOptions, ResultRecorder, runClaimedWork } from './run-claimed-work.js';
import { choreChannel, HEARTBEAT_MS, IDLE_MS, WORK_RETRY_POLICIES, type WorkHandler } from './work-handler.js';
import { readWorkStatus, type WorkStatus } from './work-status.js';

/** A periodic task of a worker beside the queue, such as receiving the events of the network. */
export interface Chore {
  /** For the log. */
  readonly name: string;
  /** Returns how much there was to do. It is repeated at once unless that is 0. */
  run(): Promise<number>;
  /** How long it waits when there was nothing to do; twice as long each time, up to half a second. Default: as the worker. */
  readonly idleMs?: number | undefined;
  /** Whether it is woken when the process has put work into the queue, or another chore has done something. */
  readonly isNudged?: boolean | undefined;
  /** After a run that did less, it waits for a short time, so that it works in sets. Default: it does not. */
  readonly fullBatch?: number | undefined;
  /** Ends what runs beside it, within 8 s. */
  stop?(): Promise<void>;
}

export interface WorkerOptions extends HandlingOptions {
  readonly database: Database;
  /** The handlers by kind of work. Work of other kinds is left to other workers. */
  readonly handlers: Readonly<Record<string, WorkHandler>>;
  /** Run beside the claims, each in a loop of its own: one that fails is logged and retried, and delays nothing else. */
  readonly chores?: readonly Chore[] | undefined;
  /** Pieces of work of each payment network at a time, and as many of work without a network. Default 64. */
  readonly concurrency?: number | undefined;
  /** The interval at which a worker without work polls the queue first; twice as long each time, up to half a second. Default 250. */
  readonly idleMs?: number | undefined;
  /** The delays after failures of claims and chores. Default: `RETRY_POLICIES`. */
  readonly backoff?: Backoff | undefined;
}

/** Calls to the outside are aborted first, so that their outcome can still be recorded. */
const ABORT_MS = 6_000;

const DRAIN_MS = 8_000;
const CONCURRENCY = 64;

/** The longest pause of a loop that begins with a shorter one. */
const IDLE_MAX_MS = 500;

/** For how long a worker that has work waits before it claims more, so that it claims work in sets and not one by one. */
const GATHER_MS = 50;

/**
 * For how long handed-over work may be begun without a statement, from the time when its space was reserved. Its lease begins later and is
 * longer. A stop of payouts is not seen meanwhile.
 */
const FRESH_S = 5;

/** Work that this process has written as claimed, with fence 1. */
export interface FreshWork {
  readonly workspaceId: number;
  readonly subjectId: number;
  /** The payment network of a payout; empty for other work. */
  readonly rail: string;
  /** What the handler needs to begin. */
  readonly note: string;
}

/** Space of a worker for work that its process is about to write as claimed. Release it afterwards. */
export interface Reservation {
  readonly space: number;
  /** Hands over what was written and committed, at most as much as there is space. A worker that is stopping leaves it to the queue. */
  take(work: readonly FreshWork[]): void;
  release(): void;
}

/** How long the status of the queue is reused, and a failure to read it. */
const STATUS_MAX_AGE_MS = { read: 4_000, failed: 1_000 };

/** Claimed work that is being done. */
interface Running {
  readonly claim: Claim;
  readonly control: AbortController;
  readonly finished: Promise<void>;
}

/** Claims due work and runs its handlers, until it is stopped. Any number of workers may run, in any number of processes. */
export class Worker {
  private readonly running = new Set<Running>();
  /** Work that was handed over and starts soon, together with more. */
  private gathered: Claim[] = [];
  private gathering: NodeJS.Timeout | undefined;
  /** By network, as the space of a claim that has not returned yet. */
  private readonly reserved = new Map<string, number>();
  private claimed: RailSpaces = new Map();
  private readonly turns: Turns = new Map();
  private isStopping = false;
  private readonly recorder: ResultRecorder;
  private readonly claiming: Loop;
  private readonly chores: readonly Loop[];
  private heart: NodeJS.Timeout | undefined;
  /** The networks of which the last claim got as much work as it asked for, so that more may be due. */
  private backlogs: readonly string[] = [];
  private status: { readonly atMs: number; readonly read: Promise<WorkStatus>; maxAgeMs: number } | undefined;

  constructor(private readonly options: WorkerOptions) {
    this.recorder = new ResultRecorder(options.database);
    const { chores = [], idleMs = IDLE_MS, backoff, random = Math.random, onError = () => undefined } = options;
    const claimOnce = async () => {
      await this.claim();
      return false;
    };
    this.claiming = new Loop(claimOnce, { idleMs, backoff: backoff ?? WORK_RETRY_POLICIES.claim, random, onError });
    this.chores = chores.map((chore) => {
      const options = { idleMs: chore.idleMs ?? idleMs, backoff: backoff ?? WORK_RETRY_POLICIES.chore, random };
      const loop: Loop = new Loop(() => this.runChore(chore, loop), {
        ...options,
        onError: (error) => onError(error, { chore: chore.name }),
      });
      return loop;
    });
  }

  start(): this {
    for (const loop of [this.claiming, ...this.chores]) loop.start();
    this.heart ??= setInterval(() => void this.beat(), HEARTBEAT_MS);
    return this;
  }

  /**
   * Makes the worker look for work soon, after this process has written some.
   *
   * @param isQueued whether any of it is in the queue, and not only handed over
   */
  nudge(isQueued = true): void {
    if (isQueued) this.claiming.wakeAfter(GATHER_MS);
    this.nudgeChores();
  }

  /**
   * Reserves space for so many pieces of work, or for fewer; undefined if there is none. Half of what may run is left to the queue, so that
   * a flood of new work does not delay retries and other kinds.
   *
   * @param rail the payment network of the work
   */
  reserve(kind: string, count: number, rail = ''): Reservation | undefined {
    const handler = this.options.handlers[kind];
    const running = this.runningOf(rail);
    if (this.isStopping || !handler || !railsOf(handler).includes(rail)) return undefined;
    if (running.length >= this.concurrency()) return undefined;
    const fresh = running.filter(({ claim }) => claim.fresh).length;
    const most = Math.ceil(this.concurrency() / 2);
    const reserved = this.reserved.get(rail) ?? 0;
    const space = Math.min(count, most - fresh - this.gatheredOf(rail) - reserved);
    if (space <= 0) return undefined;
    const untilUptimeS = uptime() + FRESH_S;
    let held = space;
    this.reserved.set(rail, reserved + held);
    return {
      space,
      take: (work) => {
        if (this.isStopping) return;
        for (const { note, ...key } of work) {
          this.gathered.push({ ...key, kind, fence: 1n, tries: 1, delays: 0, fresh: { note, untilUptimeS } });
        }
        this.gatherMore();
      },
      release: () => {
        this.reserved.set(rail, (this.reserved.get(rail) ?? 0) - held);
        held = 0;
      },
    };
  }

  private gatherMore(): void {
    if (!this.isStopping) this.gathering ??= setTimeout(() => this.startGathered(), GATHER_MS);
  }

  private startGathered(): void {
    clearTimeout(this.gathering);
    this.gathering = undefined;
    const gathered = this.gathered.splice(0);
    for (const claim of gathered) {
      const { rail } = claim;
      const isFree = this.runningOf(rail).length + (this.claimed.get(rail) ?? 0) < this.concurrency();
      if (isFree) this.take(claim, this.options.handlers[claim.kind]!);
      else this.gathered.push(claim);
    }
  }

  private nudgeChores(): void {
    this.chores.forEach((loop, index) => {
      if (this.options.chores?.[index]?.isNudged) loop.wakeAfter(GATHER_MS);
    });
  }

  /** Runs every chore once, then one claim and its work. Returns how much there was to do. */
  async step(): Promise<number> {
    const { chores = [], onError } = this.options;
    let count = 0;
    for (const chore of chores) {
      count += await traceChore(chore).catch((error: unknown) => {
        onError?.(error, { chore: chore.name });
        return 0;
      });
    }
    count += this.gathered.length;
    this.startGathered();
    count += await this.claim();
    await this.finished();
    return count;
  }

  /**
   * The status of the queue, for this worker's kinds of work: read again after 4 s, or after 1 s where that failed.
   *
   * @throws Refusal `unavailable`
   */
  async readStatus(): Promise<WorkStatus> {
    const { database, handlers } = this.options;
    if (!this.status || performance.now() - this.status.atMs > this.status.maxAgeMs) {
      const served = Object.entries(handlers).flatMap(([kind, handler]) =>
        railsOf(handler).map((rail) => ({ kind, rail })),
      );
      const read = readWorkStatus(database, served);
      const status = { atMs: performance.now(), read, maxAgeMs: STATUS_MAX_AGE_MS.read };
      this.status = status;
      read.catch(() => void (status.maxAgeMs = STATUS_MAX_AGE_MS.failed));
    }
    return this.status.read;
  }

  /** Renews the leases of running and gathered work, and aborts or leaves out the work whose claim is lost. */
  async beat(): Promise<void> {
    const running = [...this.running];
    const claims = [...running.map(({ claim }) => claim), ...this.gathered];
    if (claims.length === 0) return;
    try {
      const renewed = new Set((await renewClaims(this.options.database, claims)).map(nameOf));
      for (const { claim, control } of running) if (!renewed.has(nameOf(claim))) control.abort();
      const lost = new Set(claims.filter((claim) => !renewed.has(nameOf(claim))));
      this.gathered = this.gathered.filter((claim) => !lost.has(claim));
    } catch (error) {
      this.options.onError?.(error);
    }
  }

  /** Claims no more work and waits for running work, at most 8 s. Another worker takes over the rest when the leases end. */
  async stop(): Promise<void> {
    this.startGathered();
    this.isStopping = true;
    const timers: NodeJS.Timeout[] = [];
    const after = (ms: number) => new Promise<void>((resolve) => timers.push(setTimeout(resolve, ms)));
    const ending = (this.options.chores ?? []).flatMap((chore) => chore.stop?.() ?? []);
    const stopping = [...ending, ...[this.claiming, ...this.chores].map((loop) => loop.stop())];
    const done = Promise.all(stopping).then(() => this.finished());
    void after(ABORT_MS).then(() => this.running.forEach(({ control }) => control.abort()));
    await Promise.race([done, after(DRAIN_MS)]);
    timers.forEach(clearTimeout);
    clearInterval(this.heart);
  }

  /** What a chore has done may be work for others. Returns whether to repeat it at once. */
  private async runChore(chore: Chore, loop: Loop): Promise<boolean> {
    const count = await traceChore(chore);
    if (count > 0) this.nudge();
    if (count === 0 || count >= (chore.fullBatch ?? 0)) return count > 0;
    loop.wakeAfter(GATHER_MS);
    return false;
  }

  /** Claims due work and starts it. Returns how much. */
  private async claim(): Promise<number> {
    const { database, handlers } = this.options;
    const rails = [...new Set(Object.values(handlers).flatMap(railsOf))];
    const free = new Map(rails.map((rail) => [rail, this.free(rail)] as const).filter(([, space]) => space > 0));
    if (free.size === 0) return 0;
    this.claimed = free;
    const claims = await claimWork(database, Object.keys(handlers), free, this.turns).finally(
      () => (this.claimed = new Map()),
    );
    this.backlogs = [...free.keys()].filter(
      (rail) => claims.filter((claim) => claim.rail === rail).length === free.get(rail),
    );
    for (const claim of claims) this.take(claim, handlers[claim.kind]!);
    if (claims.length > 0) this.claimSoon();
    return claims.length;
  }

  private async finished(): Promise<void> {
    await Promise.all([...this.running].map(({ finished }) => finished));
  }

  private take(claim: Claim, handler: WorkHandler): void {
    const control = new AbortController();
    const finished = runClaimedWork(this.options, this.recorder, handler, claim, control.signal).then(() => {
      this.running.delete(running);
      if (this.gathered.length > 0) this.gatherMore();
      // What was handed over has left the queue as it was.
      if (!claim.fresh || this.backlogs.length > 0) this.claimSoon();
      this.nudgeChores();
    });
    const running = { claim, control, finished };
    this.running.add(running);
  }

  /** Claims at once where a quarter of the capacity is free and more may be due, else after a short time in which work may gather. */
  private claimSoon(): void {
    if (this.backlogs.some((rail) => this.free(rail) * 4 >= this.concurrency())) this.claiming.wake();
    else this.claiming.wakeAfter(GATHER_MS);
  }

  private free(rail: string): number {
    return this.concurrency() - this.runningOf(rail).length - this.gatheredOf(rail);
  }

  private runningOf(rail: string): Running[] {
    return [...this.running].filter(({ claim }) => claim.rail === rail);
  }

  private gatheredOf(rail: string): number {
    return this.gathered.filter((claim) => claim.rail === rail).length;
  }

  private concurrency(): number {
    return this.options.concurrency ?? CONCURRENCY;
  }
}

/** The networks of a handler; of one without, that of work which has none. */
const railsOf = ({ rails = [''] }: WorkHandler): readonly string[] => rails;

const traceChore = (chore: Chore): Promise<number> =>
  choreChannel.hasSubscribers ? choreChannel.tracePromise(() => chore.run(), { name: chore.name }) : chore.run();

/** Starts a worker. Stop it before its database is closed. */
export function startWorker(options: WorkerOptions): Worker {
  return new Worker(options).start();
}

function nameOf({ workspaceId, kind, subjectId, fence }: Claim): string {
  return `${workspaceId}/${kind}/${subjectId}/${fence}`;
}

export interface LoopOptions {
  /** How long it waits when there was nothing to do; twice as long each time, up to half a second, until it is woken. */
  readonly idleMs: number;
  /** How long it waits after failures. */
  readonly backoff: Backoff;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly onError: (error: unknown) => void;
}

/** Repeats a task until it is stopped: at once while there is more to do, else after a pause; after failures with a growing delay. */
export class Loop {
  private isStopping = false;
  private isWoken = false;
  private isBackingOff = false;
  private endPause: () => void = () => undefined;
  private running: Promise<void> | undefined;
  private waking: NodeJS.Timeout | undefined;

  /** @param task returns whether to repeat it at once */
  constructor(
    private readonly task: () => Promise<boolean>,
    private readonly options: LoopOptions,
  ) {}

  start(): void {
    this.running ??= this.run();
  }

  /** Ends the pause, or leaves out the next one; not that after a failure. */
  wake(): void {
    if (this.isBackingOff) return;
    this.isWoken = true;
    this.endPause();
  }

  /** Ends the pause after a short time, in which more to do may gather. The first of several calls decides. */
  wakeAfter(ms: number): void {
    if (this.isStopping) return;
    this.waking ??= setTimeout(() => {
      this.waking = undefined;
      this.wake();
    }, ms);
  }

  /** Resolves when the running task has ended. No other is begun. */
  async stop(): Promise<void> {
    this.isStopping = true;
    clearTimeout(this.waking);
    this.endPause();
    await this.running;
  }

  private async run(): Promise<void> {
    const { idleMs, backoff, random, onError } = this.options;
    let failures = 0;
    let pauseMs = idleMs;
    while (!this.isStopping) {
      try {
        const hasMore = await this.task();
        failures = 0;
        if (hasMore || (await this.pause(pauseMs))) pauseMs = idleMs;
        else pauseMs = Math.max(idleMs, Math.min(2 * pauseMs, IDLE_MAX_MS));
      } catch (error) {
        onError(error);
        failures += 1;
        // What wakes it does not repair what failed.
        this.isWoken = false;
        this.isBackingOff = true;
        await this.pause(backoffMs(backoff, failures, random()));
        this.isBackingOff = false;
      }
    }
  }

  /** Returns whether it was woken. */
  private async pause(ms: number): Promise<boolean> {
    if (!this.isWoken && !this.isStopping) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.endPause = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    const isWoken = this.isWoken;
    this.isWoken = false;
    return isWoken;
  }
}
