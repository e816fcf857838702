import { ExpiringCache } from '@banking/process';

export interface Readiness {
  /** @throws Refusal `unavailable` */
  check(): Promise<void>;
  /** The state of the work queue, if this process runs a worker. @throws Refusal `unavailable` */
  work?(): Promise<WorkStatus | undefined>;
}

interface WorkStatus {
  readonly parked: Readonly<Record<string, number>>;
  /** How many pieces of due work this process does not do, by kind, such as payouts without a payment network. */
  readonly unserved: Readonly<Record<string, number>>;
  readonly oldestDueSeconds: number;
}

const TTL_MS = 1_000;

/** Checks one at a time and at most once a second. Calls in between get the same result, a failure included. */
export class SharedReadiness {
  private readonly results: ExpiringCache<WorkStatus | undefined>;

  constructor(
    private readonly readiness: Readiness,
    nowMs?: () => number,
  ) {
    this.results = new ExpiringCache({
      ttlMs: TTL_MS,
      failureTtlMs: TTL_MS,
      entriesMax: 1,
      ...(nowMs && { nowMs }),
    });
  }

  /** @throws Refusal `unavailable` */
  read(): Promise<WorkStatus | undefined> {
    return this.results.get('readiness', async () => {
      await this.readiness.check();
      return this.readiness.work?.();
    });
  }
}

/** Whether the process received a signal to stop. It is then not ready, and completes the requests it has. */
export class Draining {
  begun = false;
  private readonly listeners: (() => void)[] = [];

  onBegin(listener: () => void): void {
    this.listeners.push(listener);
  }

  begin(): void {
    this.begun = true;
    for (const listener of this.listeners) listener();
  }
}
