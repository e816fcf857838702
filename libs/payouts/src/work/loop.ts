export interface LoopOptions {
  /** How long it waits when there was nothing to do. */
  readonly idleMs: number;
  /** How long it waits at most after failures. */
  readonly backoffMaxMs: number;
  readonly onError: (error: unknown) => void;
}

const BACKOFF_FIRST_MS = 250;

/** Repeats a task until it is stopped: at once while there is more to do, else after a pause; after failures with growing pauses. */
export class Loop {
  private isStopping = false;
  private isWoken = false;
  private endPause: () => void = () => undefined;
  private running: Promise<void> | undefined;

  /** @param task answers whether to repeat it at once */
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

  /** Resolves when the task that is running has ended. No other is begun. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.endPause();
    await this.running;
  }

  private async run(): Promise<void> {
    const { idleMs, backoffMaxMs, onError } = this.options;
    let failures = 0;
    while (!this.isStopping) {
      try {
        const hasMore = await this.task();
        failures = 0;
        if (!hasMore) await this.pause(idleMs);
      } catch (error) {
        onError(error);
        await this.pause(Math.min(backoffMaxMs, Math.min(idleMs, BACKOFF_FIRST_MS) * 2 ** failures++));
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
