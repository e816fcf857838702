/** Injection token of what the backing needs to serve requests. */
export const READINESS = Symbol('readiness');

export interface Readiness {
  /** @throws Refusal `unavailable` */
  check(): Promise<void>;
  /** What is done later, where this process runs a worker. @throws Refusal `unavailable` */
  work?(): Promise<WorkStatus | undefined>;
}

interface WorkStatus {
  /** Pieces of parked work by kind. */
  readonly parked: Readonly<Record<string, number>>;
  readonly oldestDueSeconds: number;
}

/** Whether the process has been told to stop: not ready any more, while what is in flight is finished. */
export class Draining {
  begun = false;
}
