import { backoffMs, type Backoff } from '@banking/postgres';

export interface LoopOptions {
  /** How long it waits when there was nothing to do. */
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

  /** Ends the pause, or leaves out the next one. */
  wake(): void {
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
    while (!this.isStopping) {
      try {
        const hasMore = await this.task();
        failures = 0;
        if (!hasMore) await this.pause(idleMs);
      } catch (error) {
        onError(error);
        failures += 1;
        await this.pause(backoffMs(backoff, failures, random()));
      }
    }
  }

  private async pause(ms: number): Promise<void> {
    if (!this.isWoken && !this.isStopping) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.endPause = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.isWoken = false;
  }
}
