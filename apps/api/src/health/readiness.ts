/** Whether requests can be served. The backing answers. */
export interface Readiness {
  /** @throws Refusal `unavailable` */
  check(): Promise<void>;
  /** The state of the work queue, if this process runs a worker. @throws Refusal `unavailable` */
  work?(): Promise<WorkStatus | undefined>;
}

interface WorkStatus {
  /** Pieces of parked work by kind. */
  readonly parked: Readonly<Record<string, number>>;
  readonly oldestDueSeconds: number;
}

const ASKED_EVERY_MS = 1_000;

/** Asks the backing once at a time and at most once a second. Calls in between get the same result, also if it is a failure. */
export class SharedReadiness {
  private asked: { readonly atMs: number; readonly result: Promise<WorkStatus | undefined>; isPending: boolean } | undefined; // prettier-ignore

  constructor(
    private readonly readiness: Readiness,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** @throws Refusal `unavailable` */
  read(): Promise<WorkStatus | undefined> {
    const atMs = this.nowMs();
    if (this.asked && (this.asked.isPending || atMs - this.asked.atMs < ASKED_EVERY_MS)) return this.asked.result;
    const asked = { atMs, result: this.ask(), isPending: true };
    const end = () => void (asked.isPending = false);
    asked.result.then(end, end);
    this.asked = asked;
    return asked.result;
  }

  private async ask(): Promise<WorkStatus | undefined> {
    await this.readiness.check();
    return this.readiness.work?.();
  }
}

/** Whether the process has been told to stop: not ready any more, while what is in flight is finished. */
export class Draining {
  begun = false;
}
